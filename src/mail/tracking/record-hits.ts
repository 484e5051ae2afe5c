import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { MOST_RECENTS, type Recent } from './tracked-message.ts';
import type { TrackedLink } from './tracking-tokens.ts';
import type { TrackedMessage } from './tracked-message.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { Application } from '../../accounts/applications/application.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** An opening of a message, or a click on one of its links. */
export interface Hit {
  /** Unique for each hit, so that a hit is notified once. */
  id: string;
  messageId: string;
  /** `null` for an opening. */
  link: Omit<TrackedLink, 'messageId'> | null;
  ip: string;
  userAgent: string;
  at: Date;
}

/** Tracking data of a message. */
type Counted = RowOf<
  TrackedMessage,
  | 'messageId'
  | 'accountId'
  | 'opens'
  | 'links'
  | 'payload'
  | 'urls'
  | 'openCount'
  | 'clickCounts'
  | 'recentOpens'
  | 'recentClicks'
  | 'countedFrom'
  | 'countedUntil'
> &
  RowOf<Grant, 'applicationId'> &
  RowOf<Application, 'clientId'>;

// Two processes may count the same messages. Locking the rows in order of their ids prevents
// deadlocks.
const LOCK = `
  select t.message_id as "messageId", t.account_id as "accountId", g.application_id as "applicationId",
    a.client_id as "clientId", t.opens, t.links, t.payload, t.urls, t.open_count as "openCount",
    t.click_counts as "clickCounts", t.recent_opens as "recentOpens", t.recent_clicks as "recentClicks",
    t.counted_from as "countedFrom", t.counted_until as "countedUntil"
  from tracked_message t join "grant" g on g.id = t.account_id join application a on a.id = g.application_id
  where t.message_id = any($1::uuid[]) order by t.message_id for no key update of t`;

const COUNT = `
  update tracked_message t set open_count = x.open_count, click_counts = x.click_counts, recent_opens = x.recent_opens,
    recent_clicks = x.recent_clicks
  from jsonb_to_recordset($1::jsonb) x(message_id uuid, open_count int, click_counts int[], recent_opens jsonb, recent_clicks jsonb)
  where t.message_id = x.message_id`;

/**
 * Counts hits in the order they arrived, in the caller's transaction. Subscribers are notified of
 * the first opening of a message and of each click. Not counted are hits of a kind that the sender
 * did not ask for, and hits outside the tracking period.
 */
export async function recordHits(sql: Sql, hits: readonly Hit[]): Promise<void> {
  const ids = [...new Set(hits.map(({ messageId }) => messageId))];
  const rows = await sql.query<Counted>(LOCK, [ids]);
  const messages = new Map(rows.map((row) => [row.messageId, row]));
  const touched = new Set<Counted>();
  const notified: ChangeRecord[] = [];
  for (const hit of hits) {
    const message = messages.get(hit.messageId);
    if (!message || hit.at < message.countedFrom || hit.at >= message.countedUntil) continue;
    const counted = hit.link ? clicked(message, hit, hit.link) : opened(message, hit);
    if (!counted) continue;
    touched.add(message);
    if (hit.link || message.openCount === 1) notified.push(changeOf(message, hit));
  }
  if (touched.size === 0) return;
  await sql.query(COUNT, [JSON.stringify([...touched].map(rowOf))]);
  await recordChanges(sql, notified);
}

function opened(message: Counted, hit: Hit): boolean {
  if (!message.opens) return false;
  message.recentOpens = [recentOf(hit, message.openCount), ...message.recentOpens].slice(
    0,
    MOST_RECENTS,
  );
  message.openCount += 1;
  return true;
}

function clicked(message: Counted, hit: Hit, { index, url }: NonNullable<Hit['link']>): boolean {
  // The link belongs to an edited version that was never sent.
  if (!message.links || message.urls[index] !== url) return false;
  const before = clicksOf(message);
  message.recentClicks = [
    {
      ...recentOf(
        hit,
        before.reduce((sum, count) => sum + count, 0),
      ),
      link_index: index,
    },
    ...message.recentClicks,
  ].slice(0, MOST_RECENTS);
  message.clickCounts = before.map((count, at) => (at === index ? count + 1 : count));
  return true;
}

function clicksOf({ urls, clickCounts }: Counted): number[] {
  return urls.map((_, index) => clickCounts[index] ?? 0);
}

function recentOf({ ip, userAgent, at }: Hit, id: number): Recent {
  return { id, ip, user_agent: userAgent, timestamp: toUnixSeconds(at) };
}

const rowOf = (message: Counted) => ({
  message_id: message.messageId,
  open_count: message.openCount,
  click_counts: message.clickCounts,
  recent_opens: message.recentOpens,
  recent_clicks: message.recentClicks,
});

/** The notification of a hit. The message itself has not changed. */
function changeOf(message: Counted, hit: Hit): ChangeRecord {
  const { messageId, accountId, applicationId, clientId, payload } = message;
  const metadata = {
    message_id: messageId,
    payload: payload ?? '',
    sender_app_id: clientId,
    timestamp: toUnixSeconds(hit.at),
  };
  const counts = clicksOf(message);
  return {
    applicationId,
    accountId,
    object: 'message',
    objectId: messageId,
    event: 'modify',
    at: hit.at,
    logged: false,
    webhook: hit.link
      ? {
          trigger: 'message.link_clicked',
          dedupe: `tracking:${messageId}:clicked:${hit.id}`,
          metadata: {
            ...metadata,
            count: counts.reduce((sum, count) => sum + count, 0),
            link_data: message.urls.map((url, index) => ({ url, count: counts[index] ?? 0 })),
            recents: message.recentClicks,
          },
        }
      : {
          trigger: 'message.opened',
          dedupe: `tracking:${messageId}:opened`,
          metadata: { ...metadata, count: message.openCount, recents: message.recentOpens },
        },
  };
}
