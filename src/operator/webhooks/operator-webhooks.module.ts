import { Module } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { WebhookChallenge } from '../../platform/webhooks/webhook-challenge.ts';
import { WebhooksModule } from '../../platform/webhooks/webhooks.module.ts';
import { AdminWebhooksController } from './admin-webhooks.controller.ts';
import { OperatorWebhooks } from './operator-webhooks.ts';

/** Webhooks of all applications, for operators. */
@Module({
  imports: [WebhooksModule],
  controllers: [AdminWebhooksController],
  providers: [
    {
      provide: OperatorWebhooks,
      inject: [Database, Clock, WebhookChallenge],
      useFactory: (database: Database, clock: Clock, challenge: WebhookChallenge) =>
        new OperatorWebhooks(database, clock, challenge),
    },
  ],
  exports: [OperatorWebhooks],
})
export class OperatorWebhooksModule {}
