import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runChecks, type Summary } from './lib/checks.ts';
import { ensureBuilt } from './lib/build.ts';
import { npmScript, runCommand } from './lib/project.ts';

/** Every tier of the tests, or those that the arguments name (`npm test -- test/e2e/outbox`). A run that breaks off before it has results counts as one failure. */
async function runTests(): Promise<Summary> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tests-'));
  const results = path.join(folder, 'results.json');
  try {
    const chosen = process.argv.slice(2).map((argument) => JSON.stringify(argument));
    const command = [npmScript('jest'), ...chosen, '--json', `--outputFile=${results}`].join(' ');
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

/** `npm test`: everything, and one closing line. Each check counts as one. */
const checks = await runChecks();
// Some tests kill real processes: they run the built program.
await ensureBuilt().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
const tests = await runTests();
const failed = checks.failed + tests.failed;
process.stdout.write(`${checks.passed + tests.passed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
