import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Operator } from './operator.entity.ts';
import { OPERATOR_ROLES } from './operator-role.ts';

const OperatorTokenSchema = defineEntity({
  name: 'OperatorToken',
  tableName: 'operator_token',
  indexes: [{ name: 'operator_token_operator', properties: ['operator'] }],
  properties: {
    ...idColumn,
    operator: () => p.manyToOne(Operator).ref().deleteRule('cascade'),
    /** SHA-256 of the token. The token itself is shown once and never stored. */
    hash: p.blob().unique(),
    /** What the token is for, in the operator's words. */
    note: p.text(),
    /** The token may do no more than its role, nor more than the role of its operator. */
    role: p.enum(OPERATOR_ROLES),
    createdAt: p.datetime().columnType('timestamptz'),
    /** `null` if the token has no end of its own (`oidc-confirmation.ts`). */
    expiresAt: p.datetime().columnType('timestamptz').nullable(),
    /** Time of the last request, up to a minute late; `null` if the token was never used. */
    lastUsedAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A token for the admin API. A revoked token has no row. */
export class OperatorToken extends OperatorTokenSchema.class {}
OperatorTokenSchema.setClass(OperatorToken);
