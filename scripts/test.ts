import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runChecks, type Summary } from './lib/checks.ts';
import { writeTestGroups } from './lib/test-groups.ts';
import { ensureBuilt } from './lib/build.ts';
import { npmScript, runCommand } from './lib/project.ts';

/**
 * Most tests mostly wait: three groups of files at a time. Those of faults start many processes each: two at a time, by themselves, and with
 * the memory limit in a process of their own, so that nothing one of them leaves behind outlives the run.
 */
const PARTS = [
  ['--selectProjects', 'groups', 'patient', '--maxWorkers=3'],
  ['--selectProjects', 'faults', '--maxWorkers=2', '--workerIdleMemoryLimit=2GB'],
];

/**
 * One run of Jest.
 * @param options its arguments; a run that breaks off before it has results counts as one failure
 */
async function runTests(options: readonly string[]): Promise<Summary> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tests-'));
  const results = path.join(folder, 'results.json');
  try {
    const chosen = options.map((argument) => JSON.stringify(argument));
    const command = [npmScript('jest'), ...chosen, '--forceExit', '--json', `--outputFile=${results}`].join(
      ' ',
    );
    const { code } = await runCommand(command, 'inherit');
    if (!fs.existsSync(results)) return { passed: 0, failed: 1 };
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(
      fs.readFileSync(results, 'utf8'),
    ) as Record<'numPassedTests' | 'numFailedTests' | 'numRuntimeErrorTestSuites', number>;
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    return { passed: numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** `npm test`: everything, or the tests that the arguments name (`npm test -- test/e2e/outbox`), and one closing line. Each check counts as one. */
const checks = await runChecks();
// Some tests kill real processes: they run the built program.
await ensureBuilt().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
const named = process.argv.slice(2);
if (named.length === 0) writeTestGroups();
const parts = [checks];
for (const part of named.length > 0 ? [named] : PARTS) parts.push(await runTests(part));
const passed = parts.reduce((sum, part) => sum + part.passed, 0);
const failed = parts.reduce((sum, part) => sum + part.failed, 0);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
