import { defineEntity, p } from '@mikro-orm/core';
import { ownedByAccount } from '../../platform/database/owner-keys.ts';
import { idColumn } from '../../platform/database/base-columns.ts';
import type { PushResource } from '../../providers/port/push-port.ts';

/** A subscription that another has replaced, until it is unsubscribed. Times are ISO 8601. */
export interface PreviousSubscription {
  id: string | null;
  expiresAt: string;
  details: Record<string, string>;
}

const PushSubscriptionSchema = defineEntity({
  name: 'PushSubscription',
  tableName: 'push_subscription',
  uniques: [{ name: 'push_subscription_account_resource', properties: ['account', 'resource'] }],
  indexes: [
    { name: 'push_subscription_due', properties: ['dueAt'] },
    { name: 'push_subscription_provider', properties: ['provider', 'providerId'] },
  ],
  properties: {
    ...idColumn,
    account: () => ownedByAccount(),
    provider: p.text(),
    resource: p.text().$type<PushResource>(),
    /** False if the subscription is to be ended and the row deleted. */
    wanted: p.boolean().default(true),
    /** The provider's id of the subscription; `null` if there is none, or if it has no id. */
    providerId: p.text().nullable(),
    /** SHA-256 of the secret that the provider returns with notifications. */
    secretHash: p.blob().nullable(),
    details: p.json<Record<string, string>>().nullable(),
    previous: p.json<PreviousSubscription>().nullable(),
    /** When the provider ends the subscription; `null` while there is none. */
    expiresAt: p.datetime().columnType('timestamptz').nullable(),
    /** When its renewal begins; `null` while there is no subscription. */
    renewAt: p.datetime().columnType('timestamptz').nullable(),
    /** MD5 of the encrypted settings that the account had. Other settings need a new one. */
    credentials: p.text().nullable(),
    /** Address that the provider notifies; the empty string for none. */
    address: p.text().nullable(),
    /** When there is next something to do. */
    dueAt: p.datetime().columnType('timestamptz'),
    /** End of the lease of the process that is doing it; `null` if none is. */
    leaseUntil: p.datetime().columnType('timestamptz').nullable(),
    /** Grows with each claim. A process with an older value cannot store its result. */
    fence: p.integer().default(0),
    /** Failed attempts since the last success. */
    failures: p.smallint().default(0),
    error: p.text().nullable(),
    /** True if the provider does not report changes of this resource. */
    unsupported: p.boolean().default(false),
    /** Time of the last notification, accurate to a minute. */
    notifiedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** One row per account and resource whose changes the provider is to report. */
export class PushSubscription extends PushSubscriptionSchema.class {}
PushSubscriptionSchema.setClass(PushSubscription);
