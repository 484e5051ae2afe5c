import type { ProviderError } from '../platform/base/errors/provider-error.ts';
import { BudgetExhaustedError } from '../platform/budgets/budget-exhausted-error.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { MirrorClaim, MirrorState } from './mirror.repository.ts';
import { ROW_CLAIMED } from '../platform/work/queue/row-state.ts';

/* When to sync the calendars and the address book of an account: less often than its mailbox. */

/** Shortest time between two sync passes over calendars or contacts. */
const PASS_INTERVAL_SECONDS = 55;
/** Shortest time after a sync pass that failed. */
const AFTER_FAILURE_SECONDS = 300;

/**
 * A notification sets the time of the next pass to the beginning of 2000, in any time zone, so that
 * the next sync pass of the account includes it (`schedule-sync.ts`).
 */
const HURRIED = new Date('2000-01-02T00:00:00Z');

// The time of the next pass is set when this one begins. A change reported during this pass waits
// for the next one.
const BEGIN_CALENDARS = `
  update sync_job j set calendars_at = $4 from sync_job before
  where j.id = $1 and j.fence = $2 and j.state = ${ROW_CLAIMED} and (j.calendars_at is null or j.calendars_at <= $3)
    and before.id = j.id
  returning before.calendars_at is null as first`;

const BEGIN_CONTACTS = `
  update sync_job set contacts_at = $4
  where id = $1 and fence = $2 and state = ${ROW_CLAIMED} and (contacts_at is null or contacts_at <= $3)
  returning contacts_cursor as cursor, contacts_since as since`;

const CONTACT_POSITION = `
  select contacts_cursor as cursor, contacts_since as since
  from sync_job where id = $1 and fence = $2 and state = ${ROW_CLAIMED}`;

const POSTPONE = {
  calendars: `update sync_job set calendars_at = $3 where id = $1 and fence = $2 and state = ${ROW_CLAIMED}`,
  contacts: `update sync_job set contacts_at = $3 where id = $1 and fence = $2 and state = ${ROW_CLAIMED}`,
} as const;

const STORE_CURSOR = `
  update sync_job set contacts_cursor = $2, contacts_since = coalesce(contacts_since, $3)
  where id = $1`;

/** Start position of a sync pass over an address book. */
export interface ContactPass {
  /** Position in the changes of the address book; `null` for its beginning. */
  cursor: string | null;
  /**
   * Since when the mirror has all contacts of the address book; `null` if it does not have them all
   * yet.
   */
  since: Date | null;
}

/**
 * Earliest time of the next sync pass.
 * @param failure error of the previous pass, if it failed. A pass that waits for the budget of the
 *   provider goes on as soon as the budget allows it
 */
export function nextPassAt(now: Date, failure?: ProviderError): Date {
  const asked = failure?.retryAfterSeconds ?? 0;
  const least = failure ? AFTER_FAILURE_SECONDS : PASS_INTERVAL_SECONDS;
  const seconds =
    failure instanceof BudgetExhaustedError ? failure.fullAfterSeconds : Math.max(least, asked);
  return new Date(now.getTime() + seconds * 1000);
}

/**
 * When the passes of an account follow that have just been made. Stored together with the end of
 * the sync pass, unless a notification has set another time since `from`.
 */
export interface PassTimes {
  calendars?: PassTime;
  contacts?: PassTime;
}

interface PassTime {
  from: Date;
  to: Date;
}

/** A sync pass over calendars or contacts. */
export interface BegunPass {
  /** `null` if the time of the next pass is stored already. */
  time: PassTime | null;
}

/**
 * The time of a pass that is due, to be stored at the end of the sync pass: a pass that is often
 * made and rarely finds anything then writes nothing of its own. `null` if the time has to be
 * stored when the pass begins: at the first pass, and after a notification. Another notification
 * during this pass then sets another time, and the end of this pass does not overwrite it.
 */
function timeOf(at: Date | null, now: Date): PassTime | null {
  return at === null || at <= HURRIED ? null : { from: at, to: nextPassAt(now) };
}

const isLater = (at: Date | null, now: Date): boolean => at !== null && at > now;

/**
 * Begins a sync pass over the calendars of an account, if one is due.
 * @param calendarsAt when it is due, as the sync pass has loaded it
 * @returns `first` is true for the account's first pass; `undefined` if none is due or the claim is
 *   lost
 */
export async function beginCalendarPass(
  sql: Sql,
  { id, fence }: MirrorClaim,
  calendarsAt: Date | null,
  now: Date,
): Promise<(BegunPass & { first: boolean }) | undefined> {
  if (isLater(calendarsAt, now)) return undefined;
  const time = timeOf(calendarsAt, now);
  if (time) return { first: false, time };
  const [begun] = await sql.query<{ first: boolean }>(BEGIN_CALENDARS, [
    id,
    fence,
    now,
    nextPassAt(now),
  ]);
  return begun && { ...begun, time };
}

/**
 * Begins a sync pass over the address book, if one is due.
 * @param loaded when it is due and where it begins, as the sync pass has loaded it
 * @returns `undefined` if none is due or the claim is lost
 */
export async function beginContactPass(
  sql: Sql,
  { id, fence }: MirrorClaim,
  loaded: Pick<MirrorState, 'contactsAt' | 'contactsCursor' | 'contactsSince'>,
  now: Date,
): Promise<(BegunPass & ContactPass) | undefined> {
  const { contactsAt, contactsCursor: cursor, contactsSince: since } = loaded;
  if (isLater(contactsAt, now)) return undefined;
  const time = timeOf(contactsAt, now);
  if (time) return { cursor, since, time };
  const [begun] = await sql.query<ContactPass>(BEGIN_CONTACTS, [id, fence, now, nextPassAt(now)]);
  return begun && { ...begun, time };
}

// Rows are found by their ids only, as in the statements of the engine (queue-statements.ts).
const POSITION = 'array_position($1::uuid[], j.id)';
// Times of the program have milliseconds.
const next = (column: string, from: number): string => `
  ${column} = case when date_trunc('milliseconds', ${column}) = ($${from}::timestamptz[])[${POSITION}]
                   then ($${from + 1}::timestamptz[])[${POSITION}] else ${column} end`;
const STORE_TIMES = `
  update sync_job j set ${next('calendars_at', 2)}, ${next('contacts_at', 4)} where j.id = any($1::uuid[])`;

/** Stores when passes follow, in the transaction that settles the rows of the accounts. */
export async function storePassTimes(
  sql: Sql,
  passed: readonly { id: string; times: PassTimes }[],
): Promise<void> {
  const some = passed.filter(({ times: { calendars, contacts } }) => calendars ?? contacts);
  if (some.length === 0) return;
  await sql.query(STORE_TIMES, [
    some.map(({ id }) => id),
    some.map(({ times }) => times.calendars?.from ?? null),
    some.map(({ times }) => times.calendars?.to ?? null),
    some.map(({ times }) => times.contacts?.from ?? null),
    some.map(({ times }) => times.contacts?.to ?? null),
  ]);
}

/**
 * The position in the changes of the address book.
 * @returns `undefined` if the claim is lost
 */
export async function contactPosition(
  sql: Sql,
  { id, fence }: MirrorClaim,
): Promise<ContactPass | undefined> {
  return (await sql.query<ContactPass>(CONTACT_POSITION, [id, fence]))[0];
}

/**
 * Sets the time of the next sync pass.
 * @param until earliest time; `null` means as soon as possible, as if there had been no pass yet
 */
export async function postponePass(
  sql: Sql,
  { id, fence }: MirrorClaim,
  at: keyof typeof POSTPONE,
  until: Date | null,
): Promise<void> {
  await sql.query(POSTPONE[at], [id, fence, until]);
}

/**
 * Stores the cursor of the address book.
 * @param completeAt when the address book was read to its end; `null` if it was not. The first
 *   such time is kept.
 */
export async function storeContactCursor(
  sql: Sql,
  { id }: MirrorClaim,
  cursor: string,
  completeAt: Date | null,
): Promise<void> {
  await sql.query(STORE_CURSOR, [id, cursor, completeAt]);
}
