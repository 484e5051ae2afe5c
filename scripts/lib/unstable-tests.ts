import fs from 'node:fs';
import path from 'node:path';
import type { JestRun, RanTest } from './jest-run.ts';
import { ROOT } from './project.ts';

const FILE = path.join(ROOT, 'test/unstable.json');

/** A test that failed among others and passed alone. */
export interface UnstableTest {
  /** Its `describe` and `it` titles, joined by spaces. */
  name: string;
  /** Its spec file, relative to the project's folder. */
  file: string;
  /** The day it was seen, YYYY-MM-DD. */
  date: string;
}

/** The unstable tests that are on record. */
export function readUnstable(): UnstableTest[] {
  return JSON.parse(fs.readFileSync(FILE, 'utf8')) as UnstableTest[];
}

/** Replaces the record. */
export function writeUnstable(tests: readonly UnstableTest[]): void {
  fs.writeFileSync(FILE, `${JSON.stringify(tests, null, 2)}\n`);
}

/** What a second run says about the tests that failed in the first. */
export interface SecondRunVerdict {
  /** Failed tests of both runs together: broken ones, and unstable ones that are on record. */
  failed: number;
  /** Tests that passed and are new to the record. */
  unstable: UnstableTest[];
  /** Tests that passed but stand in the record already. */
  again: UnstableTest[];
}

/**
 * Judges a second run.
 * @param firstFailed tests that failed in the first run
 * @param known the unstable tests on record
 * @param today YYYY-MM-DD
 */
export function judgeSecondRun(
  firstFailed: readonly RanTest[],
  second: JestRun,
  known: readonly UnstableTest[],
  today: string,
): SecondRunVerdict {
  const verdict: SecondRunVerdict = { failed: 0, unstable: [], again: [] };
  for (const { name } of firstFailed) {
    const runs = second.tests.filter((test) => test.name === name);
    // A test that the second run did not reach has not proved that it works.
    if (runs.length === 0 || runs.some(({ passed }) => !passed)) continue;
    const file = runs[0]?.file ?? '';
    const isKnown = known.some((entry) => entry.name === name);
    verdict[isKnown ? 'again' : 'unstable'].push({ name, file, date: today });
  }
  const broken = firstFailed.length - verdict.unstable.length;
  // The second run may also fail in tests that had passed in the first.
  verdict.failed = Math.max(broken, second.failed + verdict.again.length);
  return verdict;
}
