import { ensureBuilt } from '../scripts/lib/build.ts';
import type { BenchRow } from './finding.ts';
import { parseOptions, USAGE } from './options.ts';
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

async function measure(world: World, report: Report): Promise<void> {
  const { only } = world.options;
  await world.open();
  report.begin(world.options, await world.serverFacts());
  for (const row of ROWS) {
    if (only && !only.includes(row.key)) continue;
    report.row(row.title);
    try {
      report.found(row.key, await row.run(world, report));
    } catch (error) {
      report.failed(row.key, error);
    }
  }
}

/** Ends the run from outside: Ctrl-C, or because it takes too long. */
function endEarly(world: World, report: Report, onlyWhen: () => boolean): NodeJS.Timeout {
  const end = (words: string, code: number): void => {
    if (!onlyWhen()) return;
    process.stderr.write(`\n${words}\n`);
    report.end();
    void world.close().finally(() => process.exit(code));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => end(`ended by ${signal}`, 130));
  }
  return setTimeout(() => end('this takes too long: ended', 1), world.scale.limitSeconds * 1000);
}

/**
 * `npm run bench:outbox`: measures the rows, prints the table, leaves nothing behind.
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
  let running = true;
  const limit = endEarly(world, report, () => running);
  try {
    await measure(world, report);
    const met = report.end();
    if (options.json) report.write(options.json);
    return options.strict && !met ? 1 : 0;
  } finally {
    running = false;
    clearTimeout(limit);
    await world.close();
  }
}
