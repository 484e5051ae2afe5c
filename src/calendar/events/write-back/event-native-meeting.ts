import { newId } from '../../../platform/base/ids/ids.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import type {
  EventContent,
  ProviderAccount,
  ProviderSequence,
} from '../../../providers/port/connector.ts';
import type { EventAtProvider } from './event-at-provider.ts';
import { eventChange } from '../event-changes.ts';
import { showMeeting } from '../writes/event-conferencing.ts';

/**
 * Shows the meeting that the provider created with an event. A pending meeting arrives with the
 * changes of the calendar instead.
 * @returns the event and its content as the provider now has them
 */
export async function showNativeMeeting(
  sql: Sql,
  { accountId, applicationId }: ProviderAccount,
  event: EventAtProvider,
  content: EventContent,
  { meeting: details }: ProviderSequence,
  at: Date,
): Promise<{ event: EventAtProvider; content: EventContent }> {
  const { id: eventId, autocreate, version } = event;
  if (!autocreate || !details || details === 'pending') return { event, content };
  const conferencing = { provider: autocreate.provider, details };
  const there = { ...content, conferencing };
  const shown = await showMeeting(sql, accountId, { eventId, autocreate }, conferencing, at);
  if (!shown) return { event, content: there };
  const owner = { accountId, applicationId, at };
  const dedupe = `meeting:${eventId}:${newId()}`;
  await recordChanges(sql, [eventChange(owner, { id: eventId, ...shown }, 'updated', dedupe)]);
  return { event: { ...event, version: version + 1 }, content: there };
}
