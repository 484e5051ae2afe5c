import { setTimeout as delay } from 'node:timers/promises';
import type { ClaimedRow, Dispatcher } from '../../src/platform/work/queue/dispatcher.ts';

/*
 * A process that runs the built engine over `send_job`. Its dispatcher writes the result of each
 * row to the table `ended`. The row whose id is in `POISON` kills the process.
 */

const load = <T>(name: string): Promise<T> =>
  import(new URL(`../../dist/src/${name}.js`, import.meta.url).href) as Promise<T>;
const { Engine } =
  await load<typeof import('../../src/platform/work/engine.ts')>('platform/work/engine');
const { loadConfig } = await load<typeof import('../../src/platform/config/app-config.ts')>(
  'platform/config/app-config',
);
const { Signals } =
  await load<typeof import('../../src/platform/work/signals.ts')>('platform/work/signals');

const { POISON } = process.env;
const ended = (job: ClaimedRow, how: string) => ({ next: { kind: 'done' } as const, result: how });

const dispatcher: Dispatcher<ClaimedRow, string> = {
  table: { queue: 'send', table: 'send_job', gateColumn: 'account_id', columns: {} },
  slots: 64,
  async run(job, lease) {
    if (!(await lease.handOff())) return null;
    if (job.id === POISON) process.kill(process.pid, 'SIGKILL');
    await delay(20);
    return ended(job, 'done');
  },
  onError: (job) => ended(job, 'error'),
  onPoison: (job) => ended(job, 'set aside'),
  async record(sql, settled) {
    await sql.query('insert into ended select * from unnest($1::uuid[], $2::text[])', [
      settled.map(({ row }) => row.id),
      settled.map(({ result }) => result),
    ]);
  },
};

const engine = new Engine(loadConfig(process.env), [dispatcher], new Signals());
setInterval(() => void engine.tick(), 1_000);
await engine.onApplicationBootstrap();
