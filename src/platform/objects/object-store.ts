import { forEachAtOnce } from '../base/concurrency/for-each-at-once.ts';

/** Nest token of the object store: an `ObjectStore`, or `null` if `OBJECTS_URL` is not set. */
export const OBJECT_STORE = Symbol('ObjectStore');

/** What is known of an object, so that `get` can check what the store returns. */
export interface ObjectCheck {
  /** The object is not longer than this. */
  mostBytes: number;
  /** SHA-256 of its contents, 32 bytes, as `put` returned it. */
  digest: Buffer;
}

/**
 * Keeps bytes under keys. A key is never overwritten: a caller that stores something draws a new
 * one. Keys consist of letters, digits, `-`, `_` and `/`, at most 200 characters.
 *
 * All calls end within half a minute, and are repeated within that time if the store is busy or the
 * connection breaks. Never call them inside a transaction.
 * @throws {ObjectStoreUnavailableError} by every method, if the store does not do what was asked
 */
export interface ObjectStore {
  /**
   * Stores an object. After an error it may be stored or not.
   * @returns SHA-256 of the contents
   */
  put(key: string, contents: Buffer): Promise<Buffer>;

  /**
   * Reads an object.
   * @throws {ObjectDamagedError} if the store has no such object or returns other bytes
   */
  get(key: string, check: ObjectCheck): Promise<Buffer>;

  /** Removes an object, if it is there. */
  delete(key: string): Promise<void>;

  /**
   * Lists the keys of up to 1000 objects, in their order.
   * @param prefix which keys; `''` for all
   * @param after only keys that come later than this one; `''` for all
   * @returns an empty list at the end
   */
  list(prefix: string, after: string): Promise<string[]>;

  /**
   * Whether the store works, from the latest requests of this process. Makes a request if there was
   * none, and after a failure.
   * @returns what is wrong, without hosts and secrets; `null` if nothing is
   */
  check(): Promise<string | null>;

  /** Closes all connections. */
  close(): Promise<void>;
}

const MOST_DELETES_AT_ONCE = 16;

/**
 * Removes all objects whose key begins with a prefix. Run it again if it fails; it then removes the
 * rest.
 * @param prefix ends with `/`, so that `a/1/` does not mean `a/12/`
 * @returns the number of objects that were removed
 * @throws {ObjectStoreUnavailableError}
 */
export async function deletePrefix(
  store: ObjectStore,
  prefix: string,
  stop?: AbortSignal,
): Promise<number> {
  if (!prefix.endsWith('/')) throw new Error('a prefix must end with "/"');
  let removed = 0;
  for (let after = ''; ;) {
    const keys = stop?.aborted ? [] : await store.list(prefix, after);
    const last = keys.at(-1);
    if (last === undefined) return removed;
    await forEachAtOnce(MOST_DELETES_AT_ONCE, keys, (key) => store.delete(key));
    removed += keys.length;
    after = last;
  }
}
