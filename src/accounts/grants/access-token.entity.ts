import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from './grant.entity.ts';

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
    /** SHA-256 of the token; the token itself is shown once and stored nowhere. */
    hash: p.blob().unique(),
    createdAt: p.datetime().columnType('timestamptz'),
    revokedAt: p.datetime().columnType('timestamptz').nullable(),
    /** Null: does not expire. */
    expiresAt: p.datetime().columnType('timestamptz').nullable(),
    /** Narrower than the scopes of its account; null: as its account. */
    scope: p.array().nullable(),
    /** When a request last came with it, a minute or two late; null: none has. */
    lastUsedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

export class AccessToken extends AccessTokenSchema.class {}
AccessTokenSchema.setClass(AccessToken);
