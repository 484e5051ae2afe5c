import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../database/base-columns.ts';

const WebhookEventSchema = defineEntity({
  name: 'WebhookEvent',
  tableName: 'webhook_event',
  indexes: [
    { name: 'webhook_event_application', properties: ['applicationId', 'id'] },
    { name: 'webhook_event_feed', properties: ['applicationId', 'seq'] },
    { name: 'webhook_event_of_account', properties: ['accountId', 'seq', 'type'] },
  ],
  properties: {
    ...idColumn,
    /**
     * Number of the event, drawn when it is stored. Readers that need the order read only published
     * numbers (`publish-events.ts`). `null`: stored by a release that numbered no events.
     */
    seq: p.bigint('number').nullable().autoincrement(),
    applicationId: p.uuid(),
    /** `null` as for `seq`. */
    accountId: p.uuid().nullable(),
    type: p.text(),
    /** Folders or labels of the object before and after the change; `null` if it has none. */
    folders: p.array().columnType('uuid[]').nullable(),
    /** Domains of the senders of a message; `null` for other objects. */
    fromDomains: p.array().columnType('text[]').nullable(),
    /** JSON of a delivery of this event alone, without its numbers (`contents/deltas.ts`). */
    body: p.blob(),
    /** Key that prevents storing the same event twice, e.g. `job:<id>:successful:1`. */
    dedupe: p.text().unique(),
    /** Span under which the event is delivered (W3C Trace Context); `null`: nobody listened. */
    traceparent: p.text().nullable(),
    /**
     * When it was stored, not when its transaction began: a webhook that subscribed in between was
     * asked whether it wants the event, and its feed has it.
     */
    createdAt: p.datetime().columnType('timestamptz').defaultRaw('clock_timestamp()'),
  },
});

/** An event, as it is sent to subscribers. */
export class WebhookEvent extends WebhookEventSchema.class {}
WebhookEventSchema.setClass(WebhookEvent);
