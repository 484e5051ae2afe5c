import { Module } from '@nestjs/common';
import { CallerWatch } from '../waiting/caller-watch.ts';
import { WebhookChallenge } from './webhook-challenge.ts';
import { WebhookDispatcher } from './delivery/webhook-dispatcher.ts';
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
  controllers: [WebhooksController, TrialsController, FeedController],
  providers: [
    WebhooksService,
    WebhookChallenge,
    WebhookDispatcher,
    WebhookTrials,
    FeedService,
    FeedWatch,
    FeedWaits,
    CallerWatch,
  ],
  exports: [WebhookDispatcher, WebhookChallenge],
})
export class WebhooksModule {}
