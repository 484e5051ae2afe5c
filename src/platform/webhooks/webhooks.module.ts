import { Module } from '@nestjs/common';
import { DueDeliveries } from './due-deliveries.ts';
import { WebhookChallenge } from './webhook-challenge.ts';
import { WebhookDispatcher } from './webhook-dispatcher.ts';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Subscriptions to what happens, and their deliveries. */
@Module({
  controllers: [WebhooksController],
  providers: [WebhooksService, WebhookChallenge, DueDeliveries, WebhookDispatcher],
  exports: [WebhookDispatcher],
})
export class WebhooksModule {}
