import { storable } from '../../base/text/storable.ts';
import { columnsOf, type Sql } from '../../database/sql.ts';
import { setPace } from '../../work/gates/rate-gates.ts';
import { endLanes } from './lane.repository.ts';

/** One request to a webhook, as stored. */
export interface AttemptEvidence {
  id: string;
  webhookId: string;
  /** The first event of the request. */
  eventId: string;
  /** Account of the events, and the numbers of the first and the last; `null`: they have none. */
  accountId: string | null;
  firstSeq: number | null;
  lastSeq: number | null;
  /** How many events the request had. */
  deltas: number;
  attempt: number;
  startedAt: Date;
  tookMs: number;
  /** `null` if there was no response. */
  httpStatus: number | null;
  outcome: 'delivered' | 'retry' | 'dropped';
  /** Beginning of the response body, made safe to show; only for operators. */
  response: string | null;
  detail: string | null;
  nextAt: Date | null;
}

const INSERT_ATTEMPTS = `
  insert into webhook_attempt
    (id, webhook_id, event_id, attempt, started_at, took_ms, http_status, outcome, account_id, first_seq, last_seq, deltas,
     detail, next_at, response)
  select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::smallint[], $5::timestamptz[], $6::int[], $7::smallint[],
    $8::text[], $9::uuid[], $10::bigint[], $11::bigint[], $12::smallint[], $13::text[], $14::timestamptz[], $15::text[])`;

/** Stores attempts, in the caller's transaction. */
export async function insertAttempts(
  sql: Sql,
  attempts: readonly AttemptEvidence[],
): Promise<void> {
  if (attempts.length === 0) return;
  await sql.query(INSERT_ATTEMPTS, [
    ...columnsOf(
      attempts,
      'id',
      'webhookId',
      'eventId',
      'attempt',
      'startedAt',
      'tookMs',
      'httpStatus',
      'outcome',
      'accountId',
      'firstSeq',
      'lastSeq',
      'deltas',
    ),
    attempts.map(({ detail }) => (detail === null ? null : storable(detail))),
    attempts.map(({ nextAt }) => nextAt),
    attempts.map(({ response }) => response),
  ]);
}

export interface StoredAttempt extends Omit<AttemptEvidence, 'response'> {
  trigger: string | null;
}

const RECENT_ATTEMPTS = `
  select a.id, a.webhook_id as "webhookId", a.event_id as "eventId", a.account_id as "accountId", a.deltas,
         a.first_seq as "firstSeq", a.last_seq as "lastSeq", a.attempt, a.started_at as "startedAt",
         a.took_ms as "tookMs", a.http_status as "httpStatus", a.outcome, a.detail, a.next_at as "nextAt",
         e.type as trigger
  from webhook_attempt a left join webhook_event e on e.id = a.event_id
  where a.webhook_id = $1
  order by a.id desc limit $2 offset $3`;

/** Newest first. The caller must have checked that the application owns the webhook. */
export function recentAttempts(
  sql: Sql,
  webhookId: string,
  page: { limit: number; offset: number },
): Promise<StoredAttempt[]> {
  return sql.query(RECENT_ATTEMPTS, [webhookId, page.limit, page.offset]);
}

const LOCK_DELIVERIES = 'select from hook_job where webhook_id = $1 order by id for update';

/**
 * Locks the queued deliveries of a webhook, in the caller's transaction. Call it before locking the
 * webhook itself, because the dispatcher locks in that order.
 */
export async function lockDeliveries(sql: Sql, webhookId: string): Promise<void> {
  await sql.query(LOCK_DELIVERIES, [webhookId]);
}

const FORGET_DELIVERIES = 'delete from hook_job where webhook_id = $1';

/**
 * Deletes the queued deliveries of a webhook that is being deleted. Call it after `lockDeliveries`,
 * in the same transaction.
 */
export async function deleteDeliveries(sql: Sql, webhookId: string): Promise<void> {
  await endLanes(sql);
  await sql.query(FORGET_DELIVERIES, [webhookId]);
}

/**
 * Limits the webhook to 16 simultaneous deliveries and 500 a second. Further deliveries wait and
 * do not delay other webhooks.
 */
export function createDeliveryRateGate(sql: Sql, webhookId: string): Promise<void> {
  return setPace(sql, webhookId, 2, 16);
}
