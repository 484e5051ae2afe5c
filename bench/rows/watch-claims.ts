import { SHORT_STATEMENT_SETTINGS } from '../../src/platform/database/connections.ts';
import { compiled } from '../../scripts/lib/project.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { round, spread } from '../statistics.ts';
import type { BenchDatabase, World } from '../world.ts';

const KEY = 'watches';
const WORKERS = 20;
const CLAIMS = 50;

// The copies have the columns of one grant, and other keys. With `(function(…)).*` PostgreSQL
// would call the function once for each column.
const COPY_GRANT = `
  insert into "grant"
  select copy.* from "grant" g, generate_series(1, $2::int) n,
    jsonb_populate_record(g, jsonb_build_object('id', gen_random_uuid(), 'email', n || '@watches.test')) copy
  where g.id = $1`;
const ADD_WATCHES = `
  insert into mailbox_watch (account_id, worker_id, up_since)
  select g.id, w[1 + row_number() over () % ${WORKERS}], now()
  from "grant" g, (select array_agg(id) as w from worker) w where g.email like '%@watches.test'`;

const loadLeases = () =>
  import(compiled('sync/watches/watch-leases')) as Promise<
    typeof import('../../src/sync/watches/watch-leases.ts')
  >;

/** Milliseconds of a claim while every watch is leased and this worker has fewer than its share. */
async function claims({ sql }: BenchDatabase, world: World, watches: number) {
  const { rows } = await sql.query<{ id: number }>(
    `insert into worker (host, pid, seen_at)
     select 'bench', n, now() + interval '1 h' from generate_series(1, ${WORKERS}) n returning id`,
  );
  await sql.query(COPY_GRANT, [world.accounts[0]?.id, watches]);
  await sql.query(ADD_WATCHES);
  await sql.query('vacuum analyze');
  for (const [name, value] of Object.entries(SHORT_STATEMENT_SETTINGS))
    await sql.query(`set ${name} = ${value}`);
  const { CLAIM_WATCHES } = await loadLeases();
  const times: number[] = [];
  for (let claim = 0; claim < CLAIMS; claim += 1) {
    const begun = performance.now();
    const { rows: leased } = await sql.query<{ accountId: string | null }>(CLAIM_WATCHES, [
      rows[0]?.id,
      200,
      0,
      watches,
    ]);
    times.push(performance.now() - begun);
    if (leased[0]?.accountId !== null) throw new Error('a claim has leased a watch');
  }
  return spread(times);
}

/** A check of the watches by one of many workers, while there is nothing to lease. */
export const watchClaimsRow: BenchRow = {
  key: KEY,
  title: 'claims of watches: a small and a large number, with 20 workers',
  async run(world, report) {
    const p50 = async (watches: number): Promise<number> => {
      const database = await world.database(`watches_${watches}`);
      const times = await claims(database, world, watches);
      await database.drop();
      report.round(KEY, `${watches} watches`, `p50 ${times.p50} ms, p99 ${times.p99} ms`);
      return times.p50;
    };
    const { watchesSmall, watchesLarge } = world.scale;
    const [small, large] = [await p50(watchesSmall), await p50(watchesLarge)];
    return [
      {
        what: `a claim among ${watchesLarge} watches`,
        measured: large,
        needed: 5,
        aim: null,
        better: 'less',
        unit: ' ms',
        figures: { small, large, ratio: round(large / small) },
      },
    ] satisfies Finding[];
  },
};
