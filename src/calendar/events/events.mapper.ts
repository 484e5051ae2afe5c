import { toUnixSeconds, toUnixSecondsOrNull } from '../../platform/base/time/unix-seconds.ts';
import type { EventContent } from '../../providers/port/connector.ts';
import type { PlannedReminder } from '../notifications/reminder-plan.ts';
import type { NotificationView } from './event-parts.schema.ts';
import type { EventFields, EventRecord } from './event-record.ts';
import type { EventView } from './events.schema.ts';

/** What a write brings about besides the event itself. */
export interface WriteFacts {
  /** The job that carries the change to the provider. */
  jobId: string;
  /** What becomes of each notification. */
  planned: readonly PlannedReminder[];
}

/** An event as it is answered; after a write with the facts of the write. */
export function toEventView(event: EventRecord, facts?: WriteFacts): EventView {
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
    when: event.when,
    busy: event.busy,
    status: event.status,
    visibility: event.visibility,
    hide_participants: event.hideParticipants,
    recurrence: event.recurrence,
    master_event_id: event.masterEventId,
    original_start_time: toUnixSecondsOrNull(event.originalStart),
    conferencing: conferencingOf(event),
    reminders: event.reminders,
    // An empty list would come back with the client's next save and mean "remove all" (api facts 14.4).
    ...(event.notifications.length > 0 ? { notifications: toNotificationViews(event, facts) } : {}),
    metadata: event.metadata,
    event_collection_id: event.eventCollectionId,
    capacity: event.capacity,
    round_robin_order: event.roundRobinOrder,
    customer_event_id: event.customerEventId,
    updated_at: toUnixSeconds(event.updatedAt),
    ...(facts ? { job_status_id: facts.jobId } : {}),
  };
}

/** Never both: clients would send both back, and that is refused. */
function conferencingOf({ conferencing, autocreate }: EventRecord): EventView['conferencing'] {
  if (conferencing || !autocreate) return conferencing;
  return { provider: autocreate.provider, autocreate: { settings: autocreate.settings } };
}

function ownerOf({ organizerEmail, organizerName }: EventRecord): string {
  if (!organizerEmail) return organizerName ?? '';
  return organizerName ? `${organizerName} <${organizerEmail}>` : organizerEmail;
}

function toNotificationViews({ notifications }: EventRecord, facts?: WriteFacts): NotificationView[] {
  const fates = new Map(facts?.planned.map((planned) => [planned.notificationId, planned]));
  return notifications.map((notification) => {
    const fate = fates.get(notification.id);
    return {
      ...notification,
      ...(fate ? { status: fate.status, reason: fate.reason, due_at: toUnixSeconds(fate.dueAt) } : {}),
    };
  });
}

/** The part of an event the provider keeps, by the wire's names. */
export function toEventContent(event: EventFields & Pick<EventRecord, 'status'>): EventContent {
  return {
    title: event.title,
    description: event.description,
    location: event.location,
    when: event.when,
    busy: event.busy,
    status: event.status,
    visibility: event.visibility,
    hide_participants: event.hideParticipants,
    participants: event.participants,
    recurrence: event.recurrence,
    conferencing: event.conferencing,
    reminders: event.reminders,
  };
}
