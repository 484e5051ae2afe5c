import { recordChanges } from '../deltas/change-log.ts';
import { storable } from '../common/text/storable.ts';
import type { Sql } from '../database/sql.ts';
import { accountChange } from './account-change.ts';

/** Credentials that were refused for good. */
export interface CredentialsRefusal {
  accountId: string;
  /** The provider's words. */
  reason: string;
  /**
   * The grant's `settings_sealed` that were refused: a user who has authenticated again meanwhile is not asked to do
   * so once more. Absent: whatever they are.
   */
  settingsSealed?: string;
}

// Locked in one order by everybody, so that two workers with the same accounts do not wait in a circle.
const MARK = `
  with refused as (
    select distinct on (id) * from unnest($1::uuid[], $2::text[], $3::text[]) r(id, reason, sealed) order by id),
  held as materialized (
    select g.id, r.reason from "grant" g join refused r using (id)
    where g.status = 'valid' and (r.sealed is null or g.settings_sealed = r.sealed)
    order by g.id for no key update of g)
  update "grant" g set status = 'invalid', status_reason = h.reason, sync_state = 'invalid', updated_at = $4
  from held h where g.id = h.id
  returning g.id as "accountId", g.application_id as "applicationId"`;

/**
 * The provider refused credentials for good: the grants become `invalid` until their users authenticate again, and
 * subscribers hear `account.invalid`. In the caller's transaction; grants that are already invalid are left alone.
 * @returns whether webhook deliveries were queued
 */
export async function markGrantsInvalid(
  sql: Sql,
  refusals: readonly CredentialsRefusal[],
  at: Date,
): Promise<boolean> {
  if (refusals.length === 0) return false;
  const grants = await sql.query<{ accountId: string; applicationId: string }>(MARK, [
    refusals.map(({ accountId }) => accountId),
    refusals.map(({ reason }) => storable(reason)),
    refusals.map(({ settingsSealed }) => settingsSealed ?? null),
    at,
  ]);
  return recordChanges(
    sql,
    grants.map((grant) => accountChange(grant, 'modify', 'account.invalid', at)),
  );
}
