import type { ImapFlow, SearchObject } from 'imapflow';
import { answerOf } from '../sessions/imap-connection.ts';
import type { UidRange } from '../changes/imap-cursor.ts';

/** UIDs of the messages of the open folder that match, in ascending ranges. */
export async function searchUids(
  client: ImapFlow,
  query: SearchObject,
): Promise<readonly UidRange[]> {
  const found = await answerOf(client, client.search(query, { uid: true, returnOptions: ['ALL'] }));
  const text = Array.isArray(found) ? found.join(',') : (found.all ?? '');
  return text
    .split(',')
    .filter(Boolean)
    .map((part): UidRange => {
      const [a = 0, b = a] = part.split(':').map(Number);
      return [Math.min(a, b), Math.max(a, b)];
    })
    .sort(([a], [b]) => a - b);
}

/**
 * The first `limit` UIDs of ascending ranges from `from` upwards, each once.
 * @returns `next`: the UID at which the rest begins; `null` if there is no rest
 */
export function firstUids(
  ranges: readonly UidRange[],
  from: number,
  limit: number,
): { uids: number[]; next: number | null } {
  const uids: number[] = [];
  let next = from;
  for (const [lo, hi] of ranges) {
    for (next = Math.max(next, lo); next <= hi; next += 1) {
      if (uids.length >= limit) return { uids, next };
      uids.push(next);
    }
  }
  return { uids, next: null };
}
