import type { EventSubscriber, TransactionEventArgs } from '@mikro-orm/core';
import { MikroOrmModule } from '@mikro-orm/nestjs';
import { MikroORM, type Options } from '@mikro-orm/postgresql';
import {
  type DynamicModule,
  Global,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import type pg from 'pg';
import { Clock } from '../base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { DatabaseClock } from './health/database-clock.ts';
import { connectionTo } from './database-hosts.ts';
import { returnLostConnections } from './health/lost-connections.ts';
import { listPool } from './open-pools.ts';
import { RequestContexts } from './request-contexts.ts';
import { answerLimitMs, connectionOptions, types } from './connections.ts';
import { transactionCommitted } from './orm-transactions.ts';
import { Database } from './sql.ts';
import { ReadDatabase } from './replicas/read-database.ts';
import { StandbyReads } from './replicas/standby-reads.ts';
import { TimelineWatch } from './health/timeline-watch.ts';

/** Maximum time that a statement of a request may run. */
const REQUEST_STATEMENT_MS = 15_000;

/**
 * Gives each request its entity manager, and runs `afterCommit` work when a transaction of the ORM
 * has committed.
 */
@Injectable()
class OrmWiring implements EventSubscriber, OnModuleInit {
  constructor(
    private readonly orm: MikroORM,
    private readonly requests: RequestContexts,
  ) {}

  onModuleInit(): void {
    this.requests.forkFrom(this.orm.em);
    this.orm.em.getEventManager().registerSubscriber(this);
  }

  afterTransactionCommit({ transaction }: TransactionEventArgs): void {
    if (transaction) transactionCommitted(transaction);
  }
}

@Injectable()
class DatabaseCloser implements OnApplicationShutdown {
  constructor(@Inject(Database) private readonly database: Database) {}

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
  }
}

/** The ORM, the request pool and the clock. Global, because every module needs them. */
@Global()
@Module({})
export class DatabaseModule {
  /**
   * @param orm the ORM's options: entities and migrations
   * @param clock replaces the database's clock, for tests
   */
  static register(config: AppConfig, orm: Options, clock?: Clock): DynamicModule {
    const requests = new RequestContexts();
    return {
      module: DatabaseModule,
      imports: [
        MikroOrmModule.forRoot({
          ...orm,
          registerRequestContext: false,
          context: requests.find,
          driverOptions: {
            ...connectionOptions({
              statementTimeoutMs: REQUEST_STATEMENT_MS,
              transactionPooling: config.database.transactionPooling,
            }),
            query_timeout: answerLimitMs(REQUEST_STATEMENT_MS),
            types,
            ...connectionTo(config.database.url),
            application_name: 'carillon-orm',
            onPoolCreated: (pool: pg.Pool) => {
              returnLostConnections(pool);
              listPool('carillon-orm', pool);
            },
          },
        }),
      ],
      providers: [
        {
          provide: Database,
          inject: [APP_CONFIG],
          useFactory: ({ database }: AppConfig) =>
            new Database({
              url: database.url,
              max: database.pools.requests,
              transactionPooling: database.transactionPooling,
              statementTimeoutMs: REQUEST_STATEMENT_MS,
              applicationName: 'carillon',
            }),
        },
        {
          provide: ReadDatabase,
          inject: [APP_CONFIG, Database],
          useFactory: ({ database, roles }: AppConfig, primary: Database): ReadDatabase =>
            database.readUrl === null || !roles.includes('api')
              ? primary
              : new StandbyReads(primary, {
                  url: database.readUrl,
                  max: database.pools.requests,
                  statementTimeoutMs: REQUEST_STATEMENT_MS,
                  applicationName: 'carillon-reads',
                }),
        },
        DatabaseCloser,
        TimelineWatch,
        OrmWiring,
        { provide: RequestContexts, useValue: requests },
        clock ? { provide: Clock, useValue: clock } : { provide: Clock, useClass: DatabaseClock },
      ],
      exports: [Database, ReadDatabase, Clock],
    };
  }
}
