import { StoreBreaker } from './store-breaker.ts';

describe('StoreBreaker', () => {
  let nowMs = 0;
  let breaker: StoreBreaker;
  beforeEach(() => {
    nowMs = 1_000;
    breaker = new StoreBreaker(() => nowMs);
  });
  const fail = (times: number) => {
    for (let n = 0; n < times; n++) breaker.failed('HTTP 500');
  };

  it('lets requests run until five troubles have followed each other', () => {
    fail(4);
    breaker.succeeded();
    fail(4);
    expect([breaker.waitMs(), breaker.problem]).toEqual([0, null]);
    fail(1);
    expect([breaker.waitMs(), breaker.problem]).toEqual([2_000, 'HTTP 500']);
  });

  it('lets one request test the store after the pause, and all after its success', () => {
    fail(5);
    nowMs += 2_000;
    expect(breaker.waitMs()).toBe(0);
    expect(breaker.waitMs()).toBeGreaterThan(0);
    breaker.succeeded();
    expect([breaker.waitMs(), breaker.waitMs(), breaker.problem]).toEqual([0, 0, null]);
  });

  it('doubles the pause after each failed test, up to a minute', () => {
    fail(5);
    const pauses = [];
    for (let n = 0; n < 7; n++) {
      pauses.push(breaker.waitMs());
      nowMs += breaker.waitMs();
      expect(breaker.waitMs()).toBe(0);
      fail(1);
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('does not prolong the pause for requests that began before it', () => {
    fail(20);
    expect(breaker.waitMs()).toBe(2_000);
  });
});
