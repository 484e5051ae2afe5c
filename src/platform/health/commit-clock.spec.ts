import { CommitClock } from './commit-clock.ts';

const commit = (session: number, seconds: number, began = 'noon') => ({ session, began, seconds });

describe('CommitClock', () => {
  it('counts the whole statement while it cannot know when the wait began', () => {
    const clock = new CommitClock();
    expect(clock.measure([commit(1, 15)], 1_000)).toEqual([15]);
    expect(clock.measure([commit(1, 16)], 2_000)).toEqual([16]);
  });

  it('counts a later wait from the reading that first saw it', () => {
    const clock = new CommitClock();
    clock.measure([], 1_000);
    expect(clock.measure([commit(1, 15)], 2_000)).toEqual([0]);
    expect(clock.measure([commit(1, 17), commit(2, 0.5)], 4_000)).toEqual([2, 0]);
  });

  it('counts no time in which nobody read the sessions', () => {
    const clock = new CommitClock();
    clock.measure([], 1_000);
    expect(clock.measure([commit(1, 15)], 60_000)).toEqual([0]);
  });

  it('counts each statement of a session by itself', () => {
    const clock = new CommitClock();
    clock.measure([commit(1, 5)], 1_000);
    expect(clock.measure([commit(1, 9, 'one')], 2_000)).toEqual([0]);
  });
});
