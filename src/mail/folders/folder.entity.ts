import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const FolderSchema = defineEntity({
  name: 'Folder',
  tableName: 'folder',
  uniques: [{ name: 'folder_account_provider_id', properties: ['account', 'providerId'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** Null while a folder of ours is being created there. */
    providerId: p.text().nullable(),
    /** Standard name (inbox, sent, …); null for user-made ones. */
    name: p.text().nullable(),
    displayName: p.text(),
    /** Deleted here, and not shown; kept until the provider has deleted it too, or refused to. */
    deleting: p.boolean().default(false),
    ...timestampColumns,
  },
});

/** A folder or, for label accounts, a label of the mailbox. */
export class Folder extends FolderSchema.class {}
FolderSchema.setClass(Folder);
