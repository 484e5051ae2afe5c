import { Injectable } from '@nestjs/common';
import { storable } from '../../platform/base/text/storable.ts';
import { Database } from '../../platform/database/sql.ts';
import type { PushPull } from './push-pull.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** The lease of this process on the notifications of an integration. */
export type PullLease = RowOf<PushPull, 'integrationId' | 'fence' | 'failures'>;

const KEEP = `
  with gone as (delete from push_pull where integration_id <> all($1::uuid[]))
  insert into push_pull (integration_id, due_at)
  select id, $2 from integration where id = any($1::uuid[]) on conflict do nothing`;

const LEASE = `
  with due as (
    select integration_id from push_pull where due_at <= $1 order by due_at limit $3 for update skip locked)
  update push_pull p set due_at = $2, fence = fence + 1 from due where p.integration_id = due.integration_id
  returning p.integration_id as "integrationId", p.fence, p.failures`;

const EXTEND = `
  update push_pull set due_at = $3, pulled_at = $4, failures = 0, error = null
  where integration_id = $1 and fence = $2 returning 1`;

const RELEASE = `
  update push_pull set due_at = $3, failures = $4, error = $5 where integration_id = $1 and fence = $2`;

/** Rows of `push_pull`. */
@Injectable()
export class PushPullRepository {
  constructor(private readonly database: Database) {}

  /** Adds rows for these integrations, and deletes all others. */
  async keep(integrationIds: readonly string[], now: Date): Promise<void> {
    await this.database.query(KEEP, [integrationIds, now]);
  }

  lease(now: Date, until: Date, most: number): Promise<PullLease[]> {
    return this.database.query<PullLease>(LEASE, [now, until, most]);
  }

  /** Records a success. @returns false if the lease is lost */
  async extend({ integrationId, fence }: PullLease, now: Date, until: Date): Promise<boolean> {
    const kept = await this.database.query(EXTEND, [integrationId, fence, until, now]);
    return kept.length > 0;
  }

  /** Ends the lease. @param error why it failed; `null` if it has not */
  async release(
    { integrationId, fence }: PullLease,
    dueAt: Date,
    failures: number,
    error: string | null,
  ): Promise<void> {
    const text = error === null ? null : storable(error, 500);
    await this.database.query(RELEASE, [integrationId, fence, dueAt, failures, text]);
  }
}
