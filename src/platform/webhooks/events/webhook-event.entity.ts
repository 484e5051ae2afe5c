import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../database/base-columns.ts';

const WebhookEventSchema = defineEntity({
  name: 'WebhookEvent',
  tableName: 'webhook_event',
  indexes: [{ name: 'webhook_event_application', properties: ['applicationId', 'id'] }],
  properties: {
    ...idColumn,
    applicationId: p.uuid(),
    type: p.text(),
    /** The exact bytes that are signed and sent. */
    body: p.blob(),
    /** Key that prevents storing the same event twice, e.g. `job:<id>:successful:1`. */
    dedupe: p.text().unique(),
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/** An event, as it is sent to subscribers. */
export class WebhookEvent extends WebhookEventSchema.class {}
WebhookEventSchema.setClass(WebhookEvent);
