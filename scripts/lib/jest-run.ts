import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Summary } from './checks.ts';
import { npmScript, ROOT, runCommand } from './project.ts';
import { specFilesOf } from './test-groups.ts';
import { judgeSecondRun, readUnstable, writeUnstable } from './unstable-tests.ts';

/** A test that was run. */
export interface RanTest {
  /** Its `describe` and `it` titles, joined by spaces. */
  name: string;
  /** The file that Jest ran, relative to the project's folder: a spec file, or a group of them. */
  file: string;
  passed: boolean;
  /** What Jest reports of a failure, with its stack. */
  messages: string;
}

/** The result of one run of Jest. */
export interface JestRun extends Summary {
  /** Empty if the run broke off before it had results. */
  tests: RanTest[];
}

interface JestResults {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: {
    name: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

/**
 * Runs Jest once.
 * @param options its arguments; a run that breaks off before it has results counts as one failure
 */
export async function runJest(options: readonly string[]): Promise<JestRun> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tests-'));
  const file = path.join(folder, 'results.json');
  try {
    const chosen = options.map((argument) => JSON.stringify(argument));
    const command = [npmScript('jest'), ...chosen, '--json', `--outputFile=${file}`].join(' ');
    const { code } = await runCommand(command, 'inherit');
    if (!fs.existsSync(file)) return { passed: 0, failed: 1, tests: [] };
    const results = JSON.parse(fs.readFileSync(file, 'utf8')) as JestResults;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const tests = results.testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === 'passed' || status === 'failed')
        .map(({ status, fullName, failureMessages }) => ({
          name: fullName,
          file: path.relative(ROOT, name),
          passed: status === 'passed',
          messages: failureMessages.join('\n'),
        })),
    );
    return {
      passed: results.numPassedTests,
      failed: failed === 0 && code !== 0 ? 1 : failed,
      tests,
    };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs with more failures are not repeated. */
const MOST_UNSTABLE = 3;

/**
 * Runs Jest, and repeats the spec files of at most three failed tests, one file at a time, to tell broken tests from unstable ones
 * (docs/adr/0052). A test that fails again has failed. A test that passes is recorded in `test/unstable.json`, and has failed if it
 * stood there already.
 * @param options arguments of the first run
 * @param alone arguments of the second run, to which the spec files are added
 */
export async function runJestTwice(
  options: readonly string[],
  alone: readonly string[],
): Promise<Summary & { unstable: string[] }> {
  const first = await runJest(options);
  const failed = first.tests.filter(({ passed }) => !passed);
  // A file that could not be run at all, and a run without results, are no accident.
  const isFew = failed.length === first.failed && failed.length <= MOST_UNSTABLE;
  if (first.failed === 0 || !isFew) return { ...first, unstable: [] };
  const files = [...new Set(failed.flatMap(({ file, messages }) => specFilesOf(file, messages)))];
  process.stdout.write(
    `\nOnce more, alone:\n${failed.map(({ name }) => `  ${name}\n`).join('')}\n`,
  );
  const second = await runJest([...alone, '--runTestsByPath', ...files]);
  const known = readUnstable();
  const today = new Date().toISOString().slice(0, 10);
  const verdict = judgeSecondRun(failed, second, known, today);
  if (verdict.unstable.length > 0) writeUnstable([...known, ...verdict.unstable]);
  for (const { name, file } of verdict.again)
    process.stdout.write(
      `UNSTABLE AGAIN, and so failed (it stands in test/unstable.json): ${name} (${file})\n`,
    );
  const unstable = verdict.unstable.map(({ name, file }) => `${name} (${file})`);
  return { passed: first.passed + unstable.length, failed: verdict.failed, unstable };
}
