import { Injectable } from '@nestjs/common';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Page } from '../../platform/database/listing.ts';
import { EventReader } from '../events/event-reader.ts';
import type { ReminderInfo } from './reminder-info.ts';
import { ReminderRepository } from './reminder.repository.ts';

/** Lists the reminders of an event for its owner. */
@Injectable()
export class RemindersService {
  constructor(
    private readonly events: EventReader,
    private readonly repository: ReminderRepository,
  ) {}

  /**
   * The reminders of an event with their status, ordered by due time. Includes reminders for
   * earlier times of the event.
   * @throws {NotFoundError}
   */
  async list(accountId: string, eventId: string, page: Page): Promise<ReminderInfo[]> {
    const event = await this.events.get(accountId, eventId);
    // Instances of recurring events have no reminders.
    return isId(event.id) ? this.repository.listForEvent(accountId, event.id, page) : [];
  }
}
