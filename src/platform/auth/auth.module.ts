import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { RateLimits } from '../http/rate-limits.ts';
import { RequestBodies } from '../http/bodies/request-bodies.ts';
import { RefusalRecorder } from '../refusals/refusal-recorder.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { PublicRouteGuard } from './guards.ts';
import { AccessTokenBasicStrategy } from './strategies/access-token-basic.strategy.ts';
import { AccessTokenBearerStrategy } from './strategies/access-token-bearer.strategy.ts';
import { ApplicationBasicStrategy } from './strategies/application-basic.strategy.ts';
import { ApplicationSecretStrategy } from './strategies/application-secret.strategy.ts';

/**
 * The passport strategies, and what the guards of the decorators in `access.decorators.ts` need.
 * They are used in every module, so a global module has to provide `Credentials`.
 */
@Global()
@Module({
  imports: [PassportModule],
  providers: [
    AccessTokenBearerStrategy,
    AccessTokenBasicStrategy,
    ApplicationBasicStrategy,
    ApplicationSecretStrategy,
    FailedAttempts,
    RateLimits,
    RefusalRecorder,
    RequestBodies,
    { provide: APP_GUARD, useClass: PublicRouteGuard },
  ],
  exports: [FailedAttempts, RateLimits, RequestBodies],
})
export class AuthModule {}
