import { firstIdAt } from '../../base/ids/ids.ts';
import type { Sql } from '../../database/sql.ts';
import type { Position } from '../../waiting/cursor.ts';
import type { NumberedEvent } from '../contents/deltas.ts';
import { inFeed, previousSeq } from '../events/matching.ts';
import type { Webhook } from '../webhook.entity.ts';
import type { RowOf } from '../../database/rows/row-of.ts';

/** Most events that are examined for one page. The page contains only what the webhook wants. */
export const EXAMINED = 2_000;
/** Waiting events are counted up to this number, and of twice the events of one page. */
export const MOST_WAITING = 1_000;

/** A webhook whose feed is read. */
export type FeedWebhook = RowOf<Webhook, 'state' | 'subscribedAt' | 'content'>;

const WEBHOOK = `
  select state, subscribed_at as "subscribedAt", content from webhook where id = $1 and application_id = $2`;

/** `undefined` if the application has no such webhook. */
export async function readFeedWebhook(
  sql: Sql,
  applicationId: string,
  webhookId: string,
): Promise<FeedWebhook | undefined> {
  return (await sql.query<FeedWebhook>(WEBHOOK, [webhookId, applicationId]))[0];
}

/** What is known about a position in a feed. */
export interface FeedState {
  /** Last number that may be read: all events up to it are final. */
  published: number;
  /** Whether the application has events that are not published. */
  unpublished: boolean;
  /**
   * When the event at the position was stored, in Unix milliseconds; `null` if it is not stored.
   */
  at: number | null;
  /** Highest number of the deleted events of the webhook's triggers; 0 if none was deleted. */
  pruned: number;
  /** The same for all triggers. */
  prunedOfAll: number;
}

// `max` reads one entry of the index. With `exists (… seq > …)`, PostgreSQL reads the whole table,
// because it expects a third of the rows to match.
const STATE = `
  select coalesce(f.published_seq, 0) as published,
    coalesce((select max(e.seq) from webhook_event e where e.application_id = w.application_id), 0)
      > coalesce(f.published_seq, 0) as unpublished,
    (select e.created_at from webhook_event e where e.application_id = w.application_id and e.seq = $2) as at,
    coalesce((select max(p.seq) from webhook_event_pruned p
              where p.application_id = w.application_id and p.type = any(w.triggers)), 0) as pruned,
    coalesce((select max(p.seq) from webhook_event_pruned p where p.application_id = w.application_id), 0) as "prunedOfAll"
  from webhook w left join webhook_feed f on f.application_id = w.application_id
  where w.id = $1`;

/** @param seq number of the position */
export async function readFeedState(sql: Sql, webhookId: string, seq: number): Promise<FeedState> {
  type Row = Omit<FeedState, 'at'> & { at: Date | null };
  const [row] = await sql.query<Row>(STATE, [webhookId, seq]);
  if (!row) return { published: 0, unpublished: false, at: null, pruned: 0, prunedOfAll: 0 };
  return { ...row, at: row.at?.getTime() ?? null };
}

/**
 * How much later than the time of its id an event may get its number: the clocks of processes may
 * differ by five minutes, and a statement may take as long.
 */
const NUMBERED_WITHIN_MS = 10 * 60_000;

// Any event that was numbered before the subscription will do: all events with lower numbers were
// stored before it, too. The lowest number among the first ids would not do: numbers may have
// another order than ids, and the events in between would be skipped for ever.
const BEFORE = `
  select seq from webhook_event where application_id = $1 and id < $2 and seq is not null
  order by id desc limit 1`;

/**
 * Number after which the events of a position begin. At the beginning it is below all events that
 * were stored since the webhook subscribed, so that a reader need not examine everything before.
 * Events of transactions that are still open are no exception: their numbers are above the last
 * published number, where each page ends (`publish-events.ts`).
 */
export async function afterOf(
  sql: Sql,
  applicationId: string,
  { subscribedAt }: Pick<FeedWebhook, 'subscribedAt'>,
  { seq }: Position,
): Promise<number> {
  if (seq > 0) return seq;
  const before = firstIdAt(new Date(subscribedAt.getTime() - NUMBERED_WITHIN_MS));
  const [row] = await sql.query<{ seq: number }>(BEFORE, [applicationId, before]);
  return row?.seq ?? 0;
}

/** An event of a page, with the time when it was stored. */
export type FeedEvent = NumberedEvent & { seq: number; at: Date };

/** Events of one page. */
export interface FeedRows {
  events: FeedEvent[];
  /** The last event that was examined; `null` if there was none. */
  end: Position | null;
}

/**
 * SQL of the next events of an application; $1 application, $2 and $3 after and up to which number.
 */
const nextEvents = (columns: string): string => `
  select ${columns} from webhook_event e
  where e.application_id = $1 and e.seq > $2 and e.seq <= $3 order by e.seq`;
const NEXT_EVENTS = nextEvents('e.*');
/** The same, but only the numbers, which are in the index. */
const NEXT_NUMBERS = nextEvents('e.seq');

// The limit of the inner query bounds what is examined, however few events the webhook wants. Only
// the first event of each account needs a look-up of the previous one.
const PAGE = `
  with page as materialized (
    select e.id, e.seq, e.account_id, e.application_id, e.type, e.created_at, e.body
    from (${NEXT_EVENTS} limit ${EXAMINED}) e
    where exists (select from webhook w where w.id = $4 and ${inFeed('w', 'e')})
    order by e.seq limit $5),
  sized as (
    select p.*, sum(length(p.body)) over (order by p.seq) - length(p.body) as before,
      lag(p.seq) over (partition by p.account_id order by p.seq) as previous
    from page p),
  chosen as (
    select * from sized where before < $6),
  last as (
    select e.seq, e.created_at from webhook_event e
    where e.application_id = $1 and (select count(*) from chosen) < $5
      and (select count(*) from chosen) = (select count(*) from page)
      and e.seq = (select max(x.seq) from (${NEXT_NUMBERS} limit ${EXAMINED}) x))
  select c.id, c.seq, c.created_at as at, c.body,
    case when c.account_id is null then null when c.previous is not null then c.previous
      else (select ${previousSeq('w', 'c')} from webhook w where w.id = $4) end as "previousSeq",
    l.seq as "lastSeq", l.created_at as "lastAt"
  from (select 1) one left join last l on true left join chosen c on true
  order by c.seq`;

type PageRow = FeedEvent | { id: null };

/**
 * The next events of a feed, in order of their numbers.
 * @param after number of the position
 * @param published number of the last event that may be read
 * @param limits largest number of events, and of their bytes in total; the first event is returned
 *   at any size
 */
export async function readPage(
  sql: Sql,
  { applicationId, webhookId }: { applicationId: string; webhookId: string },
  after: number,
  published: number,
  limits: { limit: number; bytes: number },
): Promise<FeedRows> {
  const rows = await sql.query<PageRow & { lastSeq: number | null; lastAt: Date }>(PAGE, [
    applicationId,
    after,
    published,
    webhookId,
    limits.limit,
    limits.bytes,
  ]);
  const events = rows.flatMap((row) => (row.id === null ? [] : [row]));
  const [first] = rows;
  const last = events.at(-1);
  if (first && first.lastSeq !== null)
    return { events, end: { seq: first.lastSeq, at: first.lastAt.getTime() } };
  return { events, end: last ? { seq: last.seq, at: last.at.getTime() } : null };
}

// Twice as far as a page.
const WAITING = `
  select count(*)::int as examined, count(*) filter (where wanted)::int as waiting
  from (select exists (select from webhook w where w.id = $4 and ${inFeed('w', 'e')}) as wanted
        from (${NEXT_EVENTS} limit ${2 * EXAMINED}) e) e`;

/** Counts the events of a feed after a position, at most `MOST_WAITING`. */
export async function countWaiting(
  sql: Sql,
  { applicationId, webhookId }: { applicationId: string; webhookId: string },
  after: number,
  published: number,
): Promise<{ waiting: number; more: boolean }> {
  const values = [applicationId, after, published, webhookId];
  const [row] = await sql.query<{ examined: number; waiting: number }>(WAITING, values);
  const { examined = 0, waiting = 0 } = row ?? {};
  return {
    waiting: Math.min(waiting, MOST_WAITING),
    more: waiting > MOST_WAITING || examined >= 2 * EXAMINED,
  };
}

const NEWEST = `
  select application_id as id, published_seq as seq from webhook_feed where application_id = any($1::uuid[])`;

/** Number of the last published event of each application that has one. */
export async function publishedOf(
  sql: Sql,
  applicationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.query<{ id: string; seq: number }>(NEWEST, [applicationIds]);
  return new Map(rows.map(({ id, seq }) => [id, seq]));
}
