import { MikroOrmModule } from '@mikro-orm/nestjs';
import {
  type DynamicModule,
  Global,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Clock } from '../common/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { ormConfig } from '../mikro-orm.config.ts';
import { DatabaseClock } from './database-clock.ts';
import { returnLostConnections } from './lost-connections.ts';
import { connectionLimits, Database } from './sql.ts';

/** How long a statement of a request may run. */
const REQUEST_STATEMENT_MS = 15_000;

@Injectable()
class DatabaseCloser implements OnApplicationShutdown {
  constructor(@Inject(Database) private readonly database: Database) {}

  async onApplicationShutdown(): Promise<void> {
    await this.database.close();
  }
}

/** The ORM, the request pool and the clock; global, because every room needs them. */
@Global()
@Module({})
export class DatabaseModule {
  /** @param clock replaces the database's clock (tests) */
  static register(config: AppConfig, clock?: Clock): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        MikroOrmModule.forRoot({
          ...ormConfig(config.database.url, config.database.poolSize),
          registerRequestContext: true,
          driverOptions: {
            ...connectionLimits(REQUEST_STATEMENT_MS),
            // As it is: the ORM itself drops what comes after the name of the database (sslmode).
            connectionString: config.database.url,
            application_name: 'carillon-orm',
            onPoolCreated: returnLostConnections,
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
              max: database.poolSize,
              statementTimeoutMs: REQUEST_STATEMENT_MS,
              applicationName: 'carillon',
            }),
        },
        DatabaseCloser,
        clock ? { provide: Clock, useValue: clock } : { provide: Clock, useClass: DatabaseClock },
      ],
      exports: [Database, Clock],
    };
  }
}
