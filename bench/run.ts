import { ensureBuilt } from '../scripts/lib/build.ts';
import type { BenchRow } from './finding.ts';
import { type BenchOptions, parseOptions, USAGE } from './options.ts';
import { Report } from './report.ts';
import { acceptRow } from './rows/accept.ts';
import { claimRow } from './rows/claim.ts';
import { connectRow } from './rows/connect.ts';
import { engineRow } from './rows/engine.ts';
import { idleRow } from './rows/idle.ts';
import { latenessRow } from './rows/lateness.ts';
import { neighbourRow } from './rows/neighbour.ts';
import { sendRow } from './rows/send.ts';
import { World } from './world.ts';

/** In the order in which they are measured. */
const ROWS: readonly BenchRow[] = [
  acceptRow,
  sendRow,
  connectRow,
  engineRow,
  latenessRow,
  claimRow,
  neighbourRow,
  idleRow,
];

/** Measures row by row until it is `ended` from outside. */
async function measure(world: World, report: Report, ended: () => boolean): Promise<void> {
  const { only } = world.options;
  await world.open();
  report.begin(world.options, await world.serverFacts());
  for (const row of ROWS) {
    if (only && !only.includes(row.key)) continue;
    report.row(row.title);
    try {
      report.found(row.key, await row.run(world, report));
    } catch (error) {
      if (ended()) return;
      report.failed(row.key, error);
    }
    if (ended()) return;
  }
}

/** Shows and writes what there is. @returns the exit code */
function conclude({ json, strict }: BenchOptions, report: Report): number {
  const met = report.end();
  if (json) report.write(json);
  return strict && !met ? 1 : 0;
}

/**
 * `npm run bench:outbox`: measures the rows, prints the table, leaves nothing behind. Ctrl-C, or a run that takes too
 * long, ends it with what it has until then.
 * @returns the exit code
 */
export async function runBench(args: readonly string[]): Promise<number> {
  const options = parseOptions(
    args,
    ROWS.map(({ key }) => key),
  );
  if (options === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  await ensureBuilt();
  const world = new World(options);
  const report = new Report();
  let ended: number | null = null;
  const end = (words: string, code: number): void => {
    if (ended !== null) return;
    ended = code;
    process.stderr.write(`\n${words}\n`);
    // What is being measured fails then, and the run comes to its end.
    void world.close();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => end(`ended by ${signal}`, 130));
  }
  const limit = setTimeout(() => end('this takes too long: ended', 1), world.scale.limitSeconds * 1000);
  try {
    await measure(world, report, () => ended !== null);
  } catch (error) {
    if (ended === null) throw error;
  } finally {
    clearTimeout(limit);
    await world.close();
  }
  const code = conclude(options, report);
  return ended ?? code;
}
