import { Module } from '@nestjs/common';
import { EgressClient } from '../common/egress/egress-client.ts';
import { EgressPolicy } from '../common/egress/egress-policy.ts';
import { Clock } from '../common/time/clock.ts';
import { Database } from '../database/sql.ts';
import { ConnectorRegistry } from './connector-registry.ts';
import { RelayTransports } from './relay-registry.ts';
import { SandboxConnector } from './sandbox/sandbox.connector.ts';
import { SendGridRelay } from './sendgrid/sendgrid.relay.ts';
import { SmtpSender } from './smtp/smtp-sender.ts';
import { SmtpRelay } from './smtp/smtp.relay.ts';

/**
 * The connectors and mailing services there are. A new provider adds one line here and its name to `provider-name.ts`.
 */
@Module({
  providers: [
    {
      provide: ConnectorRegistry,
      inject: [Database, Clock],
      useFactory: (database: Database, clock: Clock) =>
        new ConnectorRegistry([new SandboxConnector(database, clock)]),
    },
    {
      provide: SmtpSender,
      inject: [EgressPolicy],
      useFactory: (policy: EgressPolicy) => new SmtpSender(policy),
    },
    {
      provide: RelayTransports,
      inject: [EgressClient, Clock, SmtpSender],
      useFactory: (egress: EgressClient, clock: Clock, smtp: SmtpSender) =>
        new RelayTransports([new SendGridRelay(egress, clock), new SmtpRelay(smtp)]),
    },
  ],
  exports: [ConnectorRegistry, RelayTransports],
})
export class ProvidersModule {}
