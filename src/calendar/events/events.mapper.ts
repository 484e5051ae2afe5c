import {
  fromUnixSeconds,
  toUnixSeconds,
  toUnixSecondsOrNull,
} from '../../platform/base/time/unix-seconds.ts';
import type { PlannedReminder } from './ports/event-reminders.ts';
import type { NotificationView } from './event-parts.schema.ts';
import type { EventRecord } from './event-record.ts';
import { firstMinutes } from './event-values.ts';
import { metadataFilter } from '../../platform/database/metadata-filter.ts';
import type { EventQuery } from './event-query.ts';
import { openSeries } from '../../formats/recurrence/series.ts';
import { withZones } from './when.ts';
import type { EventView, ListEventsQuery } from './events.schema.ts';

/** Results of a write besides the event itself. */
export interface WriteEffects {
  /** The job that carries the change to the provider; `null` if nothing has changed. */
  jobId: string | null;
  /** The planned reminder of each notification. */
  planned: readonly PlannedReminder[];
}

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

/** An event as the API shows it; with `facts` also the results of a write. */
export function toEventView(event: EventRecord, facts?: WriteEffects): EventView {
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
    participants: event.participants,
    read_only: event.readOnly,
    when: withZones(event.when, event.recurrence?.timezone),
    busy: event.busy,
    status: event.status,
    visibility: event.visibility,
    hide_participants: event.hideParticipants,
    recurrence: recurrenceOf(event),
    master_event_id: event.masterEventId,
    original_start_time: toUnixSecondsOrNull(event.originalStart),
    conferencing: conferencingOf(event),
    reminders: toRemindersView(event.reminders),
    // The client would send an empty list back with its next change, and an empty list there means
    // "remove all".
    ...(event.notifications.length > 0 ? { notifications: toNotificationViews(event, facts) } : {}),
    metadata: event.metadata,
    event_collection_id: event.eventCollectionId,
    capacity: event.capacity,
    round_robin_order: event.roundRobinOrder,
    customer_event_id: event.customerEventId,
    updated_at: toUnixSeconds(event.updatedAt),
    ...(facts?.jobId ? { job_status_id: facts.jobId } : {}),
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

/** An event with `warnings`: what could not be read of its file and its rules. */
export function toExpandedEventView(event: EventRecord): EventView {
  const warnings = [...event.warnings];
  const { when, recurrence } = event;
  if (recurrence) openSeries({ when, recurrence }, (problem) => warnings.push(problem));
  return { ...toEventView(event), warnings };
}

/** The length of instances follows from `when` and is not shown. */
function recurrenceOf({ recurrence }: EventRecord): EventView['recurrence'] {
  return recurrence && { rrule: recurrence.rrule, timezone: recurrence.timezone };
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
  facts?: WriteEffects,
): NotificationView[] {
  const plans = new Map(facts?.planned.map((planned) => [planned.notificationId, planned]));
  return notifications.map((notification) => {
    const plan = plans.get(notification.id);
    return {
      ...notification,
      ...(plan
        ? { status: plan.status, reason: plan.reason, due_at: toUnixSeconds(plan.dueAt) }
        : {}),
    };
  });
}
