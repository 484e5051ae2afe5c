import { createHash } from 'node:crypto';

/** A place in the log of an account: everything up to a change is read. */
export interface Position {
  /** Of that change; 0: nothing is read. */
  seq: number;
  /** When that change was written, in milliseconds: tells it from another one that got its number after a restore. */
  at: number;
}

/** Before everything that is kept. */
export const BEGINNING: Position = { seq: 0, at: 0 };

/** What `cursor=0` means: the kept log, wherever it begins. */
export const FROM_THE_START = '0';

const PATTERN = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-f]{12})$/;

/** A cursor is of one account, and not to be made up by mistake. */
const seal = (accountId: string, { seq, at }: Position): string =>
  createHash('sha256').update(`${accountId.toLowerCase()}:${seq}:${at}`).digest('hex').slice(0, 12);

/** The cursor that stands for a position; opaque to clients. */
export function toCursor(accountId: string, position: Position): string {
  const { seq, at } = position;
  return `${seq.toString(36)}-${at.toString(36)}-${seal(accountId, position)}`;
}

/** @returns undefined for what is no cursor of the account; `FROM_THE_START` is none */
export function fromCursor(accountId: string, cursor: string): Position | undefined {
  const [, seq, at, sealed] = PATTERN.exec(cursor) ?? [];
  if (seq === undefined || at === undefined) return undefined;
  const position = { seq: Number.parseInt(seq, 36), at: Number.parseInt(at, 36) };
  const safe = Number.isSafeInteger(position.seq) && Number.isSafeInteger(position.at);
  return safe && seal(accountId, position) === sealed ? position : undefined;
}
