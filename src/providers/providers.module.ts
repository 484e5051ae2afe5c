import { Module } from '@nestjs/common';
import { Clock } from '../common/time/clock.ts';
import { Database } from '../database/sql.ts';
import { ConnectorRegistry } from './connector-registry.ts';
import { SandboxConnector } from './sandbox/sandbox.connector.ts';

/** The connectors there are. A new provider adds one line here and its name to `provider-name.ts`. */
@Module({
  providers: [
    {
      provide: ConnectorRegistry,
      inject: [Database, Clock],
      useFactory: (database: Database, clock: Clock) =>
        new ConnectorRegistry([new SandboxConnector(database, clock)]),
    },
  ],
  exports: [ConnectorRegistry],
})
export class ProvidersModule {}
