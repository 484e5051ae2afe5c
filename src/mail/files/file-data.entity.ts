import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';

const FileDataSchema = defineEntity({
  name: 'FileData',
  tableName: 'file_data',
  indexes: [{ name: 'file_data_account', properties: ['account'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
  },
});

/**
 * The bytes of a stored file. While they arrive, no row refers to them. Bytes without a reference
 * are pruned later.
 */
export class FileData extends FileDataSchema.class {}
FileDataSchema.setClass(FileData);

const FileChunkSchema = defineEntity({
  name: 'FileChunk',
  tableName: 'file_chunk',
  properties: {
    data: () => p.manyToOne(FileData).primary().deleteRule('cascade'),
    /** Position in the file, from 0. */
    no: p.integer().primary(),
    /** Stored uncompressed (`storage external`), because most files are compressed already. */
    bytes: p.blob(),
    /** `null` in rows of earlier releases that are not filled yet (ADR 0170). */
    account: p.uuid().fieldName('account_id').nullable(),
  },
});

/** A chunk of a file: a few hundred kilobytes. */
export class FileChunk extends FileChunkSchema.class {}
FileChunkSchema.setClass(FileChunk);
