import type { DeltaType } from '../platform/changes/delta-types.ts';

export interface LoggedChange {
  seq: number;
  /** When it was written, in milliseconds. */
  at: number;
  object: DeltaType;
  objectId: string;
  event: 'create' | 'modify' | 'delete';
}

/** What has become of one object within a page. */
export interface RolledChange extends Pick<LoggedChange, 'object' | 'objectId' | 'event'> {
  /** The change up to which a reader who has got this one and all before it has read; null: none of the page. */
  readTo: LoggedChange | null;
}

/**
 * One change for each object of a page, where its last one was. What was created in the page and changed is created;
 * what was created and deleted is deleted, because the reader may have seen it when he read the page before.
 * Nobody who stops after any of them and reads on from there misses anything.
 * @param page by number
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
  // From the end: what lies before the first change of any that comes later has been read.
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
