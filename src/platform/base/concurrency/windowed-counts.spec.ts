import { jest } from '@jest/globals';
import { WindowedCounts } from './windowed-counts.ts';

describe('WindowedCounts', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('counts each key on its own and returns the seconds until its window ends', () => {
    const counts = new WindowedCounts(60);
    expect(counts.add('a')).toEqual({ count: 1, secondsLeft: 60 });
    jest.advanceTimersByTime(20_500);
    expect(counts.add('a')).toEqual({ count: 2, secondsLeft: 40 });
    expect(counts.add('b')).toEqual({ count: 1, secondsLeft: 60 });
  });

  it('begins a new window after the old one has ended', () => {
    const counts = new WindowedCounts(60);
    counts.add('a');
    counts.add('a');
    jest.advanceTimersByTime(60_000);
    expect(counts.add('a').count).toBe(1);
  });

  it('keeps no more than the allowed number of keys', () => {
    const counts = new WindowedCounts(60, 100);
    for (let client = 0; client < 10_000; client++) counts.add(`client ${client}`);
    expect(counts.size).toBe(100);
    expect(counts.add('client 9999').count).toBe(2);
    expect(counts.add('client 1').count).toBe(1);
  });
});
