import { ensureBuilt } from '../scripts/lib/build.ts';
import type { BenchRow } from './finding.ts';
import { type BenchOptions, parseOptions, usageOf } from './options.ts';
import { Report } from './report.ts';
import { World } from './world.ts';

/** A command that measures. */
export interface Bench {
  /** Of its npm script. */
  name: string;
  /** In the order in which they are measured. */
  rows: readonly BenchRow[];
}

/** Measures row by row until it is `ended` from outside. */
async function measure(
  { rows }: Bench,
  world: World,
  report: Report,
  ended: () => boolean,
): Promise<void> {
  const { only } = world.options;
  await world.open();
  report.begin(world.options, await world.serverFacts());
  for (const row of rows) {
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
 * Runs a bench: measures its rows, prints the table, leaves nothing behind. Ctrl-C, or a run that takes too
 * long, ends it with what it has until then.
 * @returns the exit code
 */
export async function runBench(bench: Bench, args: readonly string[]): Promise<number> {
  const options = parseOptions(
    args,
    bench.rows.map(({ key }) => key),
  );
  if (options === 'help') {
    process.stdout.write(usageOf(bench.name));
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
  const limit = setTimeout(
    () => end('this takes too long: ended', 1),
    world.scale.limitSeconds * 1000,
  );
  try {
    await measure(bench, world, report, () => ended !== null);
  } catch (error) {
    if (ended === null) throw error;
  } finally {
    clearTimeout(limit);
    await world.close();
  }
  const code = conclude(options, report);
  return ended ?? code;
}
