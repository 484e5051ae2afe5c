import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../database/base-columns.ts';
import { ownedByApplication } from '../database/owner-keys.ts';
import {
  MAILED_STATES,
  WEBHOOK_CONTENTS,
  WEBHOOK_DELIVERIES,
  WEBHOOK_STATES,
} from './webhook-state.ts';

const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  uniques: [
    { name: 'webhook_application_callback_url', properties: ['application', 'callbackUrl'] },
  ],
  properties: {
    ...idColumn,
    application: () => ownedByApplication(),
    /** How its events reach the owner. */
    delivery: p.enum(WEBHOOK_DELIVERIES).default('push'),
    /** URL as normalised by the WHATWG rules; `null` if `delivery` is `pull`. */
    callbackUrl: p.text().nullable(),
    state: p.enum(WEBHOOK_STATES),
    /** Names of `TRIGGERS`. */
    triggers: p.array(),
    /** Only events of these accounts are wanted; `null`: of all. */
    filterAccounts: p.array().columnType('uuid[]').nullable(),
    /** Only events about objects in these folders or labels are wanted; `null`: about all. */
    filterFolders: p.array().columnType('uuid[]').nullable(),
    /** Only events about messages from these domains are wanted; `null`: about all. */
    filterDomains: p.array().columnType('text[]').nullable(),
    /** What deliveries say about the object of an event. */
    content: p.enum(WEBHOOK_CONTENTS).default('ids'),
    /**
     * When the owner created the webhook or last activated it from `inactive`. Earlier events are
     * never replayed.
     */
    subscribedAt: p.datetime().columnType('timestamptz'),
    /**
     * Whether an operator stopped the deliveries. The state is `failed` then, for the owner. Only
     * valid in this state.
     */
    paused: p.boolean().default(false),
    /** First failure since the last success; `null` if there is none. */
    failingSince: p.datetime().columnType('timestamptz').nullable(),
    /** Failed deliveries since the last success. */
    failures: p.integer().default(0),
    /**
     * The state that the last mail about the webhook reported (ADR 0158); `null` if no mail did, or
     * if it has been active since.
     */
    mailedState: p.enum(MAILED_STATES).nullable(),
    /**
     * Until when the client secret signs `webhook-signature` although the webhook has secrets of
     * its own; `null`: it does so only while there are none (ADR 0151).
     */
    clientSecretUntil: p.datetime().columnType('timestamptz').nullable(),
    ...timestampColumns,
  },
});

/** A subscription of an application to triggers. */
export class Webhook extends WebhookSchema.class {}
WebhookSchema.setClass(Webhook);
