import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { OPERATOR_ROLES } from './operator-role.ts';

const OperatorSchema = defineEntity({
  name: 'Operator',
  tableName: 'operator',
  uniques: [{ name: 'operator_subject', properties: ['issuer', 'subject'] }],
  properties: {
    ...idColumn,
    ...timestampColumns,
    /** Lower case. */
    name: p.text().unique(),
    role: p.enum(OPERATOR_ROLES),
    /** scrypt with its parameters (`password-hash.ts`); `null` = no sign-in by password. */
    passwordHash: p.text().nullable(),
    /** Issuer and subject of an operator who signs in by OpenID Connect; `null` for all others. */
    issuer: p.text().nullable(),
    subject: p.text().nullable(),
    /** `null` = the operator may sign in and use tokens. */
    disabledAt: p.datetime().columnType('timestamptz').nullable(),
    lastSignInAt: p.datetime().columnType('timestamptz').nullable(),
  },
});

/** A person who runs the server. */
export class Operator extends OperatorSchema.class {}
OperatorSchema.setClass(Operator);
