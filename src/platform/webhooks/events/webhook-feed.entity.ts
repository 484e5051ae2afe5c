import { defineEntity, p } from '@mikro-orm/core';
import { ownedByApplication } from '../../database/owner-keys.ts';

const WebhookFeedSchema = defineEntity({
  name: 'WebhookFeed',
  tableName: 'webhook_feed',
  properties: {
    application: () => ownedByApplication().primary(),
    /**
     * All events of the application up to this number are final: no event will appear among them.
     * Readers that need the order of events read no further (`publish-events.ts`).
     */
    publishedSeq: p.bigint('number'),
  },
});

/** How far the events of an application are published. */
export class WebhookFeed extends WebhookFeedSchema.class {}
WebhookFeedSchema.setClass(WebhookFeed);
