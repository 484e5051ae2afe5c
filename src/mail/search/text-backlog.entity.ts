import { defineEntity, p } from '@mikro-orm/core';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const TextBacklogSchema = defineEntity({
  name: 'TextBacklog',
  tableName: 'text_backlog',
  properties: {
    account: () => p.manyToOne(Grant).ref().primary().deleteRule('cascade'),
    /** Messages from this date on have been processed; `null` if none have. */
    doneDate: p.datetime().columnType('timestamptz').nullable(),
    doneId: p.uuid().nullable(),
  },
});

/** An account with messages whose snippets and search documents an earlier version made. */
export class TextBacklog extends TextBacklogSchema.class {}
TextBacklogSchema.setClass(TextBacklog);
