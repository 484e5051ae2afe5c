import { defineEntity, p } from '@mikro-orm/core';
import type { ChangeObject } from './change-log.ts';

const ChangeSchema = defineEntity({
  name: 'Change',
  tableName: 'change',
  indexes: [
    { name: 'change_at', properties: ['at'] },
    { name: 'change_object', properties: ['accountId', 'object', 'seq'] },
  ],
  properties: {
    // The account is first in every index that contains the number. No query plan can therefore
    // read the changes of other accounts.
    accountId: p.uuid().primary(),
    /**
     * Assigned when the row is written, not when it commits. Readers therefore take open
     * transactions into account (docs/adr/0036).
     */
    seq: p.bigint('number').primary().autoincrement(),
    /** Name in the API: message, thread, event, calendar, … */
    object: p.text().$type<ChangeObject>(),
    objectId: p.uuid(),
    /** `create`, `modify` or `delete`. */
    event: p.text().$type<'create' | 'modify' | 'delete'>(),
    /**
     * Id of the webhook event of the change, if a webhook subscribed to its trigger,
     * `<object>.created`, `.updated` or `.deleted`; it is stored if a filter matches. `null`:
     * nobody subscribed, or the change sends no webhook.
     */
    eventId: p.uuid().nullable(),
    /**
     * What the filters of webhooks compare of the event, as in `WebhookEvent`; `null` if no
     * subscribed webhook filters by them.
     */
    folders: p.array().columnType('uuid[]').nullable(),
    fromDomains: p.array().columnType('text[]').nullable(),
    at: p.datetime().columnType('timestamptz').defaultRaw('now()'),
  },
});

/**
 * The log of all changes that clients can see. A change is logged in the transaction that makes it.
 */
export class Change extends ChangeSchema.class {}
ChangeSchema.setClass(Change);
