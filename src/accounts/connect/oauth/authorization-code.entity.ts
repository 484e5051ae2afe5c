import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../../applications/application.entity.ts';
import { idColumn } from '../../../platform/database/base-columns.ts';

const AuthorizationCodeSchema = defineEntity({
  name: 'AuthorizationCode',
  tableName: 'authorization_code',
  indexes: [
    { name: 'authorization_code_application', properties: ['application'] },
    { name: 'authorization_code_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    /** SHA-256 of the code. */
    hash: p.blob().unique(),
    /**
     * JSON of an `AuthorizedRequest`, encrypted. In native sign-in, no grant exists before the code
     * is exchanged.
     */
    requestSealed: p.text(),
    createdAt: p.datetime().columnType('timestamptz'),
    expiresAt: p.datetime().columnType('timestamptz'),
  },
});

/**
 * A single-use code between `/connect/authorize` and `/connect/token`. Deleted when it is
 * exchanged.
 */
export class AuthorizationCode extends AuthorizationCodeSchema.class {}
AuthorizationCodeSchema.setClass(AuthorizationCode);
