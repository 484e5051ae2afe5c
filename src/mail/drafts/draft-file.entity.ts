import { defineEntity, p } from '@mikro-orm/core';
import { FileData } from '../files/file-data.entity.ts';
import { Message } from '../messages/message.entity.ts';

const DraftFileSchema = defineEntity({
  name: 'DraftFile',
  tableName: 'draft_file',
  indexes: [
    { name: 'draft_file_file', properties: ['fileId'] },
    { name: 'draft_file_data', properties: ['data'], where: 'data_id is not null' },
  ],
  properties: {
    message: () => p.manyToOne(Message).primary().deleteRule('cascade'),
    /** From 0. */
    position: p.integer().primary(),
    /** What `file_ids` named. The draft keeps its attachment also when the message it came from is deleted. */
    fileId: p.uuid(),
    filename: p.text(),
    contentType: p.text(),
    contentDisposition: p.text(),
    contentId: p.text().nullable(),
    /** Bytes, decoded. */
    size: p.integer(),
    /** Its bytes; null until the job of the draft has fetched them from the provider. */
    data: () => p.manyToOne(FileData).ref().nullable().deleteRule('set null'),
  },
});

/** What a draft that was written here carries. */
export class DraftFile extends DraftFileSchema.class {}
DraftFileSchema.setClass(DraftFile);
