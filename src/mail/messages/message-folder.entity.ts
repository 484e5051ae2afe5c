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
    /** That of the message: a folder is listed newest first, however many messages it has. */
    date: p.datetime().columnType('timestamptz'),
  },
});

/** Which folders (one) or labels (any number) a message is in. */
export class MessageFolder extends MessageFolderSchema.class {}
MessageFolderSchema.setClass(MessageFolder);
