import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../database/base-columns.ts';
import { ownedByApplication } from '../database/owner-keys.ts';
import { WEBHOOK_STATES } from './webhook-state.ts';

const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  uniques: [
    { name: 'webhook_application_callback_url', properties: ['application', 'callbackUrl'] },
  ],
  properties: {
    ...idColumn,
    application: () => ownedByApplication(),
    /** Normalised by WHATWG URL. */
    callbackUrl: p.text(),
    state: p.enum(WEBHOOK_STATES),
    /** Names of `TRIGGERS`. */
    triggers: p.array(),
    /** Since when its owner has wanted it without a pause: events before are never delivered late. */
    subscribedAt: p.datetime().columnType('timestamptz'),
    /** First failure since the last success; null while healthy. */
    failingSince: p.datetime().columnType('timestamptz').nullable(),
    /** Failed deliveries since the last success. */
    failures: p.integer().default(0),
    ...timestampColumns,
  },
});

/** A subscription of an application to triggers (api facts 10). */
export class Webhook extends WebhookSchema.class {}
WebhookSchema.setClass(Webhook);
