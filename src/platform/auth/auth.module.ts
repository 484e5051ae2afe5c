import { Global, Module } from '@nestjs/common';
import { FailedAttempts } from './failed-attempts.ts';

/**
 * What the guards of the decorators in `access.decorators.ts` need. They are used in every module,
 * so a global module has to provide `Credentials`.
 */
@Global()
@Module({ providers: [FailedAttempts], exports: [FailedAttempts] })
export class AuthModule {}
