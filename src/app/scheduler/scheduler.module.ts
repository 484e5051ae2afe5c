import { type DynamicModule, Module, type OnModuleInit } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { AnyDispatcher } from '../../platform/work/queue/dispatcher.ts';
import { Readiness } from '../../platform/work/readiness.ts';
import { ProviderWriteDispatcher } from '../../accounts/provider-writes/provider-write-dispatcher.ts';
import { ProviderWritesModule } from '../../accounts/provider-writes/provider-writes.module.ts';
import { WebhookMailsModule } from '../../accounts/webhook-mails/webhook-mails.module.ts';
import { NotificationsModule } from '../../calendar/notifications/notifications.module.ts';
import { ReminderDispatcher } from '../../calendar/notifications/send/reminder-dispatcher.ts';
import { OutboxModule } from '../../mail/outbox/outbox.module.ts';
import { SendDispatcher } from '../../mail/outbox/send/send-dispatcher.ts';
import { MailboxSyncDispatcher } from '../../sync/mailbox-sync-dispatcher.ts';
import { SyncModule } from '../../sync/sync.module.ts';
import { WebhookDispatcher } from '../../platform/webhooks/delivery/webhook-dispatcher.ts';
import { WebhooksModule } from '../../platform/webhooks/webhooks.module.ts';
import { DISPATCHERS, Engine } from '../../platform/work/engine.ts';
import { AccountFills } from './account-fills.ts';
import { Maintenance } from './maintenance.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import { WorkOfProcesses, WorkOfWorkers } from './recurring-work.ts';
import { TaskRuns } from './task-runs.ts';
import { Notifier } from '../../platform/work/notifier.ts';

/**
 * The engine, one dispatcher for each queue, and the cron jobs of `recurring-work.ts`. Processes
 * without the role `worker` have only the jobs of every process.
 */
@Module({
  imports: [
    ScheduleModule.forRoot(),
    OutboxModule,
    ProviderWritesModule,
    NotificationsModule,
    SyncModule,
    WebhooksModule,
    WebhookMailsModule,
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
    AccountFills,
    TaskRuns,
    WorkOfProcesses,
  ],
  exports: [Engine],
})
export class SchedulerModule implements OnModuleInit {
  static register({ roles }: Pick<AppConfig, 'roles'>): DynamicModule {
    return { module: SchedulerModule, providers: roles.includes('worker') ? [WorkOfWorkers] : [] };
  }

  constructor(
    private readonly engine: Engine,
    private readonly readiness: Readiness,
  ) {}

  onModuleInit(): void {
    this.readiness.register('instance', () => this.engine.instanceProblem);
    this.readiness.register('engine', () => this.engine.stallProblem);
  }
}
