import { Global, Module } from '@nestjs/common';
import { AuthModule } from '../../platform/auth/auth.module.ts';
import { AdminMeController } from './admin-me.controller.ts';
import { OperatorCredentials } from './operator-credentials.ts';
import { OperatorSessions } from './operator-sessions.service.ts';
import { OperatorTokens } from './operator-tokens.service.ts';
import { Operators } from './operators.service.ts';

/**
 * Operators, their sessions and tokens. Global, because the guard of every controller for operators
 * needs it.
 */
@Global()
@Module({
  imports: [AuthModule],
  controllers: [AdminMeController],
  providers: [OperatorCredentials, Operators, OperatorTokens, OperatorSessions],
  exports: [OperatorCredentials, Operators, OperatorTokens, OperatorSessions],
})
export class OperatorAccessModule {}
