import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../../platform/database/base-columns.ts';
import { Grant } from '../grant.entity.ts';

const AccessTokenSchema = defineEntity({
  name: 'AccessToken',
  tableName: 'access_token',
  indexes: [
    { name: 'access_token_grant', properties: ['grant'] },
    { name: 'access_token_revoked', properties: ['revokedAt'], where: 'revoked_at is not null' },
    { name: 'access_token_expires', properties: ['expiresAt'], where: 'expires_at is not null' },
  ],
  properties: {
    ...idColumn,
    grant: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** SHA-256 of the token. The token itself is shown once and never stored. */
    hash: p.blob().unique(),
    createdAt: p.datetime().columnType('timestamptz'),
    revokedAt: p.datetime().columnType('timestamptz').nullable(),
    /** `null` if the token does not expire. */
    expiresAt: p.datetime().columnType('timestamptz').nullable(),
    /** Narrower than the scopes of the account; `null` if the token has all of them. */
    scope: p.array().nullable(),
    /**
     * Time of the last request with this token, one or two minutes late; `null` if it was never
     * used.
     */
    lastUsedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

export class AccessToken extends AccessTokenSchema.class {}
AccessTokenSchema.setClass(AccessToken);
