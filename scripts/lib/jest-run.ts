import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Summary } from './checks.ts';
import { npmScript, ROOT, runCommand } from './project.ts';
import { STORMS_OF_A_PUSH } from './nightly-tests.ts';
import { specFilesOf } from './test-groups.ts';
import { judgeSecondRun, readUnstable, writeUnstable } from './unstable-tests.ts';

/** Result of one test. */
export interface RanTest {
  /** Titles of its `describe` and `it` blocks, joined by spaces. */
  name: string;
  /** File that Jest ran, relative to the project's folder: a spec file or a group of spec files. */
  file: string;
  passed: boolean;
  /** Failure messages of Jest with their stacks; empty if the test passed. */
  messages: string;
}

/** Result of one run of Jest. */
export interface JestRun extends Summary {
  /** Empty if the run ended before it wrote its results. */
  tests: RanTest[];
}

interface JestResults {
  numPassedTests: number;
  numFailedTests: number;
  numRuntimeErrorTestSuites: number;
  testResults: {
    name: string;
    status: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

/**
 * Runs Jest once. A run that ends before it has written its results counts as one failure.
 * @param options arguments of Jest
 */
export async function runJest(options: readonly string[]): Promise<JestRun> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-tests-'));
  const file = path.join(folder, 'results.json');
  try {
    const chosen = options.map((argument) => JSON.stringify(argument));
    // What a test has left open must not keep the whole run from ending.
    const ending = ['--forceExit', '--json', `--outputFile=${file}`];
    const command = [npmScript('jest'), ...chosen, ...ending].join(' ');
    const { code } = await runCommand(command, 'inherit');
    if (!fs.existsSync(file)) {
      return { passed: 0, failed: 1, failures: ['Jest ended without results'], tests: [] };
    }
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
      failures: [...failuresOf(tests), ...brokenFiles(results)],
      tests,
    };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Longest text of an error beside the name of its test. */
const MOST_CHARACTERS = 500;

/** A failed test with its error, because the end of a long log is often all that is kept of it. */
const described = ({ name, file, messages }: Omit<RanTest, 'passed'>): string => {
  const [error = ''] = stripVTControlCharacters(messages).split(/\n\s+at /);
  return `${name} (${file}): ${error.replaceAll(/\s+/g, ' ').slice(0, MOST_CHARACTERS)}`;
};

const failuresOf = (tests: readonly RanTest[]): string[] =>
  tests.filter(({ passed }) => !passed).map(described);

/** Files that Jest could not run. */
function brokenFiles({ testResults }: JestResults): string[] {
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((one) => one.status !== 'failed'),
  );
  return broken.map(({ name }) => path.relative(ROOT, name));
}

/** A run with more failed tests is not repeated. */
const MOST_UNSTABLE = 6;

/**
 * Runs Jest, and runs the spec files of failed tests a second time, one file at a time, to tell
 * broken tests from unstable ones (ADR 0052). Runs with more than six failed tests are not
 * repeated, nor are runs with a failed storm: storms prove that nothing is lost or doubled, so a
 * single failure counts. A test that fails again counts as failed. A test that passes is recorded
 * in `test/unstable.json`; it counts as failed if it was recorded there before.
 * @param options arguments of the first run
 * @param alone arguments of the second run; the spec files are added to them
 */
export async function runJestTwice(
  options: readonly string[],
  alone: readonly string[],
): Promise<Summary & { unstable: string[] }> {
  const first = await runJest(options);
  const failed = first.tests.filter(({ passed }) => !passed);
  // Only failed tests are repeated. A file that Jest could not load, or a run without results, is
  // broken for certain.
  const isFew = failed.length === first.failed && failed.length <= MOST_UNSTABLE;
  const files = [...new Set(failed.flatMap(({ file, messages }) => specFilesOf(file, messages)))];
  const isStorm = files.some((file) => STORMS_OF_A_PUSH.includes(file));
  if (first.failed === 0 || !isFew || isStorm) return { ...first, unstable: [] };
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
  const isUnstable = ({ name }: RanTest) => verdict.unstable.some((one) => one.name === name);
  const unstable = verdict.unstable.map(({ name, file }) =>
    described({ name, file, messages: failed.find((one) => one.name === name)?.messages ?? '' }),
  );
  return {
    passed: first.passed + unstable.length,
    failed: verdict.failed,
    failures: [
      ...failuresOf(failed.filter((one) => !isUnstable(one))),
      ...failuresOf(second.tests.filter(({ name }) => !failed.some((one) => one.name === name))),
    ],
    unstable,
  };
}
