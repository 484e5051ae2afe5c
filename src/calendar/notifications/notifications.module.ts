import { Global, Module } from '@nestjs/common';
import { AccountListeners } from '../../accounts/grants/account-listeners.ts';
import { GrantsModule } from '../../accounts/grants/grants.module.ts';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { QuotasModule } from '../../platform/quotas/quotas.module.ts';
import { SmsModule } from '../sms/sms.module.ts';
import { EventsModule } from '../events/events.module.ts';
import { EventReminders } from '../events/ports/event-reminders.ts';
import { EmailReminderSender } from './send/email-sender.ts';
import { NotificationsController } from './notifications.controller.ts';
import { ReminderDispatcher } from './send/reminder-dispatcher.ts';
import { ReminderOutcomes } from './send/reminder-outcomes.ts';
import { ReminderPlanner } from './plan/reminder-planner.ts';
import { REMINDERS_OF_ACCOUNT, ReminderRepository } from './reminder.repository.ts';
import { RemindersOfEvents } from './plan/reminders-of-events.ts';
import { RemindersService } from './reminders.service.ts';
import { SmsReminderSender } from './send/sms-sender.ts';
import { WebhookReminderSender } from './send/webhook-sender.ts';

/**
 * Reminders of events: planned together with the event, sent when due, and listed with their
 * status. Global, because it imports `EventsModule` and provides `EventReminders` to it (ADR 0105).
 */
@Global()
@Module({
  imports: [EventsModule, GrantsModule, ProvidersModule, QuotasModule, SmsModule],
  controllers: [NotificationsController],
  providers: [
    ReminderOutcomes,
    ReminderPlanner,
    ReminderRepository,
    RemindersService,
    ReminderDispatcher,
    { provide: EventReminders, useClass: RemindersOfEvents },
    EmailReminderSender,
    SmsReminderSender,
    WebhookReminderSender,
  ],
  exports: [EventReminders, ReminderPlanner, ReminderDispatcher],
})
export class NotificationsModule {
  constructor(accounts: AccountListeners) {
    accounts.add(REMINDERS_OF_ACCOUNT);
  }
}
