import { Global, Module } from '@nestjs/common';
import { AuthModule } from '../../platform/auth/auth.module.ts';
import { OauthModule } from '../../accounts/oauth/oauth.module.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import { AdminMeController } from './admin-me.controller.ts';
import { OperatorCredentials } from './operator-credentials.ts';
import { OperatorLinks } from './operator-links.service.ts';
import { OperatorOidcSignIn } from './operator-oidc.service.ts';
import { OperatorSessions } from './sessions/operator-sessions.service.ts';
import { OperatorTokens } from './operator-tokens.service.ts';
import { Operators } from './operators.service.ts';
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
    OperatorSessions,
    OperatorOidcSignIn,
    // Plain classes, because commands use them without the container.
    {
      provide: Operators,
      inject: [Database, Clock, APP_CONFIG],
      useFactory: (database: Database, clock: Clock, { operator }: AppConfig) =>
        new Operators(database, clock, operator.oidc?.issuer ?? null),
    },
    {
      provide: OperatorTokens,
      inject: [Database, Clock],
      useFactory: (database: Database, clock: Clock) => new OperatorTokens(database, clock),
    },
    {
      provide: OperatorLinks,
      inject: [Database, Clock, APP_CONFIG],
      useFactory: (database: Database, clock: Clock, { operator }: AppConfig) =>
        new OperatorLinks(database, clock, operator.url),
    },
  ],
  exports: [
    OperatorCredentials,
    OperatorSessions,
    OperatorOidcSignIn,
    Operators,
    OperatorTokens,
    OperatorLinks,
  ],
})
export class OperatorAccessModule {}
