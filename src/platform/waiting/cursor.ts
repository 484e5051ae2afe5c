import { createHash } from 'node:crypto';

/**
 * A position in a log whose rows have increasing numbers, such as the change log of an account or
 * the feed of a webhook: everything up to one row has been read.
 */
export interface Position {
  /** Number of that row; 0 if nothing has been read. */
  seq: number;
  /**
   * When that row was written, in Unix milliseconds. Distinguishes it from another row that got the
   * same number after a database restore.
   */
  at: number;
}

/** The position before the whole log. */
export const BEGINNING: Position = { seq: 0, at: 0 };

/** Value of the `cursor` parameter that means the beginning of the kept log. */
export const FROM_THE_START = '0';

const PATTERN = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-f]{12})$/;

/**
 * Checksum that ties a cursor to the owner of its log, so that a mistyped or foreign cursor is
 * refused. Not a protection against forgery.
 */
const checksum = (ownerId: string, { seq, at }: Position): string =>
  createHash('sha256').update(`${ownerId.toLowerCase()}:${seq}:${at}`).digest('hex').slice(0, 12);

/**
 * The cursor for a position; opaque to clients.
 * @param ownerId id of the account or webhook whose log it is
 */
export function toCursor(ownerId: string, position: Position): string {
  const { seq, at } = position;
  return `${seq.toString(36)}-${at.toString(36)}-${checksum(ownerId, position)}`;
}

/**
 * @returns the position of a cursor, or `undefined` if the text is not a cursor of this owner.
 *   `FROM_THE_START` is not a cursor either.
 */
export function fromCursor(ownerId: string, cursor: string): Position | undefined {
  const [, seq, at, given] = PATTERN.exec(cursor) ?? [];
  if (seq === undefined || at === undefined) return undefined;
  const position = { seq: Number.parseInt(seq, 36), at: Number.parseInt(at, 36) };
  const safe = Number.isSafeInteger(position.seq) && Number.isSafeInteger(position.at);
  return safe && checksum(ownerId, position) === given ? position : undefined;
}
