import { ensureBuilt } from '../scripts/lib/build.ts';
import type { BenchRow } from './finding.ts';
import { type BenchOptions, parseOptions, usageOf } from './options.ts';
import { Report } from './report.ts';
import { World } from './world.ts';

/** A benchmark command. */
export interface Bench {
  /** Name of its npm script. */
  name: string;
  /** Rows in the order of measurement. */
  rows: readonly BenchRow[];
}

/** Measures row by row until `ended` returns true. */
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

/**
 * Prints the results and writes the JSON file.
 * @returns the exit code
 */
function conclude({ json, strict }: BenchOptions, report: Report): number {
  const met = report.end();
  if (json) report.write(json);
  return strict && !met ? 1 : 0;
}

/**
 * Runs a bench: measures its rows, prints the table, and leaves nothing behind. Ctrl-C, or a run
 * beyond its time limit, ends the bench with the results so far.
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
    // Closing the world makes the current measurement fail, which ends the run.
    void world.close();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => end(`ended by ${signal}`, 130));
  }
  const limit = setTimeout(
    () => end('ended: the run exceeded its time limit', 1),
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
