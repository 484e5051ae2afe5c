import { randomBytes } from 'node:crypto';
import { createOperator } from '../../support/operators.ts';
import { overviewOf } from '../../support/operators-view.ts';
import { readMetrics } from '../../support/metrics-page.ts';
import {
  FIVE_SECONDS_AHEAD,
  operatorsOf,
  startServerProcess,
} from '../../support/server-process.ts';
import { startTestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

describe('a process whose clock is five seconds ahead of the database', () => {
  it('says so in its metrics, and is named in the overview', async () => {
    const ENCRYPTION_KEYS = `k:${randomBytes(32).toString('base64')}`;
    const server = await startTestApp({ ROLES: 'api', ENCRYPTION_KEYS });
    const operator = await createOperator(server);
    const wrong = await startServerProcess(
      {
        DATABASE_URL: server.database.url,
        ENCRYPTION_KEYS,
        ROLES: 'worker',
        OPERATOR_PORT: '0',
        EGRESS_ALLOW: '127.0.0.0/8',
      },
      { nodeArguments: ['--import', FIVE_SECONDS_AHEAD] },
    );
    const line = await until('the overview names the clock', async () =>
      (await overviewOf(server, operator)).find(({ title }) => title.includes('The clocks of')),
    );
    expect(line).toMatchObject({
      tone: 'warning',
      title: expect.stringMatching(
        /^The clocks of \S+ and of the database differ by [45](\.\d)? s$/,
      ),
      text: expect.stringContaining(`process ${wrong.pid} on`),
    });
    const page = await readMetrics({ url: operatorsOf(wrong) });
    const ahead = page.get('carillon_clock_ahead_seconds');
    expect(ahead).toBeGreaterThan(4);
    expect(ahead).toBeLessThan(6);
    await wrong.stop();
    await server.close();
  });
});
