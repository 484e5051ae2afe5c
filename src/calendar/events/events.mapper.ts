import { fromUnixSeconds, toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { NotificationOutcome } from './ports/event-reminders.ts';
import type { NotificationView } from './event-parts.schema.ts';
import type { EventRecord } from './event-record.ts';
import { firstMinutes, type Recurrence } from './event-values.ts';
import { metadataFilter } from '../../platform/database/metadata-filter.ts';
import type { EventQuery } from './event-query.ts';
import { MOST_WARNINGS } from '../../formats/ical/kept-lines.ts';
import { openSeries } from '../../formats/recurrence/series.ts';
import { withZones } from './when/when.ts';
import type { EventView, ListEventsQuery } from './events.schema.ts';

/**
 * Converts the query of a list of events.
 * @throws {InvalidInputError} if a `metadata_pair` is malformed
 */
export function toEventQuery(query: ListEventsQuery): EventQuery {
  const { title, description, location, busy, limit, offset, view } = query;
  const instant = (seconds: number | undefined) =>
    seconds === undefined ? undefined : fromUnixSeconds(seconds);
  return {
    calendarId: query.calendar_id,
    eventId: query.event_id,
    title,
    description,
    location,
    busy,
    limit,
    offset,
    view: view === 'expanded' ? undefined : view,
    participant: query.participants,
    startsBefore: instant(query.starts_before),
    startsAfter: instant(query.starts_after),
    endsBefore: instant(query.ends_before),
    endsAfter: instant(query.ends_after),
    updatedBefore: instant(query.updated_at_before),
    updatedAfter: instant(query.updated_at_after),
    showCancelled: query.show_cancelled,
    expandRecurring: query.expand_recurring,
    customerEventId: query.customer_event_id,
    metadata: metadataFilter(query),
  };
}

/**
 * An event as the API shows it.
 * @param outcomes of its notifications
 * @param jobId of the write that the request has made
 */
export function toEventView(
  event: EventRecord,
  outcomes: readonly NotificationOutcome[],
  jobId?: string | null,
): EventView {
  return {
    id: event.id,
    object: 'event',
    account_id: event.accountId,
    calendar_id: event.calendarId,
    message_id: event.messageId,
    ical_uid: event.icalUid,
    title: event.title,
    description: event.description,
    location: event.location,
    owner: ownerOf(event),
    organizer_email: event.organizerEmail,
    organizer_name: event.organizerName,
    participants: event.participants.map((one) => ({ ...one, email: one.email || null })),
    read_only: event.readOnly,
    when: withZones(event.when, event.recurrence?.timezone),
    busy: event.busy,
    status: event.status,
    visibility: event.visibility,
    hide_participants: event.hideParticipants,
    // Programs test for these keys to tell series and instances from other events.
    ...(event.recurrence ? { recurrence: recurrenceOf(event.recurrence) } : {}),
    ...(event.masterEventId ? { master_event_id: event.masterEventId } : {}),
    ...(event.originalStart ? { original_start_time: toUnixSeconds(event.originalStart) } : {}),
    conferencing: conferencingOf(event),
    reminders: toRemindersView(event.reminders),
    notifications: toNotificationViews(event, outcomes),
    metadata: event.metadata,
    event_collection_id: event.eventCollectionId,
    capacity: event.capacity,
    round_robin_order: event.roundRobinOrder,
    customer_event_id: event.customerEventId,
    updated_at: toUnixSeconds(event.updatedAt),
    ...(jobId ? { job_status_id: jobId } : {}),
  };
}

/**
 * Shows either the conferencing or the request for it. Clients would send both back, and requests
 * with both are refused.
 */
function conferencingOf({ conferencing, autocreate }: EventRecord): EventView['conferencing'] {
  if (conferencing || !autocreate) return conferencing;
  return { provider: autocreate.provider, autocreate: { settings: autocreate.settings } };
}

/** What could not be read of an event's file and its rules: at most 20 different sentences. */
export function warningsOf({ warnings, when, recurrence }: EventRecord): string[] {
  const found = new Set(warnings.slice(0, MOST_WARNINGS));
  const add = (problem: string) => {
    if (found.size < MOST_WARNINGS) found.add(problem);
  };
  if (recurrence) openSeries({ when, recurrence }, add);
  return [...found];
}

/** The length of instances follows from `when` and is not shown. */
function recurrenceOf({ rrule, timezone }: Recurrence): EventView['recurrence'] {
  return { rrule, timezone };
}

/** Shows the first reminder of the list: the client for Java reads a number. */
function toRemindersView(reminders: EventRecord['reminders']): EventView['reminders'] {
  if (!reminders) return null;
  const { reminder_minutes, reminder_method } = reminders;
  return { reminder_minutes: firstMinutes(reminder_minutes), reminder_method };
}

function ownerOf({ organizerEmail, organizerName }: EventRecord): string {
  if (!organizerEmail) return organizerName ?? '';
  return organizerName ? `${organizerName} <${organizerEmail}>` : organizerEmail;
}

function toNotificationViews(
  { notifications }: EventRecord,
  outcomes: readonly NotificationOutcome[],
): NotificationView[] {
  const byId = new Map(outcomes.map((outcome) => [outcome.notificationId, outcome]));
  return notifications.map((notification) => {
    const outcome = byId.get(notification.id);
    if (!outcome) throw new Error(`Notification ${notification.id} has no outcome`);
    const { status, reason, dueAt } = outcome;
    return { ...notification, status, reason, due_at: toUnixSeconds(dueAt) };
  });
}
