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
    /** `null` while a folder created here is not at the provider yet. */
    providerId: p.text().nullable(),
    /** Standard name (inbox, sent, …); `null` for user-made folders. */
    name: p.text().nullable(),
    displayName: p.text(),
    /**
     * True once the folder was deleted here. The row is hidden and stays until the provider has
     * deleted the folder or refused to.
     */
    deleting: p.boolean().default(false),
    ...timestampColumns,
  },
});

/** A folder of the mailbox or, for accounts with labels, a label. */
export class Folder extends FolderSchema.class {}
FolderSchema.setClass(Folder);
