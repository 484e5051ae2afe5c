import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { Integration } from '../integrations/integration.entity.ts';
import { ADDRESS_PROOFS } from '../../providers/port/sign-in/address-proof.ts';
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
    {
      name: 'grant_provider_subject',
      properties: ['provider', 'subject'],
      where: 'subject is not null',
    },
    {
      // The operator's list of accounts begins with these (operator/accounts).
      name: 'grant_troubled',
      properties: ['id'],
      where:
        "status = 'invalid' or sync_state = 'sync-error' or billing_state = 'cancelled' or sending_paused_at is not null",
    },
    { name: 'grant_prove_at', properties: ['proveAt'], where: 'prove_at is not null' },
  ],
  properties: {
    /** Also the account id in all other tables. */
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    integration: () => p.manyToOne(Integration).ref().nullable().deleteRule('set null'),
    provider: p.text(),
    /**
     * Identifies the user at the provider, whatever the address (ADR 0074). `null` if the provider
     * reports no such value.
     */
    subject: p.text().nullable(),
    /** Lower case. */
    email: p.text(),
    /**
     * Identifies the mailbox: `Connector.mailboxKey` of the settings. `null` if the account was
     * connected before mailbox keys existed and has not been checked since.
     */
    mailbox: p.text().nullable(),
    /** The proof that the mailbox belongs to the address; `null` if there is none (ADR 0056). */
    proof: p.enum(ADDRESS_PROOFS).nullable(),
    provenAt: p.datetime().columnType('timestamptz').nullable(),
    /**
     * When the server next looks for a proof; `null` if the grant has a proof, or if the server no
     * longer looks for one.
     */
    proveAt: p.datetime().columnType('timestamptz').nullable(),
    /** Number of checks that found no proof. */
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
    /** Overrides the integration's scopes; `null` if the grant inherits them. */
    scope: p.array().nullable(),
    /** The scopes that the user agreed to at the last authentication; `null` for every scope. */
    grantedScope: p.array().nullable(),
    /** JSON of the provider settings (credentials), encrypted. */
    settingsSealed: p.text(),
    /** JSON of `OauthTokens`, encrypted; `null` if the account has not signed in by OAuth. */
    tokensSealed: p.text().nullable(),
    /**
     * Incremented with every change of the tokens. A token refresh stores its result only if the
     * version is still the same.
     */
    tokenVersion: p.integer().default(0),
    /** End of the lease of the process that is refreshing the tokens. */
    tokenLeaseUntil: p.datetime().columnType('timestamptz').nullable(),
    /** The reason for `sync_state`; `null` if there is none. */
    syncReason: p.text().nullable(),
    state: p.text().nullable(),
    userAgent: p.text().nullable(),
    ip: p.text().nullable(),
    /** When an operator paused the account's sending; `null` if it is not paused (ADR 0090). */
    sendingPausedAt: p.datetime().columnType('timestamptz').nullable(),
    sendingPauseReason: p.text().nullable(),
    linkedAt: p.datetime().columnType('timestamptz'),
    ...timestampColumns,
  },
});

/** An account that has authenticated with a provider. */
export class Grant extends GrantSchema.class {}
GrantSchema.setClass(Grant);
