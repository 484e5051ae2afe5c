import type { Sql } from '../database/sql.ts';

/*
 * Rate limit and circuit breaker of an account, or of a webhook: its row of `account_gate`. The engine makes and keeps it
 * (`claim-statement.ts`, `gate-signals.ts`); these are for its owner, in the owner's transaction. Lock queue rows before it.
 */

const SET_PACE = `
  insert into account_gate (account_id, slot_ms, max_in_flight) values ($1, $2, $3)
  on conflict (account_id) do nothing`;

/** Sets another pace than the usual one, before anything of it runs. @param slotMs milliseconds between two starts */
export async function setPace(
  sql: Sql,
  gateId: string,
  slotMs: number,
  maxInFlight: number,
): Promise<void> {
  await sql.query(SET_PACE, [gateId, slotMs, maxInFlight]);
}

const RESET_BREAKER = `
  update account_gate set closed_until = null, failures = 0, close_reason = null where account_id = $1`;

/** Forgets troubles: what waits for the circuit breaker may run. */
export async function resetBreaker(sql: Sql, gateId: string): Promise<void> {
  await sql.query(RESET_BREAKER, [gateId]);
}

const GIVE_SLOT_BACK = `
  update account_gate set next_slot = greatest(next_slot - slot_ms * interval '1 ms', now())
  where account_id = $1 and next_slot > now()`;

/** Gives back the last slot of those that wait in line. */
export async function giveSlotBack(sql: Sql, gateId: string): Promise<void> {
  await sql.query(GIVE_SLOT_BACK, [gateId]);
}

const FORGET = 'delete from account_gate where account_id = $1';

/** Removes what is remembered of an account or a webhook that is deleted. */
export async function forgetRateGate(sql: Sql, gateId: string): Promise<void> {
  await sql.query(FORGET, [gateId]);
}

/** What holds up the work of an account at the moment. */
export interface RateGateDelay {
  /** The circuit breaker lets nothing through until then; null: it is closed. */
  closedUntil: Date | null;
  closeReason: string | null;
  /** Work that was due before waits in line until then; null: there is no line. */
  queueUntil: Date | null;
}

const DELAY = `
  select case when closed_until > now() then closed_until end as "closedUntil", close_reason as "closeReason",
    case when next_slot > now() then next_slot end as "queueUntil"
  from account_gate where account_id = $1`;

/** What holds up the work of an account at the moment. */
export async function rateGateDelay(sql: Sql, gateId: string): Promise<RateGateDelay> {
  const [row] = await sql.query<RateGateDelay>(DELAY, [gateId]);
  return row ?? { closedUntil: null, closeReason: null, queueUntil: null };
}
