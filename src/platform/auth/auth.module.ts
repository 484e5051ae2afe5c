import { Global, Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { Credentials } from './credentials.ts';
import { FailedAttempts } from './failed-attempts.ts';
import {
  AccessTokenBasicStrategy,
  AccessTokenBearerStrategy,
  ApplicationSecretStrategy,
  ApplicationStrategy,
} from './strategies.ts';
import { TokenUses } from './token-uses.ts';

/** Registers the passport strategies behind the decorators of `access.decorators.ts`, whose guards are used in every room. */
@Global()
@Module({
  imports: [PassportModule],
  providers: [
    Credentials,
    FailedAttempts,
    TokenUses,
    AccessTokenBearerStrategy,
    AccessTokenBasicStrategy,
    ApplicationStrategy,
    ApplicationSecretStrategy,
  ],
  exports: [Credentials, FailedAttempts],
})
export class AuthModule {}
