import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Meetings } from '../conferencing/meetings.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
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
import { toEventContent } from './events.mapper.ts';
import { type EventAtProvider, EventsRepository } from './events.repository.ts';
import { instanceStamp } from './recurrence/instances.ts';

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The event was deleted before this change had reached the provider',
};

/** Carries changes of events to their provider. */
@Injectable()
export class EventWrites implements OnModuleInit {
  constructor(
    private readonly repository: EventsRepository,
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
    const event = await this.repository.findAtProvider(account.accountId, write.objectId);
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
      if (event.released && !event.providerId && write.mayHaveRun) await takeBack(port, account, event);
      return DELETED;
    }
    // Deleted meanwhile. Where an attempt to create it may have gone through, the same key finds it again: the
    // deletion that waits behind this job then knows what to delete.
    if (event.status === 'cancelled' && (event.providerId || !write.mayHaveRun)) return DELETED;
    return event.series ? writeInstance(port, account, event) : create(port, account, event);
  };

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const event = await this.repository.findAtProvider(account.accountId, write.objectId);
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
    throw new ProviderError('rejected', 'The calendar of this event could not be created at the provider');
  }
  const content = toEventContent(event);
  const created = await port.createEvent(account, calendarProviderId, event.id, content, event.sequence);
  return {
    kind: 'written',
    store: async (sql, at) => {
      await store(sql, account, event.id, created, at);
      await storeSeen(sql, event, content, at);
      await storeRevision(sql, event, created);
    },
  };
}

/** Where an instance is at the provider, once its series is; null: its series never came there. */
function placeOf({ series, originalStart }: EventAtProvider): InstancePlace | null {
  if (!series?.providerId || !originalStart) return null;
  return { series: series.providerId, start: instanceStamp(originalStart.getTime(), series.allDay) };
}

async function writeInstance(
  port: CalendarPort,
  account: ProviderAccount,
  event: EventAtProvider,
): Promise<WriteOutcome> {
  // Rules that are on their way may be what makes it an instance.
  if (event.series?.busyUntil) return { kind: 'waits', until: event.series.busyUntil };
  const place = placeOf(event);
  if (!place) throw new ProviderError('rejected', 'Its recurring event could not be created at the provider');
  const content = toEventContent(event);
  const written = await port.writeInstance(account, place, content, event.providerContent, event.sequence);
  return {
    kind: 'written',
    store: async (sql, at) => {
      await store(sql, account, event.id, written, at);
      await storeSeen(sql, event, content, at);
      await storeRevision(sql, event, written);
    },
  };
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
async function takeBack(port: CalendarPort, account: ProviderAccount, event: EventAtProvider): Promise<void> {
  const place = placeOf(event);
  if (!place) return;
  const { providerId } = await port.writeInstance(account, place, toEventContent(event));
  await port.resetInstance(account, providerId);
}

const BRING_BACK = `
  update event set released = true
  where id = $1 and account_id = $2 and master_event_id is not null and provider_id is null and status = 'cancelled'`;

/** An instance that its provider would not delete is what its series says again; changed ones the mirror restores. */
async function bringBack(sql: Sql, { objectId, accountId }: FailedWrite): Promise<void> {
  await sql.query(BRING_BACK, [objectId, accountId]);
}

const STORE_OVER = `
  update event set provider_id = null, provider_version = version
  where master_event_id = $1 and account_id = $2 and released and provider_id = any($3::text[])`;

/** Changed instances that are over are not at the provider any more. */
async function storeOver(sql: Sql, { id, accountId, over }: EventAtProvider): Promise<void> {
  if (over.length > 0) await sql.query(STORE_OVER, [id, accountId, over]);
}

const STORE_SEEN = `
  update event set provider_content = $2, provider_version = $3, provider_seen_at = $4 where id = $1`;

/** Stores what the provider has now, and which version of ours that is: later ones may be on their way already. */
async function storeSeen(
  sql: Sql,
  { id, version }: EventAtProvider,
  content: EventContent | null,
  at: Date,
): Promise<void> {
  await sql.query(STORE_SEEN, [id, content && JSON.stringify(content), version, at]);
}

const STORE_REVISION = `
  with told as (
    update invitation set sequence = sequence + $2 where event_id = $1 and content is not null)
  update event set sequence = sequence + $2 where id = $1`;

/**
 * Others have counted on meanwhile: the mails about the change, which follow it, say what the provider's copy says, and so do
 * those about later ones (RFC 5546 2.1.4).
 */
async function storeRevision(
  sql: Sql,
  { id, sequence: asked }: EventAtProvider,
  { sequence: got = asked }: WrittenRevision,
): Promise<void> {
  if (got > asked) await sql.query(STORE_REVISION, [id, got - asked]);
}

const DELETE_TWINS = `
  delete from event where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update event set provider_id = $3, ical_uid = $4
  where id = $1 and account_id = $2 and provider_id is null returning id`;

/** Instances that were changed before their series was there. */
const STORE_SERIES = `
  update event set master_provider_id = $3
  where master_event_id = $1 and account_id = $2 and master_provider_id is distinct from $3`;

/** Stores the provider's ids; the UID is something readers see. */
async function store(
  sql: Sql,
  { accountId, applicationId }: ProviderAccount,
  eventId: string,
  { providerId, icalUid }: WrittenEvent,
  at: Date,
): Promise<void> {
  const key = [eventId, accountId, providerId];
  // The mirror may have met the event at the provider before we knew its id: then there are two rows of it.
  const twins = await sql.query<{ id: string }>(DELETE_TWINS, key);
  const stored = await sql.query<{ id: string }>(STORE, [...key, icalUid]);
  await sql.query(STORE_SERIES, [eventId, accountId, providerId]);
  const change = { applicationId, accountId, object: 'event' as const, at };
  await recordChanges(sql, [
    ...twins.map(({ id }) => ({ ...change, objectId: id, event: 'delete' as const })),
    ...stored.map(({ id }) => ({ ...change, objectId: id, event: 'modify' as const })),
  ]);
}
