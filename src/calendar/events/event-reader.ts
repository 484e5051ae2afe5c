import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing } from '../../platform/database/listing.ts';
import type { EventQuery } from './event-query.ts';
import type { EventRecord } from './event-record.ts';
import { EventsRepository } from './events.repository.ts';
import { ExpandedEvents } from './instances/expanded-events.ts';
import { readInstanceId } from './recurrence/instances.ts';

/** Reads an account's events from the mirror. */
@Injectable()
export class EventReader {
  constructor(
    private readonly repository: EventsRepository,
    private readonly expanded: ExpandedEvents,
  ) {}

  /**
   * Lists events by start, earliest first. A recurring event appears once, or as its instances if
   * `expandRecurring` is set. If `eventId` is the id of an instance, the list contains that
   * instance.
   * @throws {InvalidInputError} if there are too many instances, or the rules take too long to
   *   expand
   */
  list(accountId: string, query: EventQuery): Promise<Listing<EventRecord>> {
    const isInstance = query.eventId !== undefined && readInstanceId(query.eventId) !== undefined;
    return (query.expandRecurring || isInstance ? this.expanded : this.repository).list(
      accountId,
      query,
    );
  }

  /**
   * Returns those of the given events that the account has, in no particular order. Cancelled
   * events are included.
   * @throws {PageTooLargeError}
   */
  findMany(accountId: string, ids: readonly string[]): Promise<EventRecord[]> {
    return this.repository.findMany(accountId, ids);
  }

  /**
   * Returns those of the given events that lists contain, in no particular order: without cancelled
   * and deleted ones.
   * @throws {PageTooLargeError}
   */
  findListed(accountId: string, ids: readonly string[]): Promise<EventRecord[]> {
    return this.repository.findMany(accountId, ids, { listed: true });
  }

  /**
   * Returns an event or an instance of a recurring event, also if it is cancelled.
   * @throws {NotFoundError}
   */
  async get(accountId: string, id: string): Promise<EventRecord> {
    const event = await (isId(id) ? this.repository : this.expanded).find(accountId, id);
    if (!event) throw new NotFoundError('event', id);
    return event;
  }
}
