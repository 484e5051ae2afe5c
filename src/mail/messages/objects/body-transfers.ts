import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import type { Database, Sql } from '../../../platform/database/sql.ts';
import type { ObjectStore } from '../../../platform/objects/object-store.ts';
import {
  type BodyOwner,
  leavingAfter,
  leavingBodiesOf,
  nameObjects,
  namedAfter,
  type NamedObject,
  type StoredBytes,
  takeBack,
} from '../contents/object-contents.ts';
import { newBodyKey } from './body-key.ts';

/** Limits of one step, so that a process holds few megabytes of bodies. */
const STEP_ROWS = 200;
const STEP_BYTES = 8 * 1024 * 1024;
const MOST_REQUESTS_AT_ONCE = 8;

/** Comes before every owner. */
const FIRST: BodyOwner = {
  accountId: '00000000-0000-0000-0000-000000000000',
  messageId: '00000000-0000-0000-0000-000000000000',
};

/**
 * Moves bodies into the object store: stores the objects first, and then lets the rows name them. A
 * process that dies in between leaves objects without a row, which the sweep removes. Bodies that
 * do not fit into 8 MB together are left for the next call.
 * @param inCommit runs in the transaction that names the objects
 * @returns the bodies that were read, and how many of them are in the object store now
 * @throws {ObjectStoreUnavailableError}
 */
export async function storeObjects(
  { database, store }: { database: Database; store: ObjectStore },
  owners: readonly BodyOwner[],
  minBytes: number,
  inCommit?: (sql: Sql, read: readonly BodyOwner[]) => Promise<unknown>,
): Promise<{ read: readonly BodyOwner[]; moved: number }> {
  const bodies = await leavingBodiesOf(database, owners, minBytes, STEP_BYTES);
  const objects: NamedObject[] = [];
  await forEachAtOnce(MOST_REQUESTS_AT_ONCE, bodies, async ({ accountId, messageId, stored }) => {
    const key = newBodyKey(accountId, messageId);
    objects.push({ accountId, messageId, key, digest: await store.put(key, stored) });
  });
  return database.transaction(async (sql) => {
    const named = await nameObjects(sql, objects);
    await inCommit?.(sql, bodies);
    return { read: bodies, moved: named.length };
  });
}

/** Reports progress: bodies moved since the last report. */
type OnMoved = (moved: number) => void;

/**
 * Moves all bodies of at least `minBytes` into the object store, in the order of their accounts. A
 * run that was stopped or killed is continued by another one.
 * @throws {ObjectStoreUnavailableError}
 */
export async function moveToObjects(
  places: { database: Database; store: ObjectStore },
  minBytes: number,
  onMoved: OnMoved,
): Promise<void> {
  let after = FIRST;
  for (;;) {
    const owners = await leavingAfter(places.database, after, minBytes, STEP_ROWS);
    if (owners.length === 0) return;
    const { read, moved } = await storeObjects(places, owners, minBytes);
    onMoved(moved);
    // Bodies that did not fit into this step come with the next one. If no body was read, because
    // all messages have changed meanwhile, the next step begins behind them.
    after = read.at(-1) ?? owners.at(-1) ?? after;
  }
}

/**
 * Moves all bodies from the object store back into the database. Their objects stay until the sweep
 * removes them, so older backups find them. A run that was stopped or killed is continued by
 * another one.
 * @throws {ObjectStoreUnavailableError}
 * @throws {ObjectDamagedError}
 */
export async function moveToDatabase(
  { database, store }: { database: Database; store: ObjectStore },
  onMoved: OnMoved,
): Promise<void> {
  let after = FIRST;
  for (;;) {
    const limits = { rows: STEP_ROWS, bytes: STEP_BYTES };
    const named = await namedAfter(database, after, limits);
    if (named.length === 0) return;
    const bodies: (StoredBytes & { key: string })[] = [];
    await forEachAtOnce(MOST_REQUESTS_AT_ONCE, named, async ({ key, digest, bytes, ...owner }) => {
      const stored = await store.get(key, { mostBytes: bytes, digest });
      bodies.push({ ...owner, key, stored });
    });
    onMoved((await takeBack(database, bodies)).length);
    after = named.at(-1) ?? after;
  }
}
