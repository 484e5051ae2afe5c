import { Module } from '@nestjs/common';
import { ProvidersModule } from '../../providers/providers.module.ts';
import { OperatorMail } from './operator-mail.ts';

/** Mails of the server itself, by the operator's own mail server. */
@Module({
  imports: [ProvidersModule],
  providers: [OperatorMail],
  exports: [OperatorMail],
})
export class OperatorMailModule {}
