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
    // Names are longer than an index takes.
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
    // Ids grow with time: the oldest come first.
    { name: 'file_upload', properties: ['id'], where: 'message_id is null' },
    { name: 'file_account_upload', properties: ['account'], where: 'message_id is null' },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    /** The message it is an attachment of; null: it was uploaded. */
    message: () => p.manyToOne(Message).ref().nullable().deleteRule('cascade'),
    /** Position among the attachments of the message: how the provider's copy is found again. 0 for an upload. */
    part: p.integer(),
    /** How the provider finds it again. */
    section: p.text().nullable(),
    filename: p.text(),
    contentType: p.text(),
    contentDisposition: p.text(),
    contentId: p.text().nullable(),
    /** Bytes, decoded. */
    size: p.integer(),
    /** Its bytes, where they are stored here; null: the provider has them. */
    data: () => p.manyToOne(FileData).ref().nullable().deleteRule('set null'),
  },
});

/** An upload, or an attachment of a message. */
export class File extends FileSchema.class {}
FileSchema.setClass(File);
