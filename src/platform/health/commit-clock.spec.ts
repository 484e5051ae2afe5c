import { CommitClock } from './commit-clock.ts';

const commit = (session: number, seconds: number, began = 'noon') => ({ session, began, seconds });

describe('CommitClock', () => {
  it('counts the whole statement while it cannot know when the wait began', () => {
    expect(new CommitClock().measure([commit(1, 15)], 1_000)).toEqual([15]);
  });

  it('counts a wait that was not there at the last reading from that reading on', () => {
    const clock = new CommitClock();
    clock.measure([], 1_000);
    expect(clock.measure([commit(1, 15)], 2_000)).toEqual([1]);
    expect(clock.measure([commit(1, 17), commit(2, 0.5)], 4_000)).toEqual([3, 0.5]);
  });

  it('counts each statement of a session by itself', () => {
    const clock = new CommitClock();
    clock.measure([commit(1, 5)], 1_000);
    expect(clock.measure([commit(1, 9, 'one')], 2_000)).toEqual([1]);
  });
});
