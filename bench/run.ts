import { ensureBuilt } from '../scripts/lib/build.ts';
import type { BenchRow } from './finding.ts';
import { type BenchOptions, keepsFigures, parseOptions, scaleOf, usageOf } from './options.ts';
import { Report } from './report.ts';
import { merged, readResults, writeResults } from './results.ts';
import { writePages } from './results-page.ts';
import { World } from './world.ts';

/** A part of the bench: rows about one subject. */
export interface Bench {
  /** Name of the part for `--only`. */
  name: string;
  /** Rows in the order of measurement. */
  rows: readonly BenchRow[];
}

/** Measures rows one after the other, each within its time limit. */
class Run {
  readonly report = new Report();
  #world: World | null = null;
  #exitCode: number | null = null;
  #begun = false;
  readonly #options: BenchOptions;

  constructor(options: BenchOptions) {
    this.#options = options;
  }

  /** Exit code of a run that was ended early, or `null`. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  async measure(rows: readonly BenchRow[]): Promise<void> {
    for (const [index, row] of rows.entries()) {
      if (this.#exitCode !== null) break;
      const world = await this.#open();
      this.report.row(row.key, `${index + 1} of ${rows.length}: ${row.title}`);
      await this.#measure(row, world);
    }
    await this.#close();
  }

  /** Ends the run with the results so far. May be called more than once. */
  end(words: string, code: number): void {
    if (this.#exitCode !== null) return;
    this.#exitCode = code;
    process.stderr.write(`\n${words}\n`);
    // Closing the world makes the current measurement fail, which ends the run.
    void this.#world?.close();
  }

  async #measure(row: BenchRow, world: World): Promise<void> {
    const { rowLimitSeconds } = world.scale;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const limit = setTimeout(
      () => reject(new Error(`not measured within ${rowLimitSeconds} seconds`)),
      rowLimitSeconds * 1000,
    );
    try {
      this.report.found(row.key, await Promise.race([row.run(world, this.report), late]));
    } catch (error) {
      if (this.#exitCode === null) this.report.failed(row.key, error);
      // What the row started still runs, and would disturb the next row.
      await this.#close();
    } finally {
      clearTimeout(limit);
    }
  }

  async #open(): Promise<World> {
    if (this.#world) return this.#world;
    const world = (this.#world = new World(this.#options));
    await world.open();
    if (!this.#begun) this.report.begin(this.#options, await world.serverFacts());
    this.#begun = true;
    return world;
  }

  async #close(): Promise<void> {
    await this.#world?.close();
    this.#world = null;
  }
}

/**
 * Prints the results, writes the JSON file, and keeps the figures of a full run.
 * @returns the exit code
 */
function conclude(options: BenchOptions, report: Report, benches: readonly Bench[]): number {
  const met = report.end();
  if (options.json) report.write(options.json);
  if (keepsFigures(options)) {
    const keys = benches.flatMap(({ rows }) => rows.map(({ key }) => key));
    const results = merged(readResults(), report.measured(), keys);
    writeResults(results);
    writePages(results, benches);
  }
  return options.strict && !met ? 1 : 0;
}

/**
 * Runs the bench: measures the rows of all parts, prints one table, and leaves nothing behind.
 * Ctrl-C, or a run beyond its time limit, ends the bench with the results so far.
 * @returns the exit code
 */
export async function runBench(
  benches: readonly Bench[],
  args: readonly string[],
): Promise<number> {
  const options = parseOptions(args, benches);
  if (options === 'help') {
    process.stdout.write(usageOf(benches));
    return 0;
  }
  await ensureBuilt();
  const run = new Run(options);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => run.end(`ended by ${signal}`, 130));
  const limit = setTimeout(
    () => run.end('ended: the run exceeded its time limit', 1),
    scaleOf(options).limitSeconds * 1000,
  );
  const rows = benches.flatMap((bench) => bench.rows);
  try {
    await run.measure(rows.filter(({ key }) => options.only?.includes(key) ?? true));
  } catch (error) {
    if (run.exitCode === null) throw error;
  } finally {
    clearTimeout(limit);
  }
  const code = conclude(options, run.report, benches);
  return run.exitCode ?? code;
}
