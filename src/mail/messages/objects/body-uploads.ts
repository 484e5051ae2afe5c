import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { columnsOf, Database, type Sql } from '../../../platform/database/sql.ts';
import { MetricSources } from '../../../platform/metrics/metric-sources.ts';
import { objectUploadsWaiting } from '../../../platform/metrics/object-metrics.ts';
import { ObjectStoreUnavailableError } from '../../../platform/objects/object-errors.ts';
import { OBJECT_STORE, type ObjectStore } from '../../../platform/objects/object-store.ts';
import type { BodyOwner } from '../contents/object-contents.ts';
import { storeObjects } from './body-transfers.ts';

const CLAIM_ROWS = 200;
const LEASE_MS = 5 * 60_000;
const RETRY_MS = 30_000;
const MOST_MS = 50_000;

const CLAIM = `
  with due as (
    select account_id, message_id from object_upload where due_at <= $1
    order by due_at limit ${CLAIM_ROWS} for update skip locked)
  update object_upload u set due_at = $2 from due d
  where u.account_id = d.account_id and u.message_id = d.message_id
  returning u.account_id as "accountId", u.message_id as "messageId"`;
const WAITING =
  'select count(*)::int as count from (select from object_upload limit 100000) waiting';
const ADD = `
  insert into object_upload (account_id, message_id, due_at)
  select $1, x.id, $3 from unnest($2::uuid[]) x(id)
  on conflict (account_id, message_id) do update set due_at = excluded.due_at`;
const GIVEN = 'unnest($1::uuid[], $2::uuid[]) x(account_id, message_id)';
// A body that was written anew meanwhile is due again, at another time than this lease ends.
const SAME = 'u.account_id = x.account_id and u.message_id = x.message_id and u.due_at = $3';
const DONE = `delete from object_upload u using ${GIVEN} where ${SAME}`;
const RELEASE = `update object_upload u set due_at = $4 from ${GIVEN} where ${SAME}`;

/**
 * Moves new bodies from the database into the object store, some seconds after they were written.
 * So a sync pass never waits for the store, and bodies stay in the database while the store is
 * away.
 */
@Injectable()
export class BodyUploads implements OnModuleInit {
  readonly #log = new Logger('ObjectStore');

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'objects'>,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore | null,
    private readonly sources: MetricSources,
  ) {}

  onModuleInit(): void {
    if (!this.store) return;
    this.sources.add({
      name: 'object uploads',
      seconds: 15,
      metrics: [objectUploadsWaiting],
      read: async (sql) => {
        const [row] = await sql.query<{ count: number }>(WAITING);
        return () => objectUploadsWaiting.set(row?.count ?? 0);
      },
    });
  }

  /**
   * Notes, in the transaction that writes them, that bodies may move. Does nothing without an
   * object store.
   */
  async add(sql: Sql, accountId: string, messageIds: readonly string[], at: Date): Promise<void> {
    if (!this.store || !this.config.objects.writes || messageIds.length === 0) return;
    await sql.query(ADD, [accountId, messageIds, at]);
  }

  /** Moves what is due for less than a minute, so that another process can continue. */
  async runBriefly(stop: AbortSignal): Promise<void> {
    const { store } = this;
    if (!store || !this.config.objects.writes) return;
    const until = AbortSignal.any([stop, AbortSignal.timeout(MOST_MS)]);
    while (!until.aborted) {
      const now = this.clock.now().getTime();
      const lease = new Date(now + LEASE_MS);
      const claimed = await this.database.query<BodyOwner>(CLAIM, [new Date(now), lease]);
      if (claimed.length === 0) return;
      try {
        await this.#move(store, claimed, lease);
      } catch (error) {
        await settle(this.database, RELEASE, claimed, lease, new Date(now + RETRY_MS));
        if (!(error instanceof ObjectStoreUnavailableError)) throw error;
        this.#log.warn(`bodies stay in the database: the object store ${error.reason}`);
        return;
      }
    }
  }

  /** Moves all claimed bodies, a few megabytes at a time. */
  async #move(store: ObjectStore, claimed: readonly BodyOwner[], lease: Date): Promise<void> {
    const places = { database: this.database, store };
    const { minBytes } = this.config.objects;
    for (let left = claimed; left.length > 0;) {
      const { read } = await storeObjects(places, left, minBytes, (sql, bodies) =>
        settle(sql, DONE, bodies, lease),
      );
      const done = new Set(read.map(({ messageId }) => messageId));
      // What is not read may stay in the database: its message is gone, or its body is short.
      if (done.size === 0) return settle(this.database, DONE, left, lease);
      left = left.filter(({ messageId }) => !done.has(messageId));
    }
  }
}

async function settle(
  sql: Sql,
  statement: string,
  owners: readonly BodyOwner[],
  ...times: Date[]
): Promise<void> {
  await sql.query(statement, [...columnsOf(owners, 'accountId', 'messageId'), ...times]);
}
