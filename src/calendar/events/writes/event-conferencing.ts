import type { Sql } from '../../../platform/database/sql.ts';
import type { Conferencing, EventAutocreate } from '../event-values.ts';
import type { Event } from '../event.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const SHOW = `
  update event set conferencing = $3, version = version + 1, updated_at = $5
  where id = $1 and account_id = $2 and status <> 'cancelled' and autocreate = $4::jsonb
    and conferencing is distinct from $3::jsonb
  returning calendar_id as "calendarId", metadata`;

const FORGET = `
  update event e set autocreate = null from unnest($1::uuid[], $2::text[]) x(id, provider)
  where e.id = x.id and e.autocreate ->> 'provider' = x.provider`;

/**
 * Stores the conferencing details of a meeting in its event, if the event is not cancelled and
 * still wants this meeting.
 * @returns the event's calendar and metadata; `undefined` if nothing has changed
 */
export async function showMeeting(
  sql: Sql,
  accountId: string,
  { eventId, autocreate }: { eventId: string; autocreate: EventAutocreate },
  conferencing: Conferencing,
  at: Date,
): Promise<{ calendarId: string; metadata: Record<string, string> } | undefined> {
  return (
    await sql.query<RowOf<Event, 'calendarId' | 'metadata'>>(SHOW, [
      eventId,
      accountId,
      JSON.stringify(conferencing),
      JSON.stringify(autocreate),
      at,
    ])
  )[0];
}

/** Clears `autocreate` of events that ask for a meeting at these providers. */
export async function forgetWantedMeetings(
  sql: Sql,
  meetings: readonly { eventId: string; provider: string }[],
): Promise<void> {
  if (meetings.length === 0) return;
  await sql.query(FORGET, [
    meetings.map(({ eventId }) => eventId),
    meetings.map(({ provider }) => provider),
  ]);
}
