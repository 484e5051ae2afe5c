import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import { type ChangeVerb, objectChange } from '../../../platform/changes/object-change.ts';
import {
  type ProviderWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../../accounts/provider-writes/provider-writes.ts';
import type {
  CalendarPort,
  EventContent,
  EventResponse,
  EventWriteOptions,
  InstancePosition,
  NotifyOption,
  ProviderAccount,
  EventProviderIds,
  ProviderSequence,
} from '../../../providers/port/connector.ts';
import { forgetReplaced } from '../../../accounts/provider-writes/open-writes.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { toEventContent } from '../event-record.ts';
import {
  type EventAtProvider,
  findEventAtProvider,
  raiseSequence,
  clearReleasedIds,
  storeProviderIds,
  storeProviderContent,
} from './event-at-provider.ts';
import { EventInvitations } from '../ports/event-invitations.ts';
import {
  EventMeetings,
  type EventWriteHandler,
  type EventWriteStep,
} from '../ports/event-meetings.ts';
import { instanceStamp } from '../recurrence/instances.ts';
import { showNativeMeeting } from './event-native-meeting.ts';
import { asksProvider, storeNotified, writesThatNotify } from './event-notices.ts';
import { RefusedEventWrites } from './refused-event-writes.ts';

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The event was deleted before this change had reached the provider',
};

/**
 * Carries changes of events to their provider, and takes back changes that the provider refuses.
 */
@Injectable()
export class EventWriteHandlers implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
    private readonly meetings: EventMeetings,
    private readonly invitations: EventInvitations,
    private readonly refused: RefusedEventWrites,
  ) {}

  onModuleInit(): void {
    const writing = this.meetings.writing(this.#write);
    this.writes.register('create_event', 'calendar', writing, { failed: this.refused.written });
    this.writes.register('update_event', 'calendar', writing, { failed: this.refused.written });
    this.writes.register('delete_event', 'calendar', this.meetings.deleting(this.#delete), {
      failed: this.refused.deleted,
    });
  }

  /**
   * Creates or updates an event. Both are one operation: an update creates the event if its
   * creation failed (ADR 0013).
   */
  readonly #write: EventWriteHandler = async (port, account, write, step) => {
    const notices = await this.#notices(port, write, step);
    const event = await findEventAtProvider(this.database, account.accountId, write.objectId);
    // The event was deleted with its calendar. The provider deletes the calendar as a whole.
    if (!event) return DELETED;
    if (event.status !== 'cancelled' && event.providerId) {
      const content = contentToWrite(port, event, write);
      const update = { ...event, providerId: event.providerId };
      const there = await updateEvent(port, account, update, content, write, notices);
      for (const instance of event.releasedProviderIds) await port.resetInstance(account, instance);
      const stored = this.#written(account, event, content, there, notices);
      return {
        kind: 'written',
        store: async (sql, at) => {
          await stored.store(sql, at);
          await clearReleasedIds(sql, event);
          // The meeting of the event may still be refused. That takes back nothing else.
          await forgetReplaced(sql, write.jobId);
        },
      };
    }
    if (event.status === 'cancelled' && event.series) {
      // A deletion queued after this write finds the instance by its start and needs no id. A
      // released instance has no such deletion, so an earlier attempt that may have succeeded is
      // undone here.
      if (event.released && !event.providerId && write.mayHaveRun)
        await undoAttempt(port, account, event);
      return DELETED;
    }
    // The event was deleted meanwhile. If an earlier attempt may have created it, creating it again
    // with the same key returns its id. The deletion queued after this write needs that id.
    if (event.status === 'cancelled' && (event.providerId || !write.mayHaveRun)) return DELETED;
    return event.series
      ? this.#writeInstance(port, account, event, notices)
      : this.#create(port, account, event, notices);
  };

  /** Which open writes ask the provider to mail participants. Read before the event is read. */
  async #notices(
    { mailsParticipants }: CalendarPort,
    { objectId, jobId }: ProviderWrite,
    { isLast, meeting }: EventWriteStep,
  ): Promise<Notices> {
    const mayAsk = isLast && mailsParticipants === 'on-request';
    const asking = mayAsk ? await writesThatNotify(this.database, objectId) : [];
    const options = {
      ...(asking.length > 0 ? { notify: true } : {}),
      ...(meeting ? { meeting } : {}),
    };
    return { options, others: asking.filter((id) => id !== jobId) };
  }

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const event = await findEventAtProvider(this.database, account.accountId, write.objectId);
    // A released instance is removed at the provider by the write of its series.
    if (!event || event.released) return { kind: 'written' };
    const options = asksProvider(write) ? { notify: true } : {};
    if (event.series) return deleteInstance(port, account, event, options);
    // An event without an id has never been at the provider.
    if (!event.providerId) return { kind: 'written' };
    await port.deleteEvent(account, event.providerId, options);
    return {
      kind: 'written',
      store: async (sql, at) => {
        await storeProviderContent(sql, event, event.providerContent, at);
        await clearReleasedIds(sql, event);
      },
    };
  };

  async #create(
    port: CalendarPort,
    account: ProviderAccount,
    event: EventAtProvider,
    notices: Notices,
  ): Promise<WriteOutcome> {
    const { calendarProviderId, calendarBusyUntil } = event;
    if (calendarProviderId === null) {
      if (calendarBusyUntil) return { kind: 'waits', until: calendarBusyUntil };
      throw new ProviderError(
        'rejected',
        'The calendar of this event could not be created at the provider',
      );
    }
    const content = toEventContent(event);
    const created = await port.createEvent(account, calendarProviderId, event.id, content, {
      sequence: event.sequence,
      // An event that was deleted meanwhile is created for its id only.
      ...(event.status === 'cancelled' ? {} : notices.options),
    });
    return this.#written(account, event, content, created, notices);
  }

  #written(
    account: ProviderAccount,
    event: EventAtProvider,
    content: EventContent,
    there: ProviderSequence & Partial<EventProviderIds>,
    { others }: Notices,
  ) {
    return {
      kind: 'written' as const,
      store: async (sql: Sql, at: Date): Promise<void> => {
        const { providerId, icalUid } = there;
        if (providerId !== undefined && icalUid !== undefined)
          await store(sql, account, event.id, { providerId, icalUid }, at);
        const seen = await showNativeMeeting(sql, account, event, content, there, at);
        await storeProviderContent(sql, seen.event, seen.content, at);
        await this.#storeRevision(sql, event, there);
        await storeNotified(sql, others);
      },
    };
  }

  async #writeInstance(
    port: CalendarPort,
    account: ProviderAccount,
    event: EventAtProvider,
    notices: Notices,
  ): Promise<WriteOutcome> {
    // An open write of the series may carry the rules that make this start an instance.
    if (event.series?.busyUntil) return { kind: 'waits', until: event.series.busyUntil };
    const position = positionOf(event);
    if (!position)
      throw new ProviderError(
        'rejected',
        'Its recurring event could not be created at the provider',
      );
    const content = toEventContent(event);
    const there = await port.writeInstance(account, position, content, {
      base: event.providerContent,
      sequence: event.sequence,
      ...notices.options,
    });
    return this.#written(account, event, content, there, notices);
  }

  /**
   * Other programs may have raised SEQUENCE at the provider meanwhile. The event and its
   * invitations that are not sent yet are raised by the same difference. Mails then state the same
   * revision as the provider's copy (RFC 5546 2.1.4).
   */
  async #storeRevision(
    sql: Sql,
    { id, sequence: asked }: EventAtProvider,
    { sequence: got = asked }: ProviderSequence,
  ): Promise<void> {
    if (got <= asked) return;
    await raiseSequence(sql, id, got - asked);
    await this.invitations.raiseWaiting(sql, id, got - asked);
  }
}

/** What a write has to say to participants. */
interface Notices {
  options: EventWriteOptions;
  /** Ids of other open writes whose participants the provider mails with this one. */
  others: readonly string[];
}

/** Writes an event that is at the provider, or the account's answer to it. */
async function updateEvent(
  port: CalendarPort,
  account: ProviderAccount,
  { providerId, providerContent, sequence }: EventAtProvider & { providerId: string },
  content: EventContent,
  { payload, notes }: ProviderWrite,
  { options }: Notices,
): Promise<ProviderSequence> {
  const response = payload['response'] as EventResponse | undefined;
  if (!response || !port.respond) {
    const given = { base: providerContent, sequence, notes, ...options };
    return port.updateEvent(account, providerId, content, given);
  }
  await port.respond(account, providerId, response);
  return {};
}

/** The event as the provider has it after the write. An answer changes the participants only. */
function contentToWrite(
  port: CalendarPort,
  event: EventAtProvider,
  { payload }: ProviderWrite,
): EventContent {
  const content = toEventContent(event);
  const isAnswer = payload['response'] !== undefined && port.respond !== undefined;
  if (!isAnswer || !event.providerContent) return content;
  return { ...event.providerContent, participants: content['participants'] };
}

/**
 * Position of an instance at the provider: its series and its start. `null` if the series never
 * reached the provider.
 */
function positionOf({ series, originalStart }: EventAtProvider): InstancePosition | null {
  if (!series?.providerId || !originalStart) return null;
  return {
    series: series.providerId,
    start: instanceStamp(originalStart.getTime(), series.allDay),
  };
}

async function deleteInstance(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
  options: NotifyOption,
): Promise<WriteOutcome> {
  if (event.series?.busyUntil) return { kind: 'waits', until: event.series.busyUntil };
  const position = positionOf(event);
  if (position) await port.deleteInstance(account, position, options);
  return {
    kind: 'written',
    store: (sql, at) => storeProviderContent(sql, event, event.providerContent, at),
  };
}

/**
 * Undoes an attempt to write the instance that may have succeeded. Writing it again returns the id
 * that the reset needs.
 */
async function undoAttempt(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
): Promise<void> {
  const position = positionOf(event);
  if (!position) return;
  const { providerId } = await port.writeInstance(account, position, toEventContent(event));
  await port.resetInstance(account, providerId);
}

/**
 * Stores the provider's ids. The UID is visible to API clients, so the change is logged. It is not
 * logged for an event that was deleted meanwhile: readers of deltas would add the event again.
 */
async function store(
  sql: Sql,
  { accountId, applicationId }: ProviderAccount,
  eventId: string,
  { providerId, icalUid }: EventProviderIds,
  at: Date,
): Promise<void> {
  const { duplicates, isNews } = await storeProviderIds(sql, accountId, eventId, {
    providerId,
    icalUid,
  });
  const change = (id: string, verb: ChangeVerb) =>
    objectChange('event', { applicationId, accountId, at }, id, verb, null);
  await recordChanges(sql, [
    ...duplicates.map((id) => change(id, 'deleted')),
    ...(isNews ? [change(eventId, 'updated')] : []),
  ]);
}
