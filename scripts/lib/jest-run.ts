import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Summary } from './checks.ts';
import { npmScript, ROOT, runCommand } from './project.ts';

/** What became of a run of Jest. */
export interface JestRun extends Summary {
  /** Files with failures and what failed in them; none where the run broke off before it had results. */
  failures: { file: string; tests: string[] }[];
}

interface JestResults {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[];
}

/**
 * One run of Jest.
 * @param options its arguments; a run that breaks off before it has results counts as one failure
 */
export async function runJest(options: readonly string[]): Promise<JestRun> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tests-'));
  const file = path.join(folder, 'results.json');
  try {
    const chosen = options.map((argument) => JSON.stringify(argument));
    const command = [npmScript('jest'), ...chosen, '--forceExit', '--json', `--outputFile=${file}`].join(' ');
    const { code } = await runCommand(command, 'inherit');
    if (!fs.existsSync(file)) return { passed: 0, failed: 1, failures: [] };
    const results = JSON.parse(fs.readFileSync(file, 'utf8')) as JestResults;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const failures = results.testResults
      .filter(({ status }) => status === 'failed')
      .map(({ name, assertionResults }) => ({
        file: path.relative(ROOT, name),
        tests: assertionResults.flatMap(({ status, fullName }) => (status === 'failed' ? [fullName] : [])),
      }));
    return { passed: results.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed, failures };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** More failures than that are no accident. */
const MOST_UNSTABLE = 3;

/**
 * A run whose few failures are run once more, alone, to tell what is broken from what is unstable (docs/adr/0052): what fails again has
 * failed. What passes has not, but is told by name: it is a defect of the test, or of the program.
 * @param options arguments of the run
 * @param alone arguments of the second one, to which the files are added
 */
export async function runJestTwice(
  options: readonly string[],
  alone: readonly string[],
): Promise<Summary & { unstable: string[] }> {
  const first = await runJest(options);
  const tests = first.failures.flatMap((failure) => failure.tests);
  // A file that could not be run at all, and a run without results, have failed for good.
  const isFew = tests.length === first.failed && tests.length <= MOST_UNSTABLE;
  if (first.failed === 0 || !isFew) return { ...first, unstable: [] };
  process.stdout.write(`\nOnce more, alone:\n${tests.map((name) => `  ${name}\n`).join('')}\n`);
  const second = await runJest([...alone, ...first.failures.map(({ file }) => file)]);
  if (second.failed > 0)
    return { passed: first.passed, failed: Math.max(first.failed, second.failed), unstable: [] };
  return { passed: first.passed + tests.length, failed: 0, unstable: tests };
}
