import { noteAbsence } from '../calendar/calendars/calendar-mirror.ts';
import { hasEventsOfProvider } from '../calendar/events/mirror/event-mirror.ts';
import { hasContactsOfProvider } from '../contacts/contact-mirror.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { MirrorClaim } from './mirror.repository.ts';
import { noteEmptiedContacts } from './pass-schedule.ts';

/**
 * How long a provider has to answer that a whole collection is gone or empty before it is believed
 * (ADR 0124). Such an answer may be a failure that passes: it must not remove a user's data.
 */
const BELIEVED_AFTER_MS = 3_600_000;

/**
 * Whether an absence is believed.
 * @param since when the provider first answered so, without another answer in between
 */
export const isBelieved = (since: Date, now: Date): boolean =>
  now.getTime() - since.getTime() >= BELIEVED_AFTER_MS;

/** `present`: every id of a complete list; `null` if the list is not complete. */
interface Listing {
  present: readonly string[] | null;
}

/** A list without a single event of a calendar that has some is believed when it has lasted. */
export async function areEventsBelieved(
  sql: Sql,
  calendarId: string,
  { present }: Listing,
  at: Date,
): Promise<boolean> {
  if (present?.length !== 0 || !(await hasEventsOfProvider(sql, calendarId))) return true;
  return isBelieved(await noteAbsence(sql, 'emptied', calendarId, at), at);
}

/** The same for the contacts of an address book. */
export async function areContactsBelieved(
  sql: Sql,
  claim: MirrorClaim,
  { present }: Listing,
  at: Date,
): Promise<boolean> {
  if (present?.length !== 0 || !(await hasContactsOfProvider(sql, claim.accountId))) return true;
  return isBelieved(await noteEmptiedContacts(sql, claim, at), at);
}
