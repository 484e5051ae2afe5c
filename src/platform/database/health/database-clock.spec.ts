import { jest } from '@jest/globals';
import { DatabaseClock } from './database-clock.ts';
import type { Database } from '../sql.ts';

const NEW_YEAR = Date.UTC(2030, 0, 1);

describe('DatabaseClock', () => {
  let wallMs: number;
  let asked: number;
  let answer: number;
  let clock: DatabaseClock;
  beforeEach(async () => {
    wallMs = 0;
    asked = 0;
    answer = NEW_YEAR;
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    const query = () => {
      asked += 1;
      return Promise.resolve([{ now: new Date(answer) }]);
    };
    clock = new DatabaseClock({ query } as unknown as Database);
    await clock.onModuleInit();
  });
  afterEach(() => jest.restoreAllMocks());

  const ahead = () => clock.now().getTime() - NEW_YEAR;

  it('returns the time of the database, even if the wall clock differs', () => {
    expect(ahead()).toBeLessThan(5_000);
    wallMs -= 600_000;
    expect(ahead()).toBeGreaterThanOrEqual(0);
    expect(asked).toBe(1);
  });

  it('counts the time in which the machine was suspended, and then reads the database clock at once', async () => {
    wallMs += 3_600_000;
    answer = NEW_YEAR + 3_000_000;
    expect(ahead()).toBeGreaterThanOrEqual(3_600_000);
    await new Promise(setImmediate);
    expect(asked).toBe(2);
    expect(ahead()).toBeLessThan(3_600_000);
    expect(asked).toBe(2);
  });
});
