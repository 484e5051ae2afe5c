import { type DynamicModule, Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/account-management/accounts.module.ts';
import { ApplicationsModule } from '../accounts/applications/applications.module.ts';
import { AuthModule } from '../platform/auth/auth.module.ts';
import { AvailabilityModule } from '../calendar/availability/availability.module.ts';
import { BodyObjectsModule } from '../mail/messages/objects/body-objects.module.ts';
import { CalendarsModule } from '../calendar/calendars/calendars.module.ts';
import { WorkThreadsModule } from '../platform/threads/work-threads.module.ts';
import type { Clock } from '../platform/base/time/clock.ts';
import type { AppConfig } from '../platform/config/app-config.ts';
import { ConfigModule } from '../platform/platform.module.ts';
import type { LogDestination } from '../platform/config/log-destination.ts';
import { ConnectModule } from '../accounts/connect/connect.module.ts';
import { CredentialsModule } from '../accounts/grants/credentials/credentials.module.ts';
import { ormConfig } from './mikro-orm.config.ts';
import { ContactsModule } from '../contacts/contacts.module.ts';
import { DatabaseModule } from '../platform/database/database.module.ts';
import { DeltasModule } from '../deltas/deltas.module.ts';
import { DraftsModule } from '../mail/drafts/drafts.module.ts';
import { EventsModule } from '../calendar/events/events.module.ts';
import { FeedsModule } from '../calendar/feeds/feeds.module.ts';
import { FilesModule } from '../mail/files/files.module.ts';
import { FoldersModule } from '../mail/folders/folders.module.ts';
import { GrantsModule } from '../accounts/grants/grants.module.ts';
import { HealthModule } from '../platform/health/health.module.ts';
import { HttpModule } from '../platform/http/http.module.ts';
import { IntegrationsModule } from '../accounts/integrations/integrations.module.ts';
import { InvitationsModule } from '../calendar/invitations/invitations.module.ts';
import { JobStatusesModule } from '../job-statuses/job-statuses.module.ts';
import { KeysModule } from './keys/keys.module.ts';
import { LogLevelModule } from '../operator/log-level/log-level.module.ts';
import { MovesModule } from '../platform/moves/moves.module.ts';
import { LogLevelsModule } from '../platform/log-level/log-level.module.ts';
import { MessagesModule } from '../mail/messages/messages.module.ts';
import { MetricsModule } from '../platform/metrics/metrics.module.ts';
import { NeuralModule } from '../mail/neural/neural.module.ts';
import { NotificationsModule } from '../calendar/notifications/notifications.module.ts';
import { OperatorAuditModule } from '../operator/audit/operator-audit.module.ts';
import { OperatorAccessModule } from '../operator/access/operator-access.module.ts';
import { OperatorAccountsModule } from '../operator/accounts/operator-accounts.module.ts';
import { OperatorApplicationsModule } from '../operator/applications/operator-applications.module.ts';
import { OperatorApiUseModule } from '../operator/api-use/operator-api-use.module.ts';
import { OperatorCapacityModule } from '../operator/capacity/operator-capacity.module.ts';
import { OutboxModule } from '../mail/outbox/outbox.module.ts';
import { OperatorJobsModule } from '../operator/jobs/operator-jobs.module.ts';
import { OperatorWebhooksModule } from '../operator/webhooks/operator-webhooks.module.ts';
import { OverviewModule } from '../operator/overview/overview.module.ts';
import { PushModule } from '../accounts/push/push.module.ts';
import { ProvidersModule } from '../providers/providers.module.ts';
import { ConsoleModule } from '../operator/console/console.module.ts';
import { ConferencingModule } from '../calendar/conferencing/conferencing.module.ts';
import { RelayModule } from '../mail/relay/relay.module.ts';
import { ResourcesModule } from '../calendar/resources/resources.module.ts';
import { RsvpModule } from '../calendar/rsvp/rsvp.module.ts';
import { SchedulerModule } from './scheduler/scheduler.module.ts';
import { SearchModule } from '../mail/search/search.module.ts';
import { SendModule } from '../mail/send/send.module.ts';
import { SmsModule } from '../calendar/sms/sms.module.ts';
import { SyncModule } from '../sync/sync.module.ts';
import { ThreadsModule } from '../mail/threads/threads.module.ts';
import { TrackingModule } from '../mail/tracking/tracking.module.ts';
import { WebhooksModule } from '../platform/webhooks/webhooks.module.ts';
import { WriteBackModule } from '../mail/write-back/write-back.module.ts';

/** The parts that a test may replace. */
export interface AppOverrides {
  clock?: Clock;
  /** Destination of the log instead of standard output. */
  logTo?: LogDestination;
}

/** Imports every module of the application and contains nothing else. */
@Module({})
export class AppModule {
  static register(config: AppConfig, overrides: AppOverrides = {}): DynamicModule {
    const { database } = config;
    return {
      module: AppModule,
      imports: [
        ConfigModule.register(config, overrides.logTo),
        DatabaseModule.register(
          config,
          ormConfig(database.url, database.pools.orm),
          overrides.clock,
        ),
        // Express tries routes in their order, so those of the most frequent requests come first.
        SearchModule,
        MessagesModule,
        BodyObjectsModule,
        ThreadsModule,
        OutboxModule,
        JobStatusesModule,
        EventsModule,
        MetricsModule,
        WorkThreadsModule,
        // Notices whether commits end, before the first module writes at its start.
        HealthModule,
        KeysModule,
        HttpModule,
        AuthModule,
        CredentialsModule,
        ProvidersModule,
        ApplicationsModule,
        IntegrationsModule,
        GrantsModule,
        ConnectModule,
        AccountsModule,
        PushModule,
        FoldersModule,
        WriteBackModule,
        DraftsModule,
        FilesModule,
        RelayModule,
        ConferencingModule,
        SendModule,
        WebhooksModule,
        AvailabilityModule,
        ResourcesModule,
        CalendarsModule,
        ContactsModule,
        RsvpModule,
        InvitationsModule,
        FeedsModule,
        NotificationsModule,
        SmsModule,
        NeuralModule,
        DeltasModule,
        SyncModule,
        TrackingModule,
        OperatorAccessModule,
        OperatorAuditModule,
        OperatorJobsModule,
        OperatorWebhooksModule,
        LogLevelsModule,
        MovesModule,
        LogLevelModule,
        SchedulerModule.register(config),
        OperatorAccountsModule,
        OperatorApplicationsModule,
        OperatorApiUseModule,
        OperatorCapacityModule,
        OverviewModule,
        ConsoleModule,
      ],
    };
  }
}
