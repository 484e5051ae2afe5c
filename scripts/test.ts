import { runChecks } from './lib/checks.ts';
import { ensureBuilt } from './lib/build.ts';
import { runJest, runJestTwice } from './lib/jest-run.ts';
import { writeTestGroups } from './lib/test-groups.ts';

/** Most tests mostly wait: three groups of files at a time. */
const GROUPS = ['--selectProjects', 'groups', 'patient'];
/**
 * Those of faults start many processes each: two at a time, by themselves, and with the memory limit in a process of their own, so
 * that nothing one of them leaves behind outlives the run.
 */
const FAULTS = ['--selectProjects', 'faults', '--maxWorkers=2', '--workerIdleMemoryLimit=2GB'];

/** `npm test`: everything, or the tests that the arguments name (`npm test -- test/e2e/outbox`), and one closing line. Each check counts as one. */
const checks = await runChecks();
// Some tests kill real processes: they run the built program.
await ensureBuilt().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
const named = process.argv.slice(2);
const parts = [checks];
const unstable: string[] = [];
if (named.length > 0) parts.push(await runJest(named));
else {
  writeTestGroups();
  const groups = await runJestTwice([...GROUPS, '--maxWorkers=3'], [...GROUPS, '--maxWorkers=1']);
  unstable.push(...groups.unstable);
  // What these prove is that nothing is ever lost or doubled: one failure is one too many.
  parts.push(groups, await runJest(FAULTS));
}
const passed = parts.reduce((sum, part) => sum + part.passed, 0);
const failed = parts.reduce((sum, part) => sum + part.failed, 0);
for (const name of unstable)
  process.stdout.write(`UNSTABLE, failed among others and passed alone: ${name}\n`);
process.stdout.write(
  `${passed} passed, ${failed} failed${unstable.length > 0 ? `, ${unstable.length} of the passed unstable` : ''}\n`,
);
if (failed > 0) process.exitCode = 1;
