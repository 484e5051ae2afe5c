import { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../common/errors/domain-error.ts';
import type { Page } from '../common/http/pagination.schema.ts';
import { isId } from '../common/ids/ids.ts';
import type { ReminderInfo } from '../notifications/reminder-info.ts';
import { Reminders } from '../notifications/reminders.service.ts';
import { Event } from './event.entity.ts';

/** The fates of an event's reminders, for those who may see the event. */
@Injectable()
export class EventReminders {
  constructor(
    private readonly em: EntityManager,
    private readonly reminders: Reminders,
  ) {}

  /** Cancelled events keep theirs. @throws {NotFoundError} unless the account has the event */
  async list(accountId: string, eventId: string, page: Page): Promise<ReminderInfo[]> {
    const known = isId(eventId) && (await this.em.count(Event, { id: eventId, account: accountId })) > 0;
    if (!known) throw new NotFoundError('event', eventId);
    return this.reminders.listForEvent(accountId, eventId, page);
  }
}
