import type { Sql } from '../../platform/database/sql.ts';
import type { Grant } from './grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A pause or suspension that an operator sets. */
export interface Hold {
  at: Date;
  /** The operator's words, shown to users; `null` for none. */
  reason: string | null;
}

/** An account whose sending was paused or resumed. */
export interface HeldAccount extends RowOf<Grant, 'applicationId' | 'email'> {
  /** False if the account was in this state already; a new reason counts as a change. */
  changed: boolean;
}

// A pause that lasts keeps its beginning.
const SET = `
  with before as (
    select id, sending_paused_at, sending_pause_reason from "grant" where id = $1 for no key update)
  update "grant" g
  set sending_paused_at = case when $2::timestamptz is null then null else coalesce(b.sending_paused_at, $2) end,
    sending_pause_reason = $3
  from before b where g.id = b.id
  returning g.application_id as "applicationId", g.email,
    (b.sending_paused_at is null) <> ($2::timestamptz is null) or b.sending_pause_reason is distinct from $3 as changed`;

/**
 * Pauses the sending of an account, or resumes it. Messages learn of it when they are due (ADR
 * 0090). Runs in the caller's transaction.
 * @param hold `null` to resume
 * @returns `undefined` if there is no such account
 */
export async function setSendingPause(
  sql: Sql,
  accountId: string,
  hold: Hold | null,
): Promise<HeldAccount | undefined> {
  const values = [accountId, hold?.at ?? null, hold?.reason ?? null];
  return (await sql.query<HeldAccount>(SET, values))[0];
}
