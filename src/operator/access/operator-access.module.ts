import { Global, Module } from '@nestjs/common';
import { AuthModule } from '../../platform/auth/auth.module.ts';
import { OauthModule } from '../../accounts/oauth/oauth.module.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import { AdminMeController } from './admin-me.controller.ts';
import { OperatorCredentials } from './operator-credentials.ts';
import { OperatorLinksService } from './operator-links.service.ts';
import { OperatorOidcService } from './operator-oidc.service.ts';
import { OperatorSessionsService } from './sessions/operator-sessions.service.ts';
import { OperatorTokensService } from './operator-tokens.service.ts';
import { OperatorsService } from './operators.service.ts';
import { OperatorSessionStrategy } from './strategies/operator-session.strategy.ts';
import { OperatorTokenStrategy } from './strategies/operator-token.strategy.ts';

/**
 * Operators, their sessions and tokens. Global, because the guard of every controller for operators
 * needs it.
 */
@Global()
@Module({
  imports: [AuthModule, OauthModule],
  controllers: [AdminMeController],
  providers: [
    OperatorTokenStrategy,
    OperatorSessionStrategy,
    OperatorCredentials,
    OperatorSessionsService,
    OperatorOidcService,
    // Plain classes, because commands use them without the container.
    {
      provide: OperatorsService,
      inject: [Database, Clock, APP_CONFIG],
      useFactory: (database: Database, clock: Clock, { operator }: AppConfig) =>
        new OperatorsService(database, clock, operator.oidc?.issuer ?? null),
    },
    {
      provide: OperatorTokensService,
      inject: [Database, Clock],
      useFactory: (database: Database, clock: Clock) => new OperatorTokensService(database, clock),
    },
    {
      provide: OperatorLinksService,
      inject: [Database, Clock, APP_CONFIG],
      useFactory: (database: Database, clock: Clock, { operator }: AppConfig) =>
        new OperatorLinksService(database, clock, operator.url),
    },
  ],
  exports: [
    OperatorCredentials,
    OperatorSessionsService,
    OperatorOidcService,
    OperatorsService,
    OperatorTokensService,
    OperatorLinksService,
  ],
})
export class OperatorAccessModule {}
