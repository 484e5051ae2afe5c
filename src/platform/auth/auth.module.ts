import { Global, Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { RefusalRecorder } from '../refusals/refusal-recorder.ts';
import { FailedAttempts } from './failed-attempts.ts';
import {
  AccessTokenBasicStrategy,
  AccessTokenBearerStrategy,
  ApplicationSecretStrategy,
  ApplicationStrategy,
} from './strategies.ts';

/**
 * Registers the passport strategies of the decorators in `access.decorators.ts`. The guards are
 * used in every module, so a global module has to provide `Credentials`.
 */
@Global()
@Module({
  imports: [PassportModule],
  providers: [
    FailedAttempts,
    RefusalRecorder,
    AccessTokenBearerStrategy,
    AccessTokenBasicStrategy,
    ApplicationStrategy,
    ApplicationSecretStrategy,
  ],
  exports: [FailedAttempts],
})
export class AuthModule {}
