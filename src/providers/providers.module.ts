import { Module } from '@nestjs/common';
import { EgressClient } from '../common/egress/egress-client.ts';
import { Clock } from '../common/time/clock.ts';
import { Database } from '../database/sql.ts';
import { ConnectorRegistry } from './connector-registry.ts';
import { RelayTransports } from './relay-registry.ts';
import { SandboxConnector } from './sandbox/sandbox.connector.ts';
import { SendGridRelay } from './sendgrid/sendgrid.relay.ts';

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
      provide: RelayTransports,
      inject: [EgressClient, Clock],
      useFactory: (egress: EgressClient, clock: Clock) =>
        new RelayTransports([new SendGridRelay(egress, clock)]),
    },
  ],
  exports: [ConnectorRegistry, RelayTransports],
})
export class ProvidersModule {}
