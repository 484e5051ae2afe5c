import { defineEntity, p } from '@mikro-orm/core';
import { Operator } from './operator.entity.ts';

const OperatorLinkSchema = defineEntity({
  name: 'OperatorLink',
  tableName: 'operator_link',
  indexes: [
    { name: 'operator_link_operator', properties: ['operator'] },
    { name: 'operator_link_ends', properties: ['endsAt'] },
  ],
  properties: {
    /** SHA-256 of the secret in the link. */
    hash: p.blob().primary(),
    operator: () => p.manyToOne(Operator).ref().deleteRule('cascade'),
    endsAt: p.datetime().columnType('timestamptz'),
    /** SHA-256 of a secret of the browser that has used the link, which then ends soon. */
    usedBy: p.blob().nullable(),
  },
});

/** A link that signs an operator in once. */
export class OperatorLink extends OperatorLinkSchema.class {}
OperatorLinkSchema.setClass(OperatorLink);
