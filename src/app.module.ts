import { type DynamicModule, Module } from '@nestjs/common';
import { AccountsModule } from './accounts/accounts.module.ts';
import { ApplicationsModule } from './applications/applications.module.ts';
import { AuthModule } from './auth/auth.module.ts';
import { AvailabilityModule } from './availability/availability.module.ts';
import { CalendarsModule } from './calendars/calendars.module.ts';
import { WorkThreadsModule } from './common/threads/work-threads.module.ts';
import type { Clock } from './common/time/clock.ts';
import type { AppConfig } from './config/app-config.ts';
import { ConfigModule } from './config/config.module.ts';
import type { LogDestination } from './config/log-destination.ts';
import { ConnectModule } from './connect/connect.module.ts';
import { ContactsModule } from './contacts/contacts.module.ts';
import { DatabaseModule } from './database/database.module.ts';
import { DeltasModule } from './deltas/deltas.module.ts';
import { DraftsModule } from './drafts/drafts.module.ts';
import { EventsModule } from './events/events.module.ts';
import { FeedsModule } from './feeds/feeds.module.ts';
import { FilesModule } from './files/files.module.ts';
import { FoldersModule } from './folders/folders.module.ts';
import { GrantsModule } from './grants/grants.module.ts';
import { HealthModule } from './health/health.module.ts';
import { HttpModule } from './http/http.module.ts';
import { IntegrationsModule } from './integrations/integrations.module.ts';
import { InvitationsModule } from './invitations/invitations.module.ts';
import { JobStatusesModule } from './job-statuses/job-statuses.module.ts';
import { KeysModule } from './keys/keys.module.ts';
import { MessagesModule } from './messages/messages.module.ts';
import { NeuralModule } from './neural/neural.module.ts';
import { NotificationsModule } from './notifications/notifications.module.ts';
import { OutboxModule } from './outbox/outbox.module.ts';
import { ProvidersModule } from './providers/providers.module.ts';
import { ConferencingModule } from './conferencing/conferencing.module.ts';
import { RelayModule } from './relay/relay.module.ts';
import { ResourcesModule } from './resources/resources.module.ts';
import { RsvpModule } from './rsvp/rsvp.module.ts';
import { SchedulerModule } from './scheduler/scheduler.module.ts';
import { SearchModule } from './search/search.module.ts';
import { SendModule } from './send/send.module.ts';
import { SmsModule } from './sms/sms.module.ts';
import { SyncModule } from './sync/sync.module.ts';
import { ThreadsModule } from './threads/threads.module.ts';
import { TrackingModule } from './tracking/tracking.module.ts';
import { WebhooksModule } from './webhooks/webhooks.module.ts';

/** What a test may replace. */
export interface AppOverrides {
  clock?: Clock;
  /** Where the log goes instead of standard output. */
  logTo?: LogDestination;
}

/** Every room of the house; nothing else. */
@Module({})
export class AppModule {
  static register(config: AppConfig, overrides: AppOverrides = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.register(config, overrides.logTo),
        DatabaseModule.register(config, overrides.clock),
        WorkThreadsModule,
        KeysModule,
        HttpModule,
        AuthModule,
        ProvidersModule,
        ApplicationsModule,
        IntegrationsModule,
        GrantsModule,
        ConnectModule,
        AccountsModule,
        SearchModule,
        MessagesModule,
        ThreadsModule,
        FoldersModule,
        DraftsModule,
        FilesModule,
        RelayModule,
        ConferencingModule,
        OutboxModule,
        SendModule,
        JobStatusesModule,
        WebhooksModule,
        AvailabilityModule,
        ResourcesModule,
        CalendarsModule,
        ContactsModule,
        EventsModule,
        RsvpModule,
        InvitationsModule,
        FeedsModule,
        NotificationsModule,
        SmsModule,
        NeuralModule,
        DeltasModule,
        SyncModule,
        TrackingModule,
        HealthModule,
        SchedulerModule,
      ],
    };
  }
}
