import { Conditions } from '../../platform/database/conditions.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { firstIdAt } from '../../platform/base/ids/ids.ts';
import { isAbout, queuedEvents } from '../../platform/webhooks/events/queued-events.ts';
import { countOf, MOST_COUNTED } from '../search/search-limit.ts';
import type {
  AttemptFilter,
  WebhookAttemptInfo,
  WebhookDetails,
  WebhookFilter,
  WebhookSummary,
} from './webhook-types.ts';

/**
 * A webhook fails from its first failure since the last success on. An operator's pause is no
 * failure.
 */
const UNWELL = `(w.state in ('failing', 'failed') or w.failing_since is not null) and not (w.state = 'failed' and w.paused)`;

const SEVERITY = `case w.state when 'failed' then case when w.paused then 2 else 0 end when 'failing' then 1 else 2 end`;

// A webhook whose last success was before its failures: its newest attempt says why it fails. An
// operator who stopped it is named instead.
const COLUMNS = `
  w.id, w.application_id as "applicationId", a.client_id as "clientId", a.name as "applicationName",
  w.delivery, w.callback_url as "callbackUrl", w.state, w.state = 'failed' and w.paused as paused, w.triggers,
  w.filter_accounts as "filterAccounts", w.filter_folders as "filterFolders", w.filter_domains as "filterDomains", w.content,
  w.failing_since as "failingSince", w.failures,
  coalesce(
    case when w.state = 'failed' and w.paused then (
      select 'paused by ' || l.actor_name from (
        select x.action, x.actor_name from audit_entry x
        where x.target_id = w.id::text and x.action in ('webhook.pause', 'webhook.activate') order by x.id desc limit 1) l
      where l.action = 'webhook.pause') end,
    case when w.failures > 0 then (
      select t.detail from webhook_attempt t where t.webhook_id = w.id and t.outcome <> 'delivered' order by t.id desc limit 1) end
  ) as "lastFailure",
  (select count(*)::int from (select from ${queuedEvents('w.id')} q limit ${MOST_COUNTED + 1}) q) as backlog,
  (select min(q.due_at) from hook_job q where q.webhook_id = w.id) as "oldestDueAt",
  w.created_at as "createdAt"`;

type WebhookRow = Omit<WebhookSummary, 'backlogIsMore'>;

function toSummary<R extends WebhookRow>(row: R): R & { backlogIsMore: boolean } {
  const { backlog } = row;
  return {
    ...row,
    backlog: Math.min(backlog, MOST_COUNTED),
    backlogIsMore: backlog > MOST_COUNTED,
  };
}

const JOINED = 'webhook w join application a on a.id = w.application_id';

/** Failed webhooks first, then failing ones, those that fail longest first; then the newest. */
export async function readWebhooks(
  sql: Sql,
  filter: WebhookFilter,
  page: { limit: number; offset: number },
): Promise<WebhookSummary[]> {
  const conditions = conditionsOf(filter);
  // Counting the backlog takes longer than choosing the page, so the page is chosen first.
  const text = `
    with page as materialized (
      select w.id from ${JOINED} where ${conditions.text}
      order by ${SEVERITY}, w.failing_since nulls last, w.id desc
      limit ${conditions.value(page.limit)} offset ${conditions.value(page.offset)})
    select ${COLUMNS} from page join webhook w on w.id = page.id join application a on a.id = w.application_id
    order by ${SEVERITY}, w.failing_since nulls last, w.id desc`;
  const rows = await sql.query<WebhookRow>(text, conditions.values, { prepared: false });
  return rows.map(toSummary);
}

/** Counts the webhooks of a list. @param most counts no further */
export function countWebhooks(sql: Sql, filter: WebhookFilter, most: number): Promise<number> {
  const conditions = conditionsOf(filter);
  const text = `select count(*)::int as n from (select from ${JOINED} where ${conditions.text} limit ${conditions.value(most)}) c`;
  return countOf(sql, text, conditions.values);
}

function conditionsOf({ state, application, url }: WebhookFilter): Conditions {
  const conditions = new Conditions();
  if (state === 'unwell') conditions.add(UNWELL);
  else if (state !== undefined) conditions.add(`w.state = ${conditions.value(state)}`);
  if (application !== undefined) {
    const value = conditions.value(application);
    conditions.add(`a.id::text = ${value} or a.client_id = ${value}`);
  }
  if (url !== undefined)
    conditions.add(`position(lower(${conditions.value(url)}) in lower(w.callback_url)) > 0`);
  return conditions;
}

const DETAILS = `
  select ${COLUMNS}, w.subscribed_at as "subscribedAt",
    (select json_build_object('delivered', count(*) filter (where t.outcome = 'delivered'),
       'retry', count(*) filter (where t.outcome = 'retry'), 'dropped', count(*) filter (where t.outcome = 'dropped'))
     from (select outcome from webhook_attempt where webhook_id = w.id and id >= $2 order by id desc limit ${MOST_COUNTED}) t) as "lastHour",
    (select t.started_at from webhook_attempt t where t.webhook_id = w.id and t.outcome = 'delivered' order by t.id desc limit 1) as "lastDeliveredAt"
  from webhook w join application a on a.id = w.application_id where w.id = $1`;

const HOUR_MS = 3_600_000;

/** `undefined` if there is no such webhook. */
export async function readWebhook(
  sql: Sql,
  id: string,
  now: Date,
): Promise<Omit<WebhookDetails, 'replayableSince' | 'feed'> | undefined> {
  const hourAgo = firstIdAt(new Date(now.getTime() - HOUR_MS));
  const [row] = await sql.query<Omit<WebhookDetails, 'replayableSince' | 'feed' | 'backlogIsMore'>>(
    DETAILS,
    [id, hourAgo],
  );
  return row && toSummary(row);
}

const ATTEMPT = `
  a.id, a.event_id as "eventId", a.account_id as "accountId", a.deltas, a.first_seq as "firstSequence",
  a.last_seq as "lastSequence", e.type as trigger, a.attempt, a.started_at as "startedAt", a.took_ms as "tookMs",
  a.http_status as "httpStatus", a.outcome, a.detail, a.response, a.next_at as "nextAt"`;

/** Newest first. */
export function readAttempts(
  sql: Sql,
  webhookId: string,
  { outcome, eventId, since, until }: AttemptFilter,
  { before, most }: { before: string | null; most: number },
): Promise<WebhookAttemptInfo[]> {
  const conditions = new Conditions();
  conditions.add(`a.webhook_id = ${conditions.value(webhookId)}`);
  if (outcome !== undefined) conditions.add(`a.outcome = ${conditions.value(outcome)}`);
  if (eventId !== undefined) {
    // The event itself is stored for a shorter time than its attempts.
    const id = conditions.value(eventId);
    conditions.add(
      `a.event_id = ${id} or exists (select from webhook_event x where x.id = ${id} and ${isAbout('a', 'x')})`,
    );
  }
  if (since) conditions.add(`a.id >= ${conditions.value(firstIdAt(since))}::uuid`);
  if (until) conditions.add(`a.id < ${conditions.value(firstIdAt(until))}::uuid`);
  if (before !== null) conditions.add(`a.id < ${conditions.value(before)}::uuid`);
  const text = `
    select ${ATTEMPT} from webhook_attempt a left join webhook_event e on e.id = a.event_id
    where ${conditions.text} order by a.id desc limit ${conditions.value(most)}`;
  return sql.query<WebhookAttemptInfo>(text, conditions.values, { prepared: false });
}
