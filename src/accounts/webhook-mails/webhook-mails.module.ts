import { Module } from '@nestjs/common';
import { OperatorMailModule } from '../operator-mail/operator-mail.module.ts';
import { WebhookMails } from './webhook-mails.ts';

/** Mails to the contact addresses of applications about their webhooks. */
@Module({
  imports: [OperatorMailModule],
  providers: [WebhookMails],
  exports: [WebhookMails],
})
export class WebhookMailsModule {}
