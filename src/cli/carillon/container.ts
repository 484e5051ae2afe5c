import {
  type DynamicModule,
  type INestApplicationContext,
  Module,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApplicationsModule } from '../../accounts/applications/applications.module.ts';
import { CredentialsModule } from '../../accounts/grants/credentials/credentials.module.ts';
import { ormConfig } from '../../app/mikro-orm.config.ts';
import { requireCurrentSchema } from '../../app/startup.ts';
import { AuthModule } from '../../platform/auth/auth.module.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import { DatabaseModule } from '../../platform/database/database.module.ts';
import { ConfigModule } from '../../platform/platform.module.ts';
import { withConfig } from './services.ts';

/** Services and database for operator commands, without HTTP and workers. */
@Module({})
class OperatorModule {
  static register(config: AppConfig, more: readonly Type[]): DynamicModule {
    const { database } = config;
    return {
      module: OperatorModule,
      imports: [
        ConfigModule.register(config),
        DatabaseModule.register(config, ormConfig(database.url, database.pools.orm)),
        AuthModule,
        CredentialsModule,
        ApplicationsModule,
        ...more,
      ],
    };
  }
}

/**
 * The operator's services on the database of a complete configuration. The caller closes the
 * context.
 * @param more modules that only this command needs
 */
export function createOperatorContext(
  config: AppConfig,
  more: readonly Type[] = [],
): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(OperatorModule.register(config, more), {
    logger: false,
    abortOnError: false,
  });
}

/**
 * Runs `work` with services of Nest's container, then closes everything. Takes a second to load:
 * use it only for services that need the ORM or providers, and `withServices` for everything else.
 * @param more modules that only this command needs
 * @throws {SchemaBehindError} and the errors of `withConfig`
 */
export function withContainer<T>(
  environment: Readonly<Record<string, string | undefined>>,
  work: (context: INestApplicationContext) => Promise<T>,
  more: readonly Type[] = [],
): Promise<T> {
  return withConfig(environment, async (config) => {
    await requireCurrentSchema(config.database);
    const context = await createOperatorContext(config, more);
    try {
      return await work(context);
    } finally {
      await context.close();
    }
  });
}
