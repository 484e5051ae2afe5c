import type { DeltaType } from '../platform/changes/delta-types.ts';

export interface LoggedChange {
  seq: number;
  /** When it was written, in Unix milliseconds. */
  at: number;
  object: DeltaType;
  objectId: string;
  event: 'create' | 'modify' | 'delete';
}

/** All changes of one object within a page, as one change. */
export interface RolledChange extends Pick<LoggedChange, 'object' | 'objectId' | 'event'> {
  /**
   * A client that has this change and all before it has read every logged change up to and
   * including this one, and may continue after it. `null` if the client must continue at the
   * beginning of the page.
   */
  readTo: LoggedChange | null;
}

/**
 * Merges the changes of a page into one change per object, ordered by each object's last change. An
 * object created and changed in the page counts as created. One created and deleted counts as
 * deleted, because the client may have seen it in an earlier read. A client that stops after any of
 * the changes and continues from its `readTo` misses nothing.
 * @param page ordered by number
 */
export function rollUp(page: readonly LoggedChange[]): RolledChange[] {
  const histories = new Map<string, number[]>();
  for (const [index, { object, objectId }] of page.entries()) {
    const key = `${object}:${objectId}`;
    const history = histories.get(key);
    if (history) history.push(index);
    else histories.set(key, [index]);
  }
  const inOrder = [...histories.values()].toSorted((a, b) => (a.at(-1) ?? 0) - (b.at(-1) ?? 0));
  const rolled: RolledChange[] = [];
  // The loop goes from the last object to the first. `unread` is the position of the first logged
  // change of any later object.
  let unread = page.length;
  for (const history of inOrder.toReversed()) {
    const lastIndex = history.at(-1) ?? 0;
    const last = page[lastIndex];
    if (!last) continue;
    const { object, objectId } = last;
    const readTo = page[Math.min(lastIndex, unread - 1)] ?? null;
    rolled.push({ object, objectId, event: eventOf(history, page), readTo });
    unread = Math.min(unread, history[0] ?? 0);
  }
  return rolled.toReversed();
}

function eventOf(history: readonly number[], page: readonly LoggedChange[]): LoggedChange['event'] {
  const events = history.flatMap((index) => page[index]?.event ?? []);
  if (events.at(-1) === 'delete') return 'delete';
  return events.includes('create') ? 'create' : 'modify';
}
