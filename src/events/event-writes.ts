import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Sql } from '../database/sql.ts';
import { recordChanges } from '../deltas/change-log.ts';
import {
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../job-statuses/provider-writes.ts';
import type { CalendarPort, ProviderAccount } from '../providers/connector.ts';
import { ProviderError } from '../providers/provider-error.ts';
import { toEventContent } from './events.mapper.ts';
import { type EventAtProvider, EventsRepository } from './events.repository.ts';

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
  ) {}

  onModuleInit(): void {
    this.writes.register('create_event', this.#write);
    this.writes.register('update_event', this.#write);
    this.writes.register('delete_event', this.#delete);
  }

  /** Creating and updating are one: an event whose creation failed is created by the change that repairs it. */
  readonly #write: ProviderWriteHandler = async (port, account, write) => {
    const event = await this.repository.findAtProvider(account.accountId, write.objectId);
    // Gone with its calendar, which the provider deletes as a whole.
    if (!event) return DELETED;
    if (event.status !== 'cancelled' && event.providerId) {
      await port.updateEvent(account, event.providerId, toEventContent(event));
      return { kind: 'written' };
    }
    // Deleted meanwhile. Where an attempt to create it may have gone through, the same key finds it again: the
    // deletion that waits behind this job then knows what to delete.
    if (event.status === 'cancelled' && (event.providerId || !write.mayHaveRun)) return DELETED;
    return create(port, account, event);
  };

  readonly #delete: ProviderWriteHandler = async (port, account, write) => {
    const event = await this.repository.findAtProvider(account.accountId, write.objectId);
    // Without an id it has never been at the provider.
    if (event?.providerId) await port.deleteEvent(account, event.providerId);
    return { kind: 'written' };
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
  const created = await port.createEvent(account, calendarProviderId, event.id, toEventContent(event));
  return { kind: 'written', store: (sql, at) => store(sql, account, event.id, created, at) };
}

const DELETE_TWINS = `
  delete from event where account_id = $2 and provider_id = $3 and id <> $1 returning id`;

const STORE = `
  update event set provider_id = $3, ical_uid = $4
  where id = $1 and account_id = $2 and provider_id is null returning id`;

/** Stores the provider's ids; the UID is something readers see. */
async function store(
  sql: Sql,
  { accountId, applicationId }: ProviderAccount,
  eventId: string,
  { providerId, icalUid }: { providerId: string; icalUid: string },
  at: Date,
): Promise<void> {
  const key = [eventId, accountId, providerId];
  // The mirror may have met the event at the provider before we knew its id: then there are two rows of it.
  const twins = await sql.query<{ id: string }>(DELETE_TWINS, key);
  const stored = await sql.query<{ id: string }>(STORE, [...key, icalUid]);
  const change = { applicationId, accountId, object: 'event' as const, at };
  await recordChanges(sql, [
    ...twins.map(({ id }) => ({ ...change, objectId: id, event: 'delete' as const })),
    ...stored.map(({ id }) => ({ ...change, objectId: id, event: 'modify' as const })),
  ]);
}
