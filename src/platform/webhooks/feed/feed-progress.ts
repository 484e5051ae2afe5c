import type { Sql } from '../../database/sql.ts';
import { BEGINNING, toCursor } from '../../waiting/cursor.ts';
import { afterOf, countWaiting, readFeedState } from './feed.repository.ts';
import { readPosition } from './positions.ts';

/** What the owner of a webhook has acknowledged, and what waits for it. */
export interface FeedProgress {
  /** `null` if nothing has been acknowledged. */
  position: string | null;
  acknowledgedAt: Date | null;
  /** Events after the position, counted up to 1,000. */
  waiting: number;
  /** Whether there may be more than `waiting`. */
  waitingIsMore: boolean;
}

/**
 * What the owner of a webhook has acknowledged, and how many events wait behind it.
 * @param webhook of the application, with its id
 */
export async function feedProgress(
  sql: Sql,
  applicationId: string,
  webhook: { id: string; subscribedAt: Date },
): Promise<FeedProgress> {
  const { id: webhookId } = webhook;
  const stored = await readPosition(sql, webhookId);
  const position = stored?.position ?? BEGINNING;
  const { published } = await readFeedState(sql, webhookId, position.seq);
  const after = await afterOf(sql, applicationId, webhook, position);
  const of = { applicationId, webhookId };
  const { waiting, more } = await countWaiting(sql, of, after, published);
  return {
    position: stored && toCursor(webhookId, position),
    acknowledgedAt: stored?.acknowledgedAt ?? null,
    waiting,
    waitingIsMore: more,
  };
}
