import { Module } from '@nestjs/common';
import { WebhookChallenge } from './webhook-challenge.ts';
import { EventContents } from './delivery/event-contents.ts';
import { WebhookDispatcher } from './delivery/webhook-dispatcher.ts';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Webhooks of applications, and their deliveries. */
@Module({
  controllers: [WebhooksController],
  providers: [WebhooksService, WebhookChallenge, WebhookDispatcher, EventContents],
  exports: [WebhookDispatcher, WebhookChallenge, EventContents],
})
export class WebhooksModule {}
