import { Module, type OnModuleInit } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { AnyDispatcher } from '../common/work/dispatcher.ts';
import { Readiness } from '../common/work/readiness.ts';
import { ProviderWriteDispatcher } from '../job-statuses/provider-write-dispatcher.ts';
import { ProviderWritesModule } from '../job-statuses/provider-writes.module.ts';
import { NotificationsModule } from '../notifications/notifications.module.ts';
import { ReminderDispatcher } from '../notifications/reminder-dispatcher.ts';
import { OutboxModule } from '../outbox/outbox.module.ts';
import { SendDispatcher } from '../outbox/send-dispatcher.ts';
import { MailboxSyncDispatcher } from '../sync/mailbox-sync-dispatcher.ts';
import { SyncModule } from '../sync/sync.module.ts';
import { WebhookDispatcher } from '../webhooks/webhook-dispatcher.ts';
import { WebhooksModule } from '../webhooks/webhooks.module.ts';
import { DISPATCHERS, Engine } from './engine.ts';
import { Maintenance } from './maintenance.ts';
import { Notifier } from './notifier.ts';

/** The engine, its tick, and the table of queues: one dispatcher per queue. */
@Module({
  imports: [
    ScheduleModule.forRoot(),
    OutboxModule,
    ProviderWritesModule,
    NotificationsModule,
    SyncModule,
    WebhooksModule,
  ],
  providers: [
    {
      provide: DISPATCHERS,
      inject: [
        SendDispatcher,
        ProviderWriteDispatcher,
        ReminderDispatcher,
        MailboxSyncDispatcher,
        WebhookDispatcher,
      ],
      useFactory: (...dispatchers: AnyDispatcher[]) => dispatchers,
    },
    Engine,
    Notifier,
    Maintenance,
  ],
  exports: [Engine],
})
export class SchedulerModule implements OnModuleInit {
  constructor(
    private readonly engine: Engine,
    private readonly readiness: Readiness,
  ) {}

  onModuleInit(): void {
    this.readiness.register('instance', () => this.engine.instanceProblem);
    this.readiness.register('engine', () => (this.engine.healthy ? null : 'has not ticked for ten seconds'));
  }
}
