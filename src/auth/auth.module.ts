import { Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { Credentials } from './credentials.ts';
import {
  AccessTokenBasicStrategy,
  AccessTokenBearerStrategy,
  ApplicationSecretStrategy,
  ApplicationStrategy,
} from './strategies.ts';

/** Registers the passport strategies behind the decorators of `access.decorators.ts`. */
@Module({
  imports: [PassportModule],
  providers: [
    Credentials,
    AccessTokenBearerStrategy,
    AccessTokenBasicStrategy,
    ApplicationStrategy,
    ApplicationSecretStrategy,
  ],
  exports: [Credentials],
})
export class AuthModule {}
