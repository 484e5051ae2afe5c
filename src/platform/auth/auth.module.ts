import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimits } from '../http/rate-limits.ts';
import { RefusalRecorder } from '../refusals/refusal-recorder.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { PublicRouteGuard } from './guards.ts';

/**
 * What the guards of the decorators in `access.decorators.ts` need. They are used in every module,
 * so a global module has to provide `Credentials`.
 */
@Global()
@Module({
  providers: [
    FailedAttempts,
    RateLimits,
    RefusalRecorder,
    { provide: APP_GUARD, useClass: PublicRouteGuard },
  ],
  exports: [FailedAttempts, RateLimits],
})
export class AuthModule {}
