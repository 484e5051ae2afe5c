import { Global, Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { FailedAttempts } from './failed-attempts.ts';
import {
  AccessTokenBasicStrategy,
  AccessTokenBearerStrategy,
  ApplicationSecretStrategy,
  ApplicationStrategy,
} from './strategies.ts';

/**
 * Registers the passport strategies behind the decorators of `access.decorators.ts`, whose guards are used in every room. A
 * global module has to provide `Credentials`.
 */
@Global()
@Module({
  imports: [PassportModule],
  providers: [
    FailedAttempts,
    AccessTokenBearerStrategy,
    AccessTokenBasicStrategy,
    ApplicationStrategy,
    ApplicationSecretStrategy,
  ],
  exports: [FailedAttempts],
})
export class AuthModule {}
