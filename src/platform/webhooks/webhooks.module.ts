import { Module } from '@nestjs/common';
import { WebhookChallenge } from './webhook-challenge.ts';
import { EventContents } from './delivery/event-contents.ts';
import { DeliverySigner } from './delivery/delivery-signer.ts';
import { WebhookDispatcher } from './delivery/webhook-dispatcher.ts';
import { WebhookSecretsController } from './secrets/webhook-secrets.controller.ts';
import { WebhookSecretsService } from './secrets/webhook-secrets.service.ts';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Webhooks of applications, and their deliveries. */
@Module({
  controllers: [WebhooksController, WebhookSecretsController],
  providers: [
    WebhooksService,
    WebhookSecretsService,
    WebhookChallenge,
    WebhookDispatcher,
    DeliverySigner,
    EventContents,
  ],
  exports: [WebhookDispatcher, WebhookChallenge, EventContents],
})
export class WebhooksModule {}
