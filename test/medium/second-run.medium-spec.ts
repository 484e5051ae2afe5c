import type { JestRun, RanTest } from '../../scripts/lib/jest-run.ts';
import { judgeSecondRun } from '../../scripts/lib/unstable-tests.ts';

const TODAY = '2026-11-23';
const FILE = 'test/e2e/outbox.e2e-spec.ts';
const ran = (name: string, passed: boolean, file = FILE): RanTest => ({
  name,
  file,
  passed,
  messages: '',
});
const run = (...tests: RanTest[]): Pick<JestRun, 'failed' | 'tests'> => {
  return { failed: tests.filter(({ passed }) => !passed).length, tests };
};
const FAILED_IN_A_GROUP = [ran('a message is sent once', false, 'test/.groups/07-e2e.spec.ts')];

describe('the second run of failed tests', () => {
  it('records a test that passes, with its spec file and the day', () => {
    const second = run(ran('a message is sent once', true), ran('a message is stored', true));
    expect(judgeSecondRun(FAILED_IN_A_GROUP, second, [], TODAY)).toEqual({
      failed: 0,
      unstable: [{ name: 'a message is sent once', file: FILE, date: TODAY }],
      again: [],
    });
  });

  it('fails a test that passes but was already recorded as unstable', () => {
    const known = [{ name: 'a message is sent once', file: FILE, date: '2026-11-01' }];
    const second = run(ran('a message is sent once', true));
    expect(judgeSecondRun(FAILED_IN_A_GROUP, second, known, TODAY)).toMatchObject({
      failed: 1,
      unstable: [],
    });
  });

  it.each([
    ['fails again', run(ran('a message is sent once', false))],
    ['was not reached', run(ran('a message is stored', true))],
    ['was not reached because the run broke off', { failed: 1, tests: [] }],
  ])('fails a test that %s', (_what, second) => {
    expect(judgeSecondRun(FAILED_IN_A_GROUP, second, [], TODAY)).toMatchObject({
      failed: 1,
      unstable: [],
    });
  });

  it('fails when another test of the same file fails in it', () => {
    const second = run(ran('a message is sent once', true), ran('a message is stored', false));
    expect(judgeSecondRun(FAILED_IN_A_GROUP, second, [], TODAY).failed).toBe(1);
  });
});
