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
    /** Counts from 0. */
    position: p.integer().primary(),
    /**
     * Id from `file_ids`. The draft keeps the attachment even if the message it came from is
     * deleted.
     */
    fileId: p.uuid(),
    filename: p.text(),
    contentType: p.text(),
    contentDisposition: p.text(),
    contentId: p.text().nullable(),
    /** Size in bytes, decoded. */
    size: p.integer(),
    /** The bytes; `null` until the draft's job has fetched them from the provider. */
    data: () => p.manyToOne(FileData).ref().nullable().deleteRule('set null'),
    /** `null` in rows of earlier releases that are not filled yet (ADR 0170). */
    account: p.uuid().fieldName('account_id').nullable(),
  },
});

/** A file of a draft that was written through the API. */
export class DraftFile extends DraftFileSchema.class {}
DraftFileSchema.setClass(DraftFile);
