import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import {
  ObjectDamagedError,
  ObjectStoreUnavailableError,
} from '../../../platform/objects/object-errors.ts';
import {
  type ObjectCheck,
  OBJECT_STORE,
  type ObjectStore,
} from '../../../platform/objects/object-store.ts';
import { readBodyAgain, takeBack } from '../contents/object-contents.ts';
import { type PackedBody, readPackedBodies, unpackBodies } from '../contents/read-contents.ts';
import { readBodyKey } from './body-key.ts';

/** How long a client waits before it asks again, if an operator has to act. */
const OPERATOR_SECONDS = 60;

/**
 * Reads bodies of messages that may be in the object store. Never call it in a transaction. If the
 * store has lost or damaged a body, its message becomes a listed one, whose content is fetched from
 * the provider again.
 */
@Injectable()
export class StoredBodies {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore | null,
  ) {}

  /** Whether bodies may be in an object store. */
  get hasStore(): boolean {
    return this.store !== null;
  }

  /**
   * Replaces the stored bodies of rows by their texts; `null` without one. Those in the object
   * store are read in parallel.
   * @throws {ObjectStoreUnavailableError}, {ObjectDamagedError}
   */
  unpack<R extends PackedBody>(
    rows: readonly R[],
  ): Promise<(Omit<R, keyof PackedBody> & { body: string | null })[]> {
    return unpackBodies(rows, (key, check) => this.#read(key, check));
  }

  /**
   * Puts bodies of messages from the object store back into the database, for work that reads them
   * in a transaction.
   * @throws {ObjectStoreUnavailableError}, {ObjectDamagedError}
   */
  async bringBack(accountId: string, ids: readonly string[]): Promise<void> {
    if (!this.store) return;
    const rows = await readPackedBodies(this.database, accountId, ids);
    const bodies = rows.flatMap(({ id, bodyBytes, objectKey, objectDigest }) =>
      bodyBytes === null || objectKey === null || objectDigest === null
        ? []
        : { messageId: id, key: objectKey, check: { mostBytes: bodyBytes, digest: objectDigest } },
    );
    const read = bodies.map(async ({ messageId, key, check }) => {
      return { accountId, messageId, key, stored: await this.#read(key, check) };
    });
    await takeBack(this.database, await Promise.all(read));
  }

  /**
   * Checks, in a transaction that needs the body of a message, that the database has it.
   * @throws {ObjectStoreUnavailableError}
   */
  async requireHere(sql: Sql, accountId: string, id: string): Promise<void> {
    const [row] = await readPackedBodies(sql, accountId, [id]);
    if (row && row.packedBody === null)
      throw new ObjectStoreUnavailableError('has a body that is needed in the database', 1);
  }

  async #read(key: string, check: ObjectCheck): Promise<Buffer> {
    if (!this.store)
      throw new ObjectStoreUnavailableError('is not configured: set OBJECTS_URL', OPERATOR_SECONDS);
    try {
      return await this.store.get(key, check);
    } catch (error) {
      const owner = error instanceof ObjectDamagedError ? readBodyKey(key) : null;
      if (owner) await readBodyAgain(this.database, owner, key, this.clock.now());
      throw error;
    }
  }
}
