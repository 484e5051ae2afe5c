import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../../platform/database/base-columns.ts';
import { Operator } from '../operator.entity.ts';

const OperatorSessionSchema = defineEntity({
  name: 'OperatorSession',
  tableName: 'operator_session',
  indexes: [
    { name: 'operator_session_operator', properties: ['operator'] },
    { name: 'operator_session_ends', properties: ['endsAt'] },
  ],
  properties: {
    ...idColumn,
    operator: () => p.manyToOne(Operator).ref().deleteRule('cascade'),
    /** SHA-256 of the cookie's value. */
    hash: p.blob().unique(),
    createdAt: p.datetime().columnType('timestamptz'),
    /** Time of the last request, up to a minute late. */
    lastUsedAt: p.datetime().columnType('timestamptz'),
    /** The session ends at this time even if it is used. */
    endsAt: p.datetime().columnType('timestamptz'),
  },
});

/** A sign-in of an operator to the console. */
export class OperatorSession extends OperatorSessionSchema.class {}
OperatorSessionSchema.setClass(OperatorSession);
