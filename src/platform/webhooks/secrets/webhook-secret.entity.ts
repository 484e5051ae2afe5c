import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../database/base-columns.ts';
import { Webhook } from '../webhook.entity.ts';

const WebhookSecretSchema = defineEntity({
  name: 'WebhookSecret',
  tableName: 'webhook_secret',
  indexes: [{ name: 'webhook_secret_webhook', properties: ['webhook'] }],
  properties: {
    ...idColumn,
    webhook: () => p.manyToOne(Webhook).ref().deleteRule('cascade'),
    /** The secret, `whsec_…`, encrypted. It is needed to sign deliveries. */
    secretSealed: p.text(),
    createdAt: p.datetime().columnType('timestamptz'),
    /** From then on it signs nothing; `null`: it signs until it is replaced or deleted. */
    expiresAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A signing secret of one webhook, beside the client secret (ADR 0151). */
export class WebhookSecret extends WebhookSecretSchema.class {}
WebhookSecretSchema.setClass(WebhookSecret);
