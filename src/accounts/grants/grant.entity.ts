import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { Integration } from '../integrations/integration.entity.ts';
import { ADDRESS_PROOFS } from '../../providers/port/address-proof.ts';
import {
  BILLING_STATES,
  GRANT_STATUSES,
  ORGANIZATION_UNITS,
  SYNC_STATES,
} from '../../platform/auth/grant-status.ts';

const GrantSchema = defineEntity({
  name: 'Grant',
  tableName: 'grant',
  uniques: [
    {
      name: 'grant_application_provider_email_mailbox',
      properties: ['application', 'provider', 'email', 'mailbox'],
    },
  ],
  indexes: [
    { name: 'grant_integration', properties: ['integration'] },
    { name: 'grant_prove_at', properties: ['proveAt'], where: 'prove_at is not null' },
  ],
  properties: {
    /** Is the account id everywhere else. */
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    integration: () => p.manyToOne(Integration).ref().nullable().deleteRule('set null'),
    provider: p.text(),
    /** Lower case. */
    email: p.text(),
    /** Which mailbox it is: `Connector.mailboxKey` of its settings. Null: connected before there were keys, not looked at since. */
    mailbox: p.text().nullable(),
    /** What has proved that the mailbox is that of the address; null: nothing (ADR 0056). */
    proof: p.enum(ADDRESS_PROOFS).nullable(),
    provenAt: p.datetime().columnType('timestamptz').nullable(),
    /** When the server looks for a proof; null: there is one, or nothing more is tried. */
    proveAt: p.datetime().columnType('timestamptz').nullable(),
    /** Looks that have found none. */
    proveFailures: p.smallint().default(0),
    name: p.text(),
    status: p.enum(GRANT_STATUSES),
    /** Why the grant is not valid. */
    statusReason: p.text().nullable(),
    syncState: p.enum(SYNC_STATES),
    /** Whether the account has folders or labels. */
    organizationUnit: p.enum(ORGANIZATION_UNITS),
    billingState: p.enum(BILLING_STATES),
    metadata: p.json<Record<string, string | number | boolean>>(),
    /** Overrides the integration's scopes; null: inherits them. */
    scope: p.array().nullable(),
    /** What the user agreed to at the last authentication: the scopes in force then; null: everything. */
    grantedScope: p.array().nullable(),
    /** JSON of the provider settings (credentials), sealed. */
    settingsSealed: p.text(),
    /** JSON of `OauthTokens`, sealed; null: the account has not signed in by OAuth. */
    tokensSealed: p.text().nullable(),
    /** Grows with every change of the tokens: whoever refreshes them compares it. */
    tokenVersion: p.integer().default(0),
    /** Until when somebody is refreshing them. */
    tokenLeaseUntil: p.datetime().columnType('timestamptz').nullable(),
    /** Why `sync_state` is what it is; null: nothing to be said. */
    syncReason: p.text().nullable(),
    state: p.text().nullable(),
    userAgent: p.text().nullable(),
    ip: p.text().nullable(),
    linkedAt: p.datetime().columnType('timestamptz'),
    ...timestampColumns,
  },
});

/** An account that has authenticated against a provider (spec 2.2). */
export class Grant extends GrantSchema.class {}
GrantSchema.setClass(Grant);
