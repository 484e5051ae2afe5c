/**
 * Result of an operator's action on rows of a queue. Actions never change a row that a worker has
 * claimed.
 */
export interface Steered {
  /** Ids of rows that were changed; in a dry run, that would be changed. */
  changed: string[];
  /** The others of the given ids, each with the reason for leaving it alone. */
  skipped: { id: string; reason: string }[];
}

/** Reasons that several queues have in common. */
export const ON_ITS_WAY = 'a worker is running it at this moment';
export const BEING_CHANGED = 'another request or worker is changing it at this moment';
export const NOT_YET_DUE = 'its time has not come; nothing runs before the promised time';
export const UNKNOWN_OUTCOME =
  'the outcome of an earlier attempt is unknown and is being looked up; until then it must neither run again nor be cancelled';

/** Sorts rows by why each is left alone; `null` means that it may be changed. */
export function sortOut<R extends { id: string }>(
  rows: readonly R[],
  refusal: (row: R) => string | null,
): { free: R[]; skipped: Steered['skipped'] } {
  const free: R[] = [];
  const skipped: Steered['skipped'] = [];
  for (const row of rows) {
    const reason = refusal(row);
    if (reason === null) free.push(row);
    else skipped.push({ id: row.id, reason });
  }
  return { free, skipped };
}
