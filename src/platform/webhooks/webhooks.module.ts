import { Module } from '@nestjs/common';
import { CallerWatch } from '../waiting/caller-watch.ts';
import { WebhookChallenge } from './webhook-challenge.ts';
import { EventContents } from './contents/event-contents.ts';
import { DeliverySigner } from './secrets/delivery-signer.ts';
import { DeliveryRequests } from './delivery/delivery-requests.ts';
import { WebhookDispatcher } from './delivery/webhook-dispatcher.ts';
import { WebhookSecretsController } from './secrets/webhook-secrets.controller.ts';
import { WebhookSecretsService } from './secrets/webhook-secrets.service.ts';
import { FeedWaits } from './feed/feed-waits.ts';
import { FeedWatch } from './feed/feed-watch.ts';
import { FeedController } from './feed/feed.controller.ts';
import { FeedService } from './feed/feed.service.ts';
import { TrialsController } from './replay/trials.controller.ts';
import { WebhookTrials } from './replay/webhook-trials.ts';
import { WebhooksController } from './webhooks.controller.ts';
import { WebhooksService } from './webhooks.service.ts';

/** Webhooks of applications, and their deliveries. */
@Module({
  controllers: [WebhooksController, WebhookSecretsController, TrialsController, FeedController],
  providers: [
    WebhooksService,
    WebhookSecretsService,
    WebhookChallenge,
    WebhookDispatcher,
    DeliveryRequests,
    DeliverySigner,
    EventContents,
    WebhookTrials,
    FeedService,
    FeedWatch,
    FeedWaits,
    CallerWatch,
  ],
  exports: [WebhookDispatcher, WebhookChallenge, EventContents],
})
export class WebhooksModule {}
