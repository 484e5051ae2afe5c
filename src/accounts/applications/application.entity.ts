import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { PLANS } from '../../platform/auth/plan.ts';

const ApplicationSchema = defineEntity({
  name: 'Application',
  tableName: 'application',
  properties: {
    ...idColumn,
    /** Public name of the application in requests. */
    clientId: p.text().unique(),
    name: p.text(),
    /** SHA-256 of the client secret: look-up and comparison. */
    secretHash: p.blob().unique(),
    /** The client secret sealed: signing webhook deliveries needs it. */
    secretSealed: p.text(),
    plan: p.enum(PLANS),
    /** Names of `APPLICATION_FEATURES`. */
    features: p.array(),
    /** Which of the two integrations addresses it uses: `us` or `eu`. */
    region: p.text(),
    iconUrl: p.text().nullable(),
    redirectUris: p.array(),
    /** Whether `response_type=token` is answered: the access token itself in the address the browser returns to. */
    allowsTokenResponse: p.boolean().default(false),
    /** The most that a sign-in may grant; null: every scope. */
    allowedScopes: p.array().nullable(),
    /** Seconds that access tokens made by a sign-in work; null: until they are revoked. */
    tokenLifetime: p.integer().nullable(),
    /** Whether a sign-in revokes the tokens its account had before. */
    revokesOlderTokens: p.boolean().default(false),
    ...timestampColumns,
  },
});

/** A customer of this server: it owns integrations, grants and webhooks. */
export class Application extends ApplicationSchema.class {}
ApplicationSchema.setClass(Application);
