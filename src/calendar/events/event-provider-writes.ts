import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Meetings } from '../conferencing/meetings.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import { type ChangeVerb, objectChange } from '../../platform/changes/object-change.ts';
import {
  type FailedWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import type {
  CalendarPort,
  EventContent,
  InstancePlace,
  ProviderAccount,
  WrittenEvent,
  WrittenRevision,
} from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { toEventContent } from '../event-store/event-record.ts';
import {
  type EventAtProvider, findEventAtProvider, raiseSequence, releaseInstance, storeOver, storeProviderIds, storeSeen,
} from '../event-store/event-at-provider.ts'; // prettier-ignore
import { raiseWaitingInvitations } from '../invitations/raise-waiting-invitations.ts';
import { instanceStamp } from '../event-store/recurrence/instances.ts';

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The event was deleted before this change had reached the provider',
};

/** Carries changes of events to their provider. */
@Injectable()
export class EventProviderWrites implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly writes: ProviderWrites,
    private readonly meetings: Meetings,
  ) {}

  onModuleInit(): void {
    this.writes.register('create_event', 'calendar', this.meetings.writing(this.#write));
    this.writes.register('update_event', 'calendar', this.meetings.writing(this.#write));
    this.writes.register('delete_event', 'calendar', this.meetings.deleting(this.#delete), {
      failed: bringBack,
    });
  }

  /** Creating and updating are one: an event whose creation failed is created by the change that repairs it. */
  readonly #write: ProviderWriteHandler = async (port, account, write) => {
    const event = await findEventAtProvider(this.database, account.accountId, write.objectId);
    // Gone with its calendar, which the provider deletes as a whole.
    if (!event) return DELETED;
    if (event.status !== 'cancelled' && event.providerId) {
      const content = toEventContent(event);
      const { providerId, providerContent: base, sequence } = event;
      const written = await port.updateEvent(account, providerId, content, base, sequence);
      for (const instance of event.over) await port.resetInstance(account, instance);
      return {
        kind: 'written',
        store: async (sql, at) => {
          await storeSeen(sql, event, content, at);
          await storeRevision(sql, event, written);
          await storeOver(sql, event);
        },
      };
    }
    if (event.status === 'cancelled' && event.series) {
      // The deletion that waits behind this job needs no id; what is over has none.
      if (event.released && !event.providerId && write.mayHaveRun)
        await takeBack(port, account, event);
      return DELETED;
    }
    // Deleted meanwhile. Where an attempt to create it may have gone through, the same key finds it again: the
    // deletion that waits behind this job then knows what to delete.
    if (event.status === 'cancelled' && (event.providerId || !write.mayHaveRun)) return DELETED;
    return event.series ? writeInstance(port, account, event) : create(port, account, event);
  };

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const event = await findEventAtProvider(this.database, account.accountId, write.objectId);
    // What its series decides again goes with a change of the series.
    if (!event || event.released) return { kind: 'written' };
    if (event.series) return deleteInstance(port, account, event);
    // Without an id it has never been at the provider.
    if (!event.providerId) return { kind: 'written' };
    await port.deleteEvent(account, event.providerId);
    return {
      kind: 'written',
      store: async (sql, at) => {
        await storeSeen(sql, event, event.providerContent, at);
        await storeOver(sql, event);
      },
    };
  };
}

async function create(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
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
  const created = await port.createEvent(
    account,
    calendarProviderId,
    event.id,
    content,
    event.sequence,
  );
  return written(account, event, content, created);
}

function written(
  account: ProviderAccount,
  event: EventAtProvider,
  content: EventContent,
  there: WrittenEvent & WrittenRevision,
): WriteOutcome {
  return {
    kind: 'written',
    store: async (sql, at) => {
      await store(sql, account, event.id, there, at);
      await storeSeen(sql, event, content, at);
      await storeRevision(sql, event, there);
    },
  };
}

/** Where an instance is at the provider, once its series is; null: its series never came there. */
function placeOf({ series, originalStart }: EventAtProvider): InstancePlace | null {
  if (!series?.providerId || !originalStart) return null;
  return {
    series: series.providerId,
    start: instanceStamp(originalStart.getTime(), series.allDay),
  };
}

async function writeInstance(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
): Promise<WriteOutcome> {
  // Rules that are on their way may be what makes it an instance.
  if (event.series?.busyUntil) return { kind: 'waits', until: event.series.busyUntil };
  const place = placeOf(event);
  if (!place)
    throw new ProviderError('rejected', 'Its recurring event could not be created at the provider');
  const content = toEventContent(event);
  const there = await port.writeInstance(
    account,
    place,
    content,
    event.providerContent,
    event.sequence,
  );
  return written(account, event, content, there);
}

async function deleteInstance(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
): Promise<WriteOutcome> {
  if (event.series?.busyUntil) return { kind: 'waits', until: event.series.busyUntil };
  const place = placeOf(event);
  if (place) await port.deleteInstance(account, place);
  return { kind: 'written', store: (sql, at) => storeSeen(sql, event, event.providerContent, at) };
}

/** An attempt to write it may have gone through: once it is written again there is an id to take it back by. */
async function takeBack(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
): Promise<void> {
  const place = placeOf(event);
  if (!place) return;
  const { providerId } = await port.writeInstance(account, place, toEventContent(event));
  await port.resetInstance(account, providerId);
}

/** An instance that its provider would not delete is what its series says again; changed ones the mirror restores. */
async function bringBack(sql: Sql, { objectId, accountId }: FailedWrite): Promise<void> {
  await releaseInstance(sql, accountId, objectId);
}

/**
 * Others have counted on meanwhile: the mails about the change, which follow it, say what the provider's copy says, and so do
 * those about later ones (RFC 5546 2.1.4).
 */
async function storeRevision(
  sql: Sql,
  { id, sequence: asked }: EventAtProvider,
  { sequence: got = asked }: WrittenRevision,
): Promise<void> {
  if (got <= asked) return;
  await raiseSequence(sql, id, got - asked);
  await raiseWaitingInvitations(sql, id, got - asked);
}

/** Stores the provider's ids; the UID is something readers see. */
async function store(
  sql: Sql,
  { accountId, applicationId }: ProviderAccount,
  eventId: string,
  { providerId, icalUid }: WrittenEvent,
  at: Date,
): Promise<void> {
  const { duplicates, isNew } = await storeProviderIds(sql, accountId, eventId, { providerId, icalUid });
  const change = (id: string, verb: ChangeVerb) =>
    objectChange('event', { applicationId, accountId, at }, id, verb, null);
  await recordChanges(sql, [
    ...duplicates.map((id) => change(id, 'deleted')),
    ...(isNew ? [change(eventId, 'updated')] : []),
  ]);
}
