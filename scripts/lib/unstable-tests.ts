import fs from 'node:fs';
import path from 'node:path';
import type { JestRun, RanTest } from './jest-run.ts';
import { ROOT } from './project.ts';

const FILE = path.join(ROOT, 'test/unstable.json');

/** A test that failed in a full run and passed alone. */
export interface UnstableTest {
  /** Titles of its `describe` and `it` blocks, joined by spaces. */
  name: string;
  /** Its spec file, relative to the project's folder. */
  file: string;
  /** Day on which it was recorded, YYYY-MM-DD. */
  date: string;
}

/** Reads the recorded unstable tests. */
export function readUnstable(): UnstableTest[] {
  return JSON.parse(fs.readFileSync(FILE, 'utf8')) as UnstableTest[];
}

/** Replaces the recorded unstable tests. */
export function writeUnstable(tests: readonly UnstableTest[]): void {
  fs.writeFileSync(FILE, `${JSON.stringify(tests, null, 2)}\n`);
}

/** Result of running failed tests a second time. */
export interface SecondRunVerdict {
  /** Number of failed tests of both runs together. Recorded unstable tests count as failed. */
  failed: number;
  /** Tests that passed the second time and are not recorded yet. */
  unstable: UnstableTest[];
  /** Tests that passed the second time but were recorded as unstable before. */
  again: UnstableTest[];
}

/**
 * Compares a second run with the failures of the first one.
 * @param firstFailed tests that failed in the first run
 * @param known the recorded unstable tests
 * @param today YYYY-MM-DD
 */
export function judgeSecondRun(
  firstFailed: readonly RanTest[],
  second: Pick<JestRun, 'failed' | 'tests'>,
  known: readonly UnstableTest[],
  today: string,
): SecondRunVerdict {
  const verdict: SecondRunVerdict = { failed: 0, unstable: [], again: [] };
  for (const { name } of firstFailed) {
    const runs = second.tests.filter((test) => test.name === name);
    // The second run did not reach this test, so the test stays failed.
    if (runs.length === 0 || runs.some(({ passed }) => !passed)) continue;
    const file = runs[0]?.file ?? '';
    const isKnown = known.some((entry) => entry.name === name);
    verdict[isKnown ? 'again' : 'unstable'].push({ name, file, date: today });
  }
  const broken = firstFailed.length - verdict.unstable.length;
  // The second run can also fail in tests that passed in the first one.
  verdict.failed = Math.max(broken, second.failed + verdict.again.length);
  return verdict;
}
