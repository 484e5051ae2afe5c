import { Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { QuotasModule } from '../../platform/quotas/quotas.module.ts';
import { SmsModule } from '../sms/sms.module.ts';
import { EventStoreModule } from '../events/event-store.module.ts';
import { EmailReminderSender } from './email-sender.ts';
import { NotificationsController } from './notifications.controller.ts';
import { ReminderDispatcher } from './reminder-dispatcher.ts';
import { ReminderPlanner } from './reminder-planner.ts';
import { REMINDERS_OF_ACCOUNT, ReminderRepository } from './reminder.repository.ts';
import { Reminders } from './reminders.service.ts';
import { SmsReminderSender } from './sms-sender.ts';
import { WebhookReminderSender } from './webhook-sender.ts';

/**
 * Reminders of events: planned together with the event, sent when due, and listed with their
 * status.
 */
@Module({
  imports: [EventStoreModule, GrantsModule, ProvidersModule, QuotasModule, SmsModule],
  controllers: [NotificationsController],
  providers: [
    ReminderPlanner,
    ReminderRepository,
    Reminders,
    ReminderDispatcher,
    EmailReminderSender,
    SmsReminderSender,
    WebhookReminderSender,
  ],
  exports: [ReminderPlanner, ReminderDispatcher],
})
export class NotificationsModule {
  constructor(accounts: AccountListeners) {
    accounts.add(REMINDERS_OF_ACCOUNT);
  }
}
