import { Inject, Injectable, Logger } from '@nestjs/common';
import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { Database, type Sql } from '../../../platform/database/sql.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';
import { OBJECT_STORE, type ObjectStore } from '../../../platform/objects/object-store.ts';
import { namedKeysOf } from '../contents/object-contents.ts';
import { readBodyKey } from './body-key.ts';
import type { ObjectOrphan } from './object-orphan.entity.ts';
import type { ObjectSweep as ObjectSweepRow } from './object-sweep.entity.ts';

const LEASE_MS = 5 * 60_000;
/** A sweep begins this long after the one before has ended. */
const PAUSE_MS = 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000;
const MOST_MS = 50_000;
const MOST_DELETES_AT_ONCE = 8;

const LEASE = `
  update object_sweep set due_at = $2 where due_at <= $1 returning after_key as "afterKey"`;
// The lease is the exact time that was written, so a worker that lost it changes nothing.
const WENT_ON = `update object_sweep set after_key = $2, due_at = $3 where due_at = $1`;

// Objects that are named again after a restore, and objects that are gone, are no orphans.
const FORGET = `
  delete from object_orphan where key > $1 and ($2::text is null or key <= $2) and key <> all($3::text[])`;
const NOTE = `
  insert into object_orphan (key, seen_at) select key, $2 from unnest($1::text[]) x(key)
  on conflict (key) do nothing`;
const EXPIRED = `select key from object_orphan where key = any($1::text[]) and seen_at <= $2`;
const GONE = `delete from object_orphan where key = any($1::text[])`;

/** A part of the list of all objects. */
interface Swept {
  afterKey: string;
  isEnd: boolean;
}

/**
 * Removes objects that no row names: of deleted and changed messages, and of workers that died
 * between storing an object and naming it. An object is removed when it has been without a row for
 * `OBJECTS_KEEP_DAYS`, because a backup that is younger may name it. One worker at a time sweeps,
 * from the first key to the last, once a day. Objects with foreign keys stay.
 */
@Injectable()
export class ObjectSweep {
  readonly #log = new Logger('ObjectStore');

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'objects'>,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore | null,
  ) {}

  /** Examines pages that are due for less than a minute, so that another process can continue. */
  async runBriefly(stop: AbortSignal): Promise<void> {
    if (!this.store) return;
    const until = AbortSignal.any([stop, AbortSignal.timeout(MOST_MS)]);
    let removed = 0;
    while (!until.aborted) {
      const now = this.clock.now();
      const lease = new Date(now.getTime() + LEASE_MS);
      const [row] = await this.database.query<RowOf<ObjectSweepRow, 'afterKey'>>(LEASE, [
        now,
        lease,
      ]);
      if (!row) break;
      const { afterKey, isEnd, count } = await this.#page(this.store, row.afterKey);
      removed += count;
      const next = this.clock.now().getTime() + (isEnd ? PAUSE_MS : 0);
      await this.database.query(WENT_ON, [lease, isEnd ? '' : afterKey, new Date(next)]);
    }
    if (removed > 0) this.#log.log(`removed ${removed} objects that no row had named`);
  }

  async #page(store: ObjectStore, after: string): Promise<Swept & { count: number }> {
    const listed = await store.list('', after);
    const keys = listed.filter((key) => readBodyKey(key) !== null);
    const last = listed.at(-1) ?? null;
    const expired = await this.database.transaction((sql) => this.#note(sql, keys, after, last));
    await forEachAtOnce(MOST_DELETES_AT_ONCE, expired, (key) => store.delete(key));
    await this.database.query(GONE, [expired]);
    return { afterKey: last ?? '', isEnd: last === null, count: expired.length };
  }

  /**
   * Notes which objects of a page no row names.
   * @param last the last key of the page; `null` at the end of the list
   * @returns keys of objects that nothing has named for long enough
   */
  async #note(
    sql: Sql,
    keys: readonly string[],
    after: string,
    last: string | null,
  ): Promise<string[]> {
    const named = await namedKeysOf(
      sql,
      keys.flatMap((key) => readBodyKey(key) ?? []),
    );
    const orphans = keys.filter((key) => !named.has(key));
    const now = this.clock.now();
    await sql.query(FORGET, [after, last, orphans]);
    await sql.query(NOTE, [orphans, now]);
    const before = new Date(now.getTime() - this.config.objects.keepDays * DAY_MS);
    const rows = await sql.query<RowOf<ObjectOrphan, 'key'>>(EXPIRED, [orphans, before]);
    return rows.map(({ key }) => key);
  }
}
