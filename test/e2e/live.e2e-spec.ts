import fs from 'node:fs';
import { dataFolderOf, LIVE_PATIENCE_MS } from '../support/live-run.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { runScript, type RunningScript, startScript } from '../support/npm-script.ts';

describe('npm run live', () => {
  let port: string;
  let running: RunningScript | undefined;

  beforeEach(async () => {
    port = String((await freePorts(1))[0]);
  });
  afterEach(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
    running = undefined;
  });

  const start = (provider: string, environment: Record<string, string> = {}): RunningScript => {
    running = startScript('live', [provider, '--yes'], { PORT: port, ...environment });
    return running;
  };

  it(
    'removes what it made when it is interrupted, and ends with code 130',
    async () => {
      const live = start('sandbox');
      await live.printed('✓ a folder is created');
      live.child.kill('SIGINT');
      live.child.kill('SIGINT');
      const { code, output } = await live.ended;
      expect(code).toBe(130);
      expect(output).toMatch(/the folder is deleted|removed: the folder/);
      expect(output).toContain('removed: the account on the temporary server');
      expect(fs.existsSync(dataFolderOf(output))).toBe(false);
    },
    LIVE_PATIENCE_MS,
  );

  it(
    'names the variables of the client when it runs without a terminal',
    async () => {
      const environment = { PORT: port };
      const { code, output } = await runScript('live', ['google', '--yes'], environment);
      expect([code, output]).toEqual([2, expect.stringContaining('LIVE_CLIENT_ID: is required')]);
      const alone = await runScript('live', ['google'], environment);
      expect([alone.code, alone.output]).toEqual([2, expect.stringContaining('no terminal')]);
      const wrong = await runScript('live', ['yahoo', '--yes'], environment);
      expect([wrong.code, wrong.output]).toEqual([2, expect.stringContaining('google|microsoft')]);
    },
    LIVE_PATIENCE_MS,
  );
});
