import { Module } from '@nestjs/common';
import { Clock } from '../common/time/clock.ts';
import { Database } from '../database/sql.ts';
import { ConnectorRegistry } from './connector-registry.ts';

/** The connectors there are. A new provider adds one line here and its name to `provider-name.ts`. */
@Module({
  providers: [
    {
      provide: ConnectorRegistry,
      inject: [Database, Clock],
      useFactory: (_database: Database, _clock: Clock) => new ConnectorRegistry([]),
    },
  ],
  exports: [ConnectorRegistry],
})
export class ProvidersModule {}
