import { Module } from '@nestjs/common';
import { BudgetsModule } from '../platform/budgets/budgets.module.ts';
import { ProviderBudget } from '../platform/budgets/provider-budget.ts';
import { EgressClient } from '../platform/egress/egress-client.ts';
import { EgressPolicy } from '../platform/egress/egress-policy.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { WorkThreads } from '../platform/threads/work-threads.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { Database } from '../platform/database/sql.ts';
import { ConferencingDrivers } from './port/conferencing-registry.ts';
import { ConnectorRegistry } from './port/connector-registry.ts';
import { GoogleConnector } from './google/google.connector.ts';
import { ImapDiscovery } from './imap/discovery/imap-discovery.ts';
import { ImapConnector } from './imap/imap.connector.ts';
import { MailDiscovery } from './port/sign-in/mail-discovery.ts';
import { MeetingLinks } from './meeting-link/meeting-link.driver.ts';
import { MicrosoftConnector } from './microsoft/microsoft.connector.ts';
import { RelayTransports } from './port/mail/relay-registry.ts';
import { SandboxConnector } from './sandbox/sandbox.connector.ts';
import { SendGridRelay } from './sendgrid/sendgrid.relay.ts';
import { SmtpSender } from './smtp/smtp-sender.ts';
import { SmtpRelay } from './smtp/smtp.relay.ts';
import { VirtualConnector } from './virtual/virtual.connector.ts';
import { ZoomMeetings } from './zoom/zoom.driver.ts';

/**
 * Registers all connectors, mailing services and conferencing services. To add a provider, add its
 * connector here.
 */
@Module({
  imports: [BudgetsModule],
  providers: [
    {
      provide: ConnectorRegistry,
      inject: [
        Database,
        Clock,
        EgressPolicy,
        EgressClient,
        SmtpSender,
        MailDiscovery,
        APP_CONFIG,
        WorkThreads,
        ProviderBudget,
      ],
      useFactory: (
        database: Database,
        clock: Clock,
        policy: EgressPolicy,
        egress: EgressClient,
        smtp: SmtpSender,
        discovery: MailDiscovery,
        { imap, sandbox, budgets, companies }: AppConfig,
        threads: WorkThreads,
        budget: ProviderBudget,
      ) =>
        new ConnectorRegistry([
          new SandboxConnector(database, clock, threads, sandbox),
          new GoogleConnector({
            policy,
            clock,
            threads,
            budget,
            limits: budgets.gmail,
            address: companies.google,
          }),
          new MicrosoftConnector({
            policy,
            clock,
            threads,
            budget,
            limits: budgets.graph,
            addresses: companies.microsoft,
          }),
          new ImapConnector({
            policy,
            egress,
            clock,
            smtp,
            discovery,
            threads,
            limits: { perAccount: imap.connectionsPerAccount, perHost: imap.connectionsPerHost },
          }),
          new VirtualConnector(),
        ]),
    },
    {
      provide: MailDiscovery,
      inject: [EgressPolicy, EgressClient, APP_CONFIG],
      useFactory: (policy: EgressPolicy, egress: EgressClient, { ispdbUrl }: AppConfig) =>
        new ImapDiscovery(policy, egress, { ispdbUrl }),
    },
    {
      provide: SmtpSender,
      inject: [EgressPolicy],
      useFactory: (policy: EgressPolicy) => new SmtpSender(policy),
    },
    {
      provide: RelayTransports,
      inject: [EgressClient, Clock, SmtpSender, WorkThreads],
      useFactory: (egress: EgressClient, clock: Clock, smtp: SmtpSender, threads: WorkThreads) =>
        new RelayTransports([new SendGridRelay(egress, clock, threads), new SmtpRelay(smtp)]),
    },
    {
      provide: ConferencingDrivers,
      inject: [EgressClient, Clock],
      useFactory: (egress: EgressClient, clock: Clock) =>
        new ConferencingDrivers([new MeetingLinks(), new ZoomMeetings(egress, clock)]),
    },
  ],
  exports: [ConferencingDrivers, ConnectorRegistry, MailDiscovery, RelayTransports],
})
export class ProvidersModule {}
