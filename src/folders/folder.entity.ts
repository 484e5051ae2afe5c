import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timestampColumns } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';

const FolderSchema = defineEntity({
  name: 'Folder',
  tableName: 'folder',
  uniques: [{ name: 'folder_account_provider_id', properties: ['account', 'providerId'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    providerId: p.text(),
    /** Standard name (inbox, sent, …); null for user-made ones. */
    name: p.text().nullable(),
    displayName: p.text(),
    ...timestampColumns,
  },
});

/** A folder or, for label accounts, a label of the mailbox. */
export class Folder extends FolderSchema.class {}
FolderSchema.setClass(Folder);
