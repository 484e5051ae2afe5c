import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/base-columns.ts';
import { Grant } from '../grants/grant.entity.ts';
import { Message } from '../messages/message.entity.ts';

const FileSchema = defineEntity({
  name: 'File',
  tableName: 'file',
  indexes: [
    { name: 'file_account', properties: ['account', 'id'] },
    { name: 'file_message', properties: ['message'] },
  ],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    message: () => p.manyToOne(Message).ref().deleteRule('cascade'),
    /** Position among the attachments of the message: how the provider's copy is found again. */
    part: p.integer(),
    filename: p.text(),
    contentType: p.text(),
    contentDisposition: p.text(),
    contentId: p.text().nullable(),
    /** Bytes, decoded. */
    size: p.integer(),
  },
});

/** An attachment of a message; its bytes stay with the provider. */
export class File extends FileSchema.class {}
FileSchema.setClass(File);
