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

/** Bytes of a file that are stored here. Nobody refers to it while they are arriving; what nobody refers to is pruned. */
export class FileData extends FileDataSchema.class {}
FileDataSchema.setClass(FileData);

const FileChunkSchema = defineEntity({
  name: 'FileChunk',
  tableName: 'file_chunk',
  properties: {
    data: () => p.manyToOne(FileData).primary().deleteRule('cascade'),
    /** Position, from 0. */
    no: p.integer().primary(),
    /** Stored as they are (`storage external`): files are mostly compressed already. */
    bytes: p.blob(),
  },
});

/** A few hundred kilobytes of a file. */
export class FileChunk extends FileChunkSchema.class {}
FileChunkSchema.setClass(FileChunk);
