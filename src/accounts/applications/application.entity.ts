import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { PLANS } from '../../platform/auth/plan.ts';

const ApplicationSchema = defineEntity({
  name: 'Application',
  tableName: 'application',
  properties: {
    ...idColumn,
    /** Public identifier of the application in requests. */
    clientId: p.text().unique(),
    name: p.text(),
    /** SHA-256 of the client secret, for look-up and comparison. */
    secretHash: p.blob().unique(),
    /** The client secret, encrypted. It is needed to sign webhook deliveries. */
    secretSealed: p.text(),
    /**
     * Hash and encrypted text of the client secret before the last rotation, and until when both
     * are valid; `null` if that secret was refused at once, or its time is over (ADR 0151).
     */
    previousSecretHash: p.blob().nullable(),
    previousSecretSealed: p.text().nullable(),
    previousSecretUntil: p.datetime().columnType('timestamptz').nullable(),
    plan: p.enum(PLANS),
    /** Names of `APPLICATION_FEATURES`. */
    features: p.array(),
    /** The integrations address that the application uses: `us` or `eu`. */
    region: p.text(),
    iconUrl: p.text().nullable(),
    /** Address that gets mails about failing webhooks (ADR 0158); `null` if nobody gets them. */
    contactEmail: p.text().nullable(),
    redirectUris: p.array(),
    /**
     * Whether `response_type=token` is allowed. The access token is then part of the URL to which
     * the browser returns.
     */
    allowsTokenResponse: p.boolean().default(false),
    /** All scopes that a sign-in may grant; `null` for every scope. */
    allowedScopes: p.array().nullable(),
    /**
     * Lifetime in seconds of access tokens created by a sign-in; `null` if they work until they are
     * revoked.
     */
    tokenLifetime: p.integer().nullable(),
    /** Whether a sign-in revokes the earlier tokens of its account. */
    revokesOlderTokens: p.boolean().default(false),
    /** When an operator paused sending of all accounts; `null` if it is not paused (ADR 0090). */
    sendingPausedAt: p.datetime().columnType('timestamptz').nullable(),
    sendingPauseReason: p.text().nullable(),
    /** When an operator suspended the application; `null` if it is not suspended (ADR 0091). */
    suspendedAt: p.datetime().columnType('timestamptz').nullable(),
    suspensionReason: p.text().nullable(),
    ...timestampColumns,
  },
});

/** A customer of this server. It owns integrations, grants and webhooks. */
export class Application extends ApplicationSchema.class {}
ApplicationSchema.setClass(Application);
