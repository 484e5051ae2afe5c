import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runChecks, type Summary } from './lib/checks.ts';
import { npmScript, runCommand } from './lib/project.ts';

/** Every tier of the tests. A run that breaks off before it has results counts as one failure. */
async function runTests(): Promise<Summary> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tests-'));
  const results = path.join(folder, 'results.json');
  try {
    const { code } = await runCommand(`${npmScript('jest')} --json --outputFile=${results}`, 'inherit');
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
const tests = await runTests();
const failed = checks.failed + tests.failed;
process.stdout.write(`${checks.passed + tests.passed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
