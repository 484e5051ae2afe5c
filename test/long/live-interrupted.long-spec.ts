import fs from 'node:fs';
import { dataFolderOf, LIVE_PATIENCE_MS } from '../support/live-run.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { type RunningScript, startScript } from '../support/npm-script.ts';

describe('npm run live, interrupted', () => {
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

  it(
    'removes what it made when it is interrupted, and ends with code 130',
    async () => {
      running = startScript('live', ['sandbox', '--yes'], { PORT: port });
      const live = running;
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
});
