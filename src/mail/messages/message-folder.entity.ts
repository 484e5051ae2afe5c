import { defineEntity, p } from '@mikro-orm/core';
import { Folder } from '../folders/folder.entity.ts';
import { Message } from './message.entity.ts';

const MessageFolderSchema = defineEntity({
  name: 'MessageFolder',
  tableName: 'message_folder',
  indexes: [{ name: 'message_folder_folder', properties: ['folder', 'date', 'message'] }],
  properties: {
    message: () => p.manyToOne(Message).primary().deleteRule('cascade'),
    folder: () => p.manyToOne(Folder).primary().deleteRule('cascade'),
    /** Copy of the message's date, so that a folder of any size can be listed newest first. */
    date: p.datetime().columnType('timestamptz'),
    /** `null` in rows of earlier releases that are not filled yet (ADR 0170). */
    account: p.uuid().fieldName('account_id').nullable(),
  },
});

/** The folder (one) or labels (any number) of a message. */
export class MessageFolder extends MessageFolderSchema.class {}
MessageFolderSchema.setClass(MessageFolder);
