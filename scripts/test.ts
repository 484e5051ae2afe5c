import { runChecks, type Summary } from './lib/checks.ts';
import { ensureBuilt } from './lib/build.ts';
import { runJest, runJestTwice } from './lib/jest-run.ts';
import { keepTemporaryFilesInMemory } from './lib/memory-folder.ts';
import { NIGHTLY, requireNamedTests } from './lib/nightly-tests.ts';
import { writeTestGroups } from './lib/test-groups.ts';

/**
 * Most tests wait most of the time, so more groups run at a time than a small machine has
 * processors.
 */
const GROUPS = ['--selectProjects', 'groups', '--maxWorkers=5'];
/**
 * All storms, the fault tests and long tests, start many processes each, so they run after the
 * others and few at a time. The memory limit makes Jest use separate processes, so that nothing
 * they leave behind outlives the run.
 */
const STORMS = ['--maxWorkers=3', '--workerIdleMemoryLimit=2GB'];

/*
 * `npm test` runs the checks and every usual test; each check counts as one test. `npm test --
 * test/e2e/outbox` runs the checks and the named tests. `npm run test:long` runs all storms, the
 * long tests and the nightly ones. Each prints one closing line.
 */
const named = process.argv.slice(2);
const [scope] = named;
const parts: Summary[] = [];
const unstable: string[] = [];

keepTemporaryFilesInMemory();
if (scope !== '--long') parts.push(await runChecks());
// Some tests kill real processes, which run the built program.
await ensureBuilt().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
if (scope === undefined) {
  writeTestGroups();
  const groups = await runJestTwice(GROUPS, ['--maxWorkers=1']);
  unstable.push(...groups.unstable);
  parts.push(groups);
} else if (scope === '--long') {
  requireNamedTests();
  parts.push(await runJest(['--maxWorkers=2', '--runTestsByPath', ...NIGHTLY]));
  parts.push(await runJest(['--selectProjects', 'long', 'faults', ...STORMS]));
} else parts.push(await runJest(named));

const passed = parts.reduce((sum, part) => sum + part.passed, 0);
const failed = parts.reduce((sum, part) => sum + part.failed, 0);
for (const name of unstable)
  process.stdout.write(
    `UNSTABLE: failed in the full run, passed alone; recorded in test/unstable.json: ${name}\n`,
  );
for (const name of parts.flatMap(({ failures }) => failures))
  process.stdout.write(`FAILED: ${name}\n`);
process.stdout.write(
  `${passed} passed, ${failed} failed${unstable.length > 0 ? `, ${unstable.length} of the passed unstable` : ''}\n`,
);
if (failed > 0) process.exitCode = 1;
