import { defineEntity, p } from '@mikro-orm/core';
import { ownedByApplication } from '../../database/owner-keys.ts';

const WebhookMailSchema = defineEntity({
  name: 'WebhookMail',
  tableName: 'webhook_mail',
  indexes: [{ name: 'webhook_mail_due', properties: ['dueAt'] }],
  properties: {
    application: () => ownedByApplication().primary(),
    /** Id of the mail that is due, for its Message-ID: the same for every attempt to send it. */
    mailId: p.uuid(),
    /** Changes of state so far. Shows whether one happened while a mail was being sent. */
    changes: p.integer().default(0),
    /**
     * When a worker may send the mail. The worker that sends it moves this behind the end of its
     * lease. `null` if no mail is due.
     */
    dueAt: p.datetime().columnType('timestamptz').nullable(),
    /** Attempts to send the mail that is due. A worker with an older number cannot record. */
    attempts: p.smallint().default(0),
    /** When the last mail was sent; `null` if none was. */
    sentAt: p.datetime().columnType('timestamptz').nullable(),
    /** When the last attempt failed, and why; `null` if none did since the last mail was sent. */
    failedAt: p.datetime().columnType('timestamptz').nullable(),
    failure: p.text().nullable(),
  },
});

/**
 * The next mail to the contact address of an application about webhooks whose state has changed
 * (ADR 0158). Its text is made when it is sent, from the states that the webhooks have then.
 */
export class WebhookMail extends WebhookMailSchema.class {}
WebhookMailSchema.setClass(WebhookMail);
