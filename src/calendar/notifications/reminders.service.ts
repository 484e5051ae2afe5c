import { Injectable } from '@nestjs/common';
import type { Page } from '../../platform/database/listing.ts';
import type { ReminderInfo } from './reminder-info.ts';
import { ReminderRepository } from './reminder.repository.ts';

/** What the owner of an event may know about its reminders. */
@Injectable()
export class Reminders {
  constructor(private readonly repository: ReminderRepository) {}

  /**
   * The reminders of an event with their fates, by due time; also those of earlier times of the event. Whether the
   * event exists is the caller's business.
   */
  listForEvent(accountId: string, eventId: string, page: Page): Promise<ReminderInfo[]> {
    return this.repository.listForEvent(accountId, eventId, page);
  }
}
