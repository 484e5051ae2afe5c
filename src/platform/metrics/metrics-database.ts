import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { SqlPool } from '../database/sql.ts';

/** A slow statement must not burden the database again and again. */
const STATEMENT_MS = 2_000;
const CONNECTIONS = 2;

/**
 * Connections for statements about the state of the installation. They are few and their own, so
 * that these statements neither wait for the pools that they describe nor take from them. A
 * statement may take two seconds and uses indexes even if its tables were empty when it was
 * planned.
 */
@Injectable()
export class MetricsDatabase extends SqlPool implements OnApplicationShutdown {
  constructor(@Inject(APP_CONFIG) { database }: AppConfig) {
    super({
      url: database.url,
      max: CONNECTIONS,
      statementTimeoutMs: STATEMENT_MS,
      applicationName: 'carillon-metrics',
      steadyPlans: true,
      transactionPooling: database.transactionPooling,
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
