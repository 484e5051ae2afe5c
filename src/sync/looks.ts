import type { ProviderError } from '../platform/base/errors/provider-error.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { MirrorClaim } from './mirror.repository.ts';

/* When the calendars and the address book of an account are looked at: less often than its mailbox. */

/** Looks are this far apart at least. */
const LOOK_SECONDS = 55;
/** After a look that failed. */
const AFTER_FAILURE_SECONDS = 300;

// What was asked for while it is under way is not lost: the next look at the mailbox is soon.
const BEGIN_CALENDARS = `
  update sync_job j set calendars_at = $4 from sync_job before
  where j.id = $1 and j.fence = $2 and j.state = 1 and (j.calendars_at is null or j.calendars_at <= $3)
    and before.id = j.id
  returning before.calendars_at is null as first`;

const BEGIN_CONTACTS = `
  update sync_job set contacts_at = $4
  where id = $1 and fence = $2 and state = 1 and (contacts_at is null or contacts_at <= $3)
  returning contacts_cursor as cursor, contacts_since as since`;

const POSTPONE = {
  calendars: `update sync_job set calendars_at = $3 where id = $1 and fence = $2 and state = 1`,
  contacts: `update sync_job set contacts_at = $3 where id = $1 and fence = $2 and state = 1`,
} as const;

const STORE_CURSOR = `
  update sync_job set contacts_cursor = $2, contacts_since = coalesce(contacts_since, $3) where id = $1`;

/** Where a look at an address book begins. */
export interface ContactLook {
  cursor: string | null;
  /** Null: the mirror does not have all of its contacts yet. */
  since: Date | null;
}

/** When the next look may begin. @param failure of the one before */
export function nextLook(now: Date, failure?: ProviderError): Date {
  const seconds = failure
    ? Math.max(AFTER_FAILURE_SECONDS, failure.retryAfterSeconds ?? 0)
    : LOOK_SECONDS;
  return new Date(now.getTime() + seconds * 1000);
}

/**
 * Begins a look at calendars, when it is time.
 * @returns whether it is the account's first; undefined: it is not time
 */
export async function beginCalendarLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  now: Date,
): Promise<{ first: boolean } | undefined> {
  return (await sql.query<{ first: boolean }>(BEGIN_CALENDARS, [id, fence, now, nextLook(now)]))[0];
}

/** Begins a look at the address book, when it is time. @returns undefined: it is not time */
export async function beginContactLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  now: Date,
): Promise<ContactLook | undefined> {
  return (await sql.query<ContactLook>(BEGIN_CONTACTS, [id, fence, now, nextLook(now)]))[0];
}

/** @param until null: as soon as possible, as if there had been no look */
export async function postponeLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  at: keyof typeof POSTPONE,
  until: Date | null,
): Promise<void> {
  await sql.query(POSTPONE[at], [id, fence, until]);
}

/** @param completeAt set once all contacts are there; null: not yet */
export async function storeContactCursor(
  sql: Sql,
  { id }: MirrorClaim,
  cursor: string,
  completeAt: Date | null,
): Promise<void> {
  await sql.query(STORE_CURSOR, [id, cursor, completeAt]);
}
