import { keepNotificationIds } from './keep-notification-ids.ts';
import type { StoredNotification } from '../event-values.ts';

const sms = (minutes: number, message: string) =>
  ({ type: 'sms', minutes_before_event: minutes, message }) as const;
const stored = (...list: StoredNotification[]) => list;

describe('keepNotificationIds', () => {
  const one = { id: 'one', ...sms(10, 'a') };
  const two = { id: 'two', ...sms(20, 'b') };

  it('keeps the ids of a list that is sent back, in any order of items and keys', () => {
    const back = [
      { message: 'b', minutes_before_event: 20, type: 'sms' } as const,
      { minutes_before_event: 10, type: 'sms', message: 'a' } as const,
    ];
    expect(keepNotificationIds(stored(one, two), back).map(({ id }) => id)).toEqual(['two', 'one']);
  });

  it('keeps the id of a notification whose text or time was edited', () => {
    expect(
      keepNotificationIds(stored(one, two), [sms(20, 'b'), sms(10, 'edited')]).map(({ id }) => id),
    ).toEqual(['two', 'one']);
    expect(
      keepNotificationIds(stored(one, two), [sms(20, 'b'), sms(15, 'a')]).map(({ id }) => id),
    ).toEqual(['two', 'one']);
  });

  it('uses each stored id once and gives new ids to new notifications', () => {
    const next = keepNotificationIds(stored(one), [
      sms(10, 'a'),
      sms(10, 'a'),
      { type: 'webhook', minutes_before_event: 10, url: 'https://a.test/', payload: '' },
    ]);
    const ids = next.map(({ id }) => id);
    expect(ids[0]).toBe('one');
    expect(new Set(ids).size).toBe(3);
    expect(next[2]).toMatchObject({ type: 'webhook', url: 'https://a.test/' });
  });
});
