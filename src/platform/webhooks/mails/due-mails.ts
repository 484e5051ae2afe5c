import { newId } from '../../base/ids/ids.ts';
import { storable } from '../../base/text/storable.ts';
import type { Sql, SqlConnection } from '../../database/sql.ts';
import type { NotNull, RowOf } from '../../database/rows/row-of.ts';
import type { MAILED_STATES } from '../webhook-state.ts';
import type { Webhook } from '../webhook.entity.ts';
import type { WebhookMail } from './webhook-mail.entity.ts';
import { BETWEEN_MAILS_MS, COLLECT_MS } from './schedule-mails.ts';

/** Changed webhooks of one application that are read for a mail. Others follow in the next one. */
const MOST_CHANGED = 10_000;

/** A mail that this process may send until its lease ends. */
export interface LeasedMail extends RowOf<WebhookMail, 'applicationId' | 'mailId' | 'changes'> {
  /** 1 for the first attempt. */
  attempts: number;
}

const LEASE = `
  with due as (
    select application_id from webhook_mail where due_at <= $1 order by due_at limit 1
    for update skip locked)
  update webhook_mail m set due_at = $2, attempts = m.attempts + 1
  from due where m.application_id = due.application_id
  returning m.application_id as "applicationId", m.mail_id as "mailId", m.attempts, m.changes`;

/**
 * Leases the mail that has been due for the longest time.
 * @param until end of the lease. If the process dies, another one sends the mail then
 * @returns `undefined` if none is due
 */
export async function leaseWebhookMail(
  sql: Sql,
  now: Date,
  until: Date,
): Promise<LeasedMail | undefined> {
  return (await sql.query<LeasedMail>(LEASE, [now, until]))[0];
}

/** A webhook whose state differs from what the last mail about it reported. */
export interface ChangedWebhook extends RowOf<Webhook, 'id'> {
  /** `active`: it has recovered. */
  state: (typeof MAILED_STATES)[number] | 'active';
}

// What an operator has stopped is no failure, and what the owner has set is known to the owner.
const CHANGED = `
  select id, state from webhook
  where application_id = $1 and not (paused and state = 'failed')
    and (state in ('failing', 'failed') and mailed_state is distinct from state
      or state = 'active' and mailed_state is not null)
  order by array_position(array['failed', 'failing', 'active'], state), failing_since, id
  limit ${MOST_CHANGED}`;

/** The webhooks that a mail should report: failed ones first, then failing, then recovered ones. */
export function changedWebhooks(sql: Sql, applicationId: string): Promise<ChangedWebhook[]> {
  return sql.query<ChangedWebhook>(CHANGED, [applicationId]);
}

/** What a mail says about a webhook. Only webhooks with an address can fail. */
export interface ReportedWebhook
  extends
    ChangedWebhook,
    RowOf<Webhook, 'failingSince' | 'failures'>,
    NotNull<RowOf<Webhook, 'callbackUrl'>> {
  /** Start of the last failed attempt; `null` if none is stored. */
  attemptedAt: Date | null;
  /** Why that attempt failed; `null` if none is stored. */
  detail: string | null;
}

const REPORTED = `
  select w.id, w.state, w.callback_url as "callbackUrl", w.failing_since as "failingSince", w.failures,
    t.started_at as "attemptedAt", t.detail
  from unnest($1::uuid[]) with ordinality n(id, place) join webhook w on w.id = n.id
  left join lateral (
    select started_at, detail from webhook_attempt where webhook_id = w.id and outcome <> 'delivered'
    order by id desc limit 1) t on true
  order by n.place`;

/** The webhooks with their last failed attempts, in the given order. */
export function reportedWebhooks(sql: Sql, ids: readonly string[]): Promise<ReportedWebhook[]> {
  return sql.query<ReportedWebhook>(REPORTED, [ids]);
}

// Locked in the order of `recordHealth`, so that the two cannot deadlock.
const LOCK = 'select from webhook where id = any($1::uuid[]) order by id for no key update';
const MAILED = `
  update webhook w set mailed_state = nullif(r.state, 'active')
  from unnest($1::uuid[], $2::text[]) r(id, state) where w.id = r.id`;
// The new id is that of the next mail. It also keeps a worker whose lease is over from ending it.
const END = `
  update webhook_mail set sent_at = coalesce($3, sent_at), mail_id = $4, attempts = 0,
    failed_at = case when $3 is null then failed_at end, failure = case when $3 is null then failure end,
    due_at = case when changes > $5
      then greatest($6::timestamptz, coalesce($3, sent_at) + interval '${BETWEEN_MAILS_MS} ms') end
  where application_id = $1 and mail_id = $2`;

/**
 * Records that a mail was sent with these states. If another change has happened meanwhile, the
 * next mail is due an hour later.
 */
export async function recordWebhookMail(
  sql: SqlConnection,
  mail: LeasedMail,
  reported: readonly ChangedWebhook[],
  now: Date,
): Promise<void> {
  const ids = reported.map(({ id }) => id);
  await sql.transaction(async (inside) => {
    await inside.query(LOCK, [ids]);
    await inside.query(MAILED, [ids, reported.map(({ state }) => state)]);
    await end(inside, mail, now, now);
  });
}

/**
 * Ends a mail that was not sent, because there is nothing to report or because it was given up. The
 * next change of a webhook of the application schedules another one.
 */
export function endWebhookMail(sql: Sql, mail: LeasedMail, now: Date): Promise<void> {
  return end(sql, mail, null, now);
}

async function end(
  sql: Sql,
  { applicationId, mailId, changes }: LeasedMail,
  sentAt: Date | null,
  now: Date,
): Promise<void> {
  const soon = new Date(now.getTime() + COLLECT_MS);
  await sql.query(END, [applicationId, mailId, sentAt, newId(), changes, soon]);
}

const FAILED = `
  update webhook_mail set failed_at = $4, failure = $5
  where application_id = $1 and mail_id = $2 and attempts = $3`;

/** Records that an attempt failed. Does nothing if another process has leased the mail again. */
export async function recordFailedMail(
  sql: Sql,
  { applicationId, mailId, attempts }: LeasedMail,
  reason: string,
  at: Date,
): Promise<void> {
  await sql.query(FAILED, [applicationId, mailId, attempts, at, storable(reason)]);
}

const POSTPONE = `
  update webhook_mail set due_at = $4 where application_id = $1 and mail_id = $2 and attempts = $3`;

/** Schedules another attempt. Does nothing if another process has leased the mail again. */
export async function postponeWebhookMail(
  sql: Sql,
  { applicationId, mailId, attempts }: LeasedMail,
  at: Date,
): Promise<void> {
  await sql.query(POSTPONE, [applicationId, mailId, attempts, at]);
}
