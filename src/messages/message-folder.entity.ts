import { defineEntity, p } from '@mikro-orm/core';
import { Folder } from '../folders/folder.entity.ts';
import { Message } from './message.entity.ts';

const MessageFolderSchema = defineEntity({
  name: 'MessageFolder',
  tableName: 'message_folder',
  indexes: [{ name: 'message_folder_folder', properties: ['folder'] }],
  properties: {
    message: () => p.manyToOne(Message).primary().deleteRule('cascade'),
    folder: () => p.manyToOne(Folder).primary().deleteRule('cascade'),
  },
});

/** Which folders (one) or labels (any number) a message is in. */
export class MessageFolder extends MessageFolderSchema.class {}
MessageFolderSchema.setClass(MessageFolder);
