import { LIVE_PATIENCE_MS } from '../support/live-run.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { runScript } from '../support/npm-script.ts';

/** `test/long/live-*` has whole and interrupted runs. */
describe('npm run live', () => {
  it(
    'names the variables of the client when it runs without a terminal',
    async () => {
      const environment = { PORT: String((await freePorts(1))[0]) };
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
