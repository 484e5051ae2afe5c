import { newId } from '../../../platform/base/ids/ids.ts';
import type { StoredNotification } from '../event-values.ts';

type Unidentified<N> = N extends unknown ? Omit<N, 'id'> : never;

/** A notification as a client sends it, without an id. */
export type NewNotification = Unidentified<StoredNotification>;

const fingerprint = ({ id: _id, ...rest }: Partial<StoredNotification>): string =>
  JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Gives each notification of a changed event an id, so that a client that sends back the whole list
 * does not cause duplicate reminders. The id is the first of these that exists:
 * - the id of an equal stored notification
 * - the id of one with the same type and time, whose text was edited
 * - the id of one with the same type, whose time was changed
 * - a new id
 */
export function keepNotificationIds<N extends NewNotification>(
  stored: readonly StoredNotification[],
  next: readonly N[],
): (N & { id: string })[] {
  const left = new Set(stored);
  const ids = new Map<N, string>();
  const alike: ((a: StoredNotification, b: N) => boolean)[] = [
    (a, b) => fingerprint(a) === fingerprint(b),
    (a, b) => a.type === b.type && a.minutes_before_event === b.minutes_before_event,
    (a, b) => a.type === b.type,
  ];
  for (const same of alike) {
    for (const notification of next) {
      if (ids.has(notification)) continue;
      const match = [...left].find((candidate) => same(candidate, notification));
      if (!match) continue;
      left.delete(match);
      ids.set(notification, match.id);
    }
  }
  return next.map((notification) => ({ ...notification, id: ids.get(notification) ?? newId() }));
}
