import type { Sql } from '../platform/database/sql.ts';
import type { MirrorClaim } from './mirror.repository.ts';

/* When the calendars and the address book of an account are looked at: less often than its mailbox. */

// What was asked for while it is under way is not lost: the next look at the mailbox is soon.
const BEGIN_CALENDARS = `
  update sync_job j set calendars_at = $4 from sync_job before
  where j.id = $1 and j.fence = $2 and j.state = 1 and (j.calendars_at is null or j.calendars_at <= $3)
    and before.id = j.id
  returning before.calendars_at is null as first`;

const POSTPONE_CALENDARS = `update sync_job set calendars_at = $3 where id = $1 and fence = $2 and state = 1`;

const BEGIN_CONTACTS = `
  update sync_job set contacts_at = $4
  where id = $1 and fence = $2 and state = 1 and (contacts_at is null or contacts_at <= $3)
  returning contacts_cursor as cursor, contacts_since as since`;

const POSTPONE_CONTACTS = `update sync_job set contacts_at = $3 where id = $1 and fence = $2 and state = 1`;

const STORE_CURSOR = `
  update sync_job set contacts_cursor = $2, contacts_since = coalesce(contacts_since, $3) where id = $1`;

/** Where a look at an address book begins. */
export interface ContactLook {
  cursor: string | null;
  /** Null: the mirror does not have all of its contacts yet. */
  since: Date | null;
}

/**
 * Begins a look at calendars, when it is time.
 * @param next when the one after it may begin
 * @returns whether it is the account's first; undefined: it is not time
 */
export async function beginCalendarLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  now: Date,
  next: Date,
): Promise<{ first: boolean } | undefined> {
  const [look] = await sql.query<{ first: boolean }>(BEGIN_CALENDARS, [id, fence, now, next]);
  return look;
}

/** @param until null: the first look has not been made yet */
export async function postponeCalendarLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  until: Date | null,
): Promise<void> {
  await sql.query(POSTPONE_CALENDARS, [id, fence, until]);
}

/**
 * Begins a look at the address book, when it is time.
 * @param next when the one after it may begin
 * @returns undefined: it is not time
 */
export async function beginContactLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  now: Date,
  next: Date,
): Promise<ContactLook | undefined> {
  const [look] = await sql.query<ContactLook>(BEGIN_CONTACTS, [id, fence, now, next]);
  return look;
}

/** @param until null: as soon as possible */
export async function postponeContactLook(
  sql: Sql,
  { id, fence }: MirrorClaim,
  until: Date | null,
): Promise<void> {
  await sql.query(POSTPONE_CONTACTS, [id, fence, until]);
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
