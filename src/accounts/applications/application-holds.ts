import type { Sql } from '../../platform/database/sql.ts';
import type { Application } from './application.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** What an operator can stop: the sending of an application, or all of it. */
export type ApplicationHold = 'sending' | 'suspension';

/** An application whose state was set. */
export interface HeldApplication extends RowOf<Application, 'id' | 'clientId' | 'name'> {
  /** False if it was in this state already; a new reason counts as a change. */
  changed: boolean;
}

const COLUMNS: Readonly<Record<ApplicationHold, { at: string; reason: string }>> = {
  sending: { at: 'sending_paused_at', reason: 'sending_pause_reason' },
  suspension: { at: 'suspended_at', reason: 'suspension_reason' },
};

// The columns are constants of this file. A state that lasts keeps its beginning.
const set = ({ at, reason }: { at: string; reason: string }) => `
  with before as (select id, ${at} as at, ${reason} as reason from application where id = $1 for no key update)
  update application a
  set ${at} = case when $2::timestamptz is null then null else coalesce(b.at, $2) end, ${reason} = $3
  from before b where a.id = b.id
  returning a.id, a.client_id as "clientId", a.name,
    (b.at is null) <> ($2::timestamptz is null) or b.reason is distinct from $3 as changed`;

/**
 * Sets or ends a state of an application (ADR 0090, 0091). Requests and due work learn of it when
 * they begin. Runs in the caller's transaction.
 * @param hold `null` to end the state
 * @returns `undefined` if there is no such application
 */
export async function setApplicationHold(
  sql: Sql,
  applicationId: string,
  kind: ApplicationHold,
  hold: { at: Date; reason: string | null } | null,
): Promise<HeldApplication | undefined> {
  const values = [applicationId, hold?.at ?? null, hold?.reason ?? null];
  return (await sql.query<HeldApplication>(set(COLUMNS[kind]), values))[0];
}
