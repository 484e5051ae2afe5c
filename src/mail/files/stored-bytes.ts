import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import type { FilledTable } from '../../platform/account-fills/fill-account.ts';

/** A chunk is written once at least this many bytes have arrived. */
export const CHUNK_BYTES = 256 * 1024;

/**
 * Bytes of a chunk that are read at a time. PostgreSQL sends bytes as hexadecimal text, which
 * doubles their size, and every download buffers some. Fifty downloads of whole chunks needed a
 * hundred megabytes. PostgreSQL reads no more of a chunk than requested.
 */
const PIECE_BYTES = 32 * 1024;

/**
 * Maximum number of chunk statements that run at once in one process. The limit bounds memory and
 * leaves connections for other requests.
 */
const MOST_STATEMENTS = 4;

const BEGIN = 'insert into file_data (id, account_id) values ($1, $2)';
const WRITE = 'insert into file_chunk (data_id, no, bytes, account_id) values ($1, $2, $3, $4)';
const READ = `
  select substring(bytes from $3 + 1 for ${PIECE_BYTES}) as bytes, octet_length(bytes) as length
  from file_chunk where data_id = $1 and no = $2`;
const DISCARD = `
  delete from file_data d where d.account_id = $1 and d.id = any($2::uuid[])
    and not exists (select 1 from file f where f.data_id = d.id)
    and not exists (select 1 from draft_file f where f.data_id = d.id)`;

/** Where the account of a chunk is found (`account-fills.ts`). */
export const ACCOUNT_OF_CHUNKS: FilledTable = {
  table: 'file_chunk',
  key: { data_id: 'uuid', no: 'integer' },
  parent: 'file_data',
  reference: 'data_id',
};

/** A part of a chunk. */
interface Piece {
  bytes: Buffer;
  /** Bytes of the whole chunk. */
  length: number;
}

/** Bytes stored in the database in chunks. A file is never in memory as a whole. */
@Injectable()
export class StoredBytes {
  readonly #limit = new KeyedLimit(MOST_STATEMENTS);

  constructor(private readonly database: Database) {}

  /**
   * Stores bytes as they arrive, and reads them no faster than it can store them. No row refers to
   * the stored bytes yet: a caller that does not use them must discard them. `pruneFiles` deletes
   * the bytes left by a process that crashed.
   * @param use called with the id before anything is stored under it
   * @param check called with the number of bytes so far; an error it throws ends the transfer
   * @returns the number of bytes
   */
  async store(
    accountId: string,
    bytes: AsyncIterable<Buffer>,
    { use, check }: { use: (id: string) => void; check?: (size: number) => void },
  ): Promise<number> {
    const id = newId();
    use(id);
    await this.database.query(BEGIN, [id, accountId]);
    let [size, no, waiting] = [0, 0, 0];
    let pieces: Buffer[] = [];
    const write = async () => {
      const chunk = Buffer.concat(pieces);
      [pieces, waiting] = [[], 0];
      await this.#limit.run('', () => this.database.query(WRITE, [id, no, chunk, accountId]));
      no += 1;
    };
    for await (const piece of bytes) {
      size += piece.length;
      waiting += piece.length;
      check?.(size);
      pieces.push(piece);
      if (waiting >= CHUNK_BYTES) await write();
    }
    if (waiting > 0) await write();
    return size;
  }

  /**
   * Streams the bytes piece by piece, as they are read. Between two pieces no database connection
   * is in use. The stream fails if the bytes are deleted meanwhile.
   * @param sql where to read; default: the primary
   */
  open(id: string, size: number, sql: Sql = this.database): Readable {
    return Readable.from(this.#pieces(id, size, sql));
  }

  async *#pieces(id: string, size: number, sql: Sql): AsyncGenerator<Buffer> {
    for (let [no, at, read] = [0, 0, 0]; read < size;) {
      const values = [id, no, at];
      const [row] = await this.#limit.run('', () => sql.query<Piece>(READ, values));
      if (!row) throw new Error(`stored file ${id} ends at ${read} of ${size} bytes`);
      read += row.bytes.length;
      at += row.bytes.length;
      if (at >= row.length) [no, at] = [no + 1, 0];
      yield row.bytes;
    }
  }

  /** Deletes stored bytes with these ids, unless a row refers to them. */
  async discard(accountId: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.database.query(DISCARD, [accountId, ids]);
  }
}
