import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';
import { Database } from '../../platform/database/sql.ts';

/** A chunk is written when there is at least so much of it. */
export const CHUNK_BYTES = 256 * 1024;

/**
 * So much of a chunk is read at a time. In answers bytes are hexadecimal, twice as long, and each download has some of them
 * in hand: whole chunks of many downloads were a hundred megabytes. PostgreSQL reads no more of a chunk than is asked for.
 */
const PIECE_BYTES = 32 * 1024;

/** Statements with chunks that one process runs at a time: everybody else finds connections too, and memory is bounded. */
const MOST_STATEMENTS = 4;

const BEGIN = 'insert into file_data (id, account_id) values ($1, $2)';
const WRITE = 'insert into file_chunk (data_id, no, bytes) values ($1, $2, $3)';
const READ = `
  select substring(bytes from $3 + 1 for ${PIECE_BYTES}) as bytes, octet_length(bytes) as length
  from file_chunk where data_id = $1 and no = $2`;
const DISCARD = `
  delete from file_data d where d.account_id = $1 and d.id = any($2::uuid[])
    and not exists (select 1 from file f where f.data_id = d.id)
    and not exists (select 1 from draft_file f where f.data_id = d.id)`;

/** A part of a chunk. */
interface Piece {
  bytes: Buffer;
  /** Bytes of the chunk. */
  length: number;
}

/** Bytes that are stored in the database, in chunks: never is a file in memory as a whole. */
@Injectable()
export class StoredBytes {
  readonly #limit = new KeyedLimit(MOST_STATEMENTS);

  constructor(private readonly database: Database) {}

  /**
   * Stores bytes as they come, and takes them no faster than they are stored. Nobody refers to them yet: whoever does
   * not come to that discards them, and a process that dies leaves them to `pruneFiles`.
   * @param use told the id before anything is stored under it
   * @param check told how many bytes there are so far; what it throws ends it
   * @returns how many there are
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
      await this.#limit.run('', () => this.database.query(WRITE, [id, no, chunk]));
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
   * The bytes, piece by piece as they are taken: no connection is held in between. The stream fails when they are
   * removed meanwhile.
   */
  open(id: string, size: number): Readable {
    return Readable.from(this.#pieces(id, size));
  }

  async *#pieces(id: string, size: number): AsyncGenerator<Buffer> {
    for (let [no, at, read] = [0, 0, 0]; read < size;) {
      const values = [id, no, at];
      const [row] = await this.#limit.run('', () => this.database.query<Piece>(READ, values));
      if (!row) throw new Error(`stored file ${id} ends at ${read} of ${size} bytes`);
      read += row.bytes.length;
      at += row.bytes.length;
      if (at >= row.length) [no, at] = [no + 1, 0];
      yield row.bytes;
    }
  }

  /** Removes those that nobody refers to. */
  async discard(accountId: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.database.query(DISCARD, [accountId, ids]);
  }
}
