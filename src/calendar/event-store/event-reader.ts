import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Listing } from '../../platform/database/listing.ts';
import type { EventQuery } from './event-query.ts';
import type { EventRecord } from './event-record.ts';
import { EventsRepository } from './events.repository.ts';
import { ExpandedEvents } from './expanded-events.ts';
import { readInstanceId } from './recurrence/instances.ts';

/** Events of an account (spec 4.5), as the mirror has them. */
@Injectable()
export class EventReader {
  constructor(
    private readonly repository: EventsRepository,
    private readonly expanded: ExpandedEvents,
  ) {}

  /**
   * By start, earliest first; a recurring event once, or each of its instances. The `eventId` of an instance finds that one.
   * @throws {InvalidInputError} when there are too many instances
   */
  list(accountId: string, query: EventQuery): Promise<Listing<EventRecord>> {
    const isInstance = query.eventId !== undefined && readInstanceId(query.eventId) !== undefined;
    return (query.expandRecurring || isInstance ? this.expanded : this.repository).list(
      accountId,
      query,
    );
  }

  /** Those of the events that the account has, also cancelled ones, in no order. @throws {PageTooLargeError} */
  findMany(accountId: string, ids: readonly string[]): Promise<EventRecord[]> {
    return this.repository.findMany(accountId, ids);
  }

  /** Also cancelled ones, and instances of recurring events. @throws {NotFoundError} */
  async get(accountId: string, id: string): Promise<EventRecord> {
    const event = await (isId(id) ? this.repository : this.expanded).find(accountId, id);
    if (!event) throw new NotFoundError('event', id);
    return event;
  }
}
