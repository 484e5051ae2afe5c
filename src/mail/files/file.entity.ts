import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Message } from '../messages/message.entity.ts';
import { FileData } from './file-data.entity.ts';

const FileSchema = defineEntity({
  name: 'File',
  tableName: 'file',
  indexes: [
    { name: 'file_account', properties: ['account', 'id'] },
    // File names can be longer than an index entry allows, so the index has a hash of them.
    {
      name: 'file_account_filename',
      expression: `create index "file_account_filename" on "file" (account_id, md5(filename), id)`,
    },
    {
      name: 'file_account_type',
      expression: `create index "file_account_type" on "file" (account_id, md5(lower(content_type)), id)`,
    },
    { name: 'file_message', properties: ['message'] },
    { name: 'file_data_of', properties: ['data'], where: 'data_id is not null' },
    // Ids grow with time, so this order is oldest first.
    { name: 'file_upload', properties: ['id'], where: 'message_id is null' },
    { name: 'file_account_upload', properties: ['account'], where: 'message_id is null' },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** The message the file is attached to; `null` for an upload. */
    message: () => p.manyToOne(Message).ref().nullable().deleteRule('cascade'),
    /**
     * Position among the attachments of the message, which identifies the attachment at the
     * provider. 0 for an upload.
     */
    part: p.integer(),
    /** The provider's section number of the attachment, with which it is fetched. */
    section: p.text().nullable(),
    filename: p.text(),
    contentType: p.text(),
    contentDisposition: p.text(),
    contentId: p.text().nullable(),
    /** Decoded bytes. */
    size: p.integer(),
    /** The stored bytes; `null` if only the provider has them. */
    data: () => p.manyToOne(FileData).ref().nullable().deleteRule('set null'),
  },
});

/** An upload, or an attachment of a message. */
export class File extends FileSchema.class {}
FileSchema.setClass(File);
