import type { Sql } from '../../database/sql.ts';
import type { AccountGate } from './account-gate.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/*
 * The rate gate of an account or a webhook: its rate limit and circuit breaker, one row of
 * `account_gate`. The engine creates and updates that row (`claim-statement.ts`,
 * `rate-gate-signals.ts`). The functions here are for the owner of the account or webhook, inside
 * its transaction. Lock queue rows before the rate gate.
 */

const SET_PACE = `
  insert into account_gate (account_id, slot_ms, max_in_flight) values ($1, $2, $3)
  on conflict (account_id) do nothing`;

/**
 * Sets the pace of a new account or webhook, in place of the default. Does nothing if the rate gate
 * exists already, so call it before any of its rows run.
 * @param slotMs milliseconds between two starts
 */
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

/** Resets the circuit breaker: rows that wait for it may run. */
export async function resetBreaker(sql: Sql, gateId: string): Promise<void> {
  await sql.query(RESET_BREAKER, [gateId]);
}

const RESET_GATE = `
  update account_gate set closed_until = null, failures = 0, close_reason = null, next_slot = now()
  where account_id = $1`;

/**
 * Resets the circuit breaker and the slots. For an owner who makes all its waiting rows due at
 * once: they get new slots from now on.
 */
export async function resetGate(sql: Sql, gateId: string): Promise<void> {
  await sql.query(RESET_GATE, [gateId]);
}

const LET_ONE_THROUGH = `
  update account_gate set closed_until = now()
  where account_id = any(array(
    select account_id from account_gate where account_id = any($1::uuid[]) and closed_until > now()
    order by account_id for update))`;

/**
 * Ends the pauses of circuit breakers early: each lets one row through now, and all others once
 * that row reports that the server is well.
 */
export async function letOneThrough(sql: Sql, gateIds: readonly string[]): Promise<void> {
  await sql.query(LET_ONE_THROUGH, [gateIds]);
}

/**
 * SQL condition: the circuit breaker of an account or webhook is stopped now.
 * @param gateId SQL expression of its id
 */
export const isBreakerStopped = (gateId: string): string => `
  exists (select 1 from account_gate a where a.account_id = ${gateId} and a.closed_until > now())`;

const GIVE_SLOT_BACK = `
  update account_gate set next_slot = greatest(next_slot - slot_ms * interval '1 ms', now())
  where account_id = $1 and next_slot > now()`;

/** Frees the last assigned slot, because one row no longer waits for its slot. */
export async function giveSlotBack(sql: Sql, gateId: string): Promise<void> {
  await sql.query(GIVE_SLOT_BACK, [gateId]);
}

const FORGET = 'delete from account_gate where account_id = $1';

/** Removes the rate gate of an account or webhook that is being deleted. */
export async function forgetRateGate(sql: Sql, gateId: string): Promise<void> {
  await sql.query(FORGET, [gateId]);
}

const FORGET_ALL = 'delete from account_gate where account_id = any($1::uuid[])';

/** Removes rate gates that a late result has made again after their accounts were deleted. */
export async function forgetRateGates(sql: Sql, gateIds: readonly string[]): Promise<void> {
  await sql.query(FORGET_ALL, [gateIds]);
}

/** What currently delays the work of an account. */
export interface RateGateDelay extends RowOf<AccountGate, 'stopReason'> {
  /** When the circuit breaker lets rows through again; `null` if it is not stopped now. */
  stoppedUntil: Date | null;
  /** When the last row that waits for its slot will start; `null` if no row waits for a slot. */
  queueUntil: Date | null;
}

const DELAY = `
  select case when closed_until > now() then closed_until end as "stoppedUntil", close_reason as "stopReason",
    case when next_slot > now() then next_slot end as "queueUntil"
  from account_gate where account_id = $1`;

/** Returns what currently delays the work of an account. */
export async function rateGateDelay(sql: Sql, gateId: string): Promise<RateGateDelay> {
  const [row] = await sql.query<RateGateDelay>(DELAY, [gateId]);
  return row ?? { stoppedUntil: null, stopReason: null, queueUntil: null };
}
