import { ConflictError, InvalidInputError, NotFoundError } from '../../base/errors/domain-error.ts';
import { firstIdAt, isId } from '../../base/ids/ids.ts';
import type { Sql, SqlConnection } from '../../database/sql.ts';
import { EVENT_RETENTION_MS } from '../events/prune-webhook-evidence.ts';
import { type EventSelection, requeueEvent, requeueEvents } from '../events/requeue-events.ts';
import { countReplayable, readStoredEvent, type ReplayTarget } from './replay-rows.ts';

/** Which events to send again. */
export type ReplayRequest =
  | { eventId: string }
  /**
   * All from `since` on, before `until` if it is not `null`. `undeliveredOnly` leaves out events
   * that the receiver has confirmed.
   */
  | { since: Date; until: Date | null; undeliveredOnly: boolean }
  /** All that the receiver has not confirmed although their delivery was tried. */
  | { failed: true };

/** Result of a replay. */
export interface ReplayResult {
  /** Stored events that match. */
  matched: number;
  /** Deliveries that were queued, or that were queued already and are now due at once. */
  queued: number;
  /** Deliveries of these events that a worker is making at this moment. */
  running: number;
  /** Earlier events are not stored, or were created before the webhook subscribed. */
  reachesBackTo: Date;
  dryRun: boolean;
}

/** How a replay is done. */
export interface ReplayTerms {
  now: Date;
  /** Records what was queued, in the transaction that queues it. */
  record: (sql: Sql, details: Record<string, unknown>) => Promise<void>;
}

/** Events are kept for a week, and none from before the subscription is sent. */
export function replayableSince({ subscribedAt }: { subscribedAt: Date }, now: Date): Date {
  return new Date(Math.max(subscribedAt.getTime(), now.getTime() - EVENT_RETENTION_MS));
}

/**
 * Says what `replayEvents` would do.
 * @param most counts no further; `null` for no limit
 * @throws {NotFoundError} if the event is not stored
 */
export async function previewReplay(
  sql: Sql,
  target: ReplayTarget,
  which: ReplayRequest,
  now: Date,
  most: number | null = null,
): Promise<ReplayResult> {
  const reachesBackTo = replayableSince(target, now);
  const { matched, running } =
    'eventId' in which
      ? await countOne(sql, target, which.eventId)
      : await count(sql, target, which, reachesBackTo, most);
  return { matched, queued: matched - running, running, reachesBackTo, dryRun: true };
}

/**
 * Sends stored events again, with their event ids: one, those of a span, or all that failed, oldest
 * first, in transactions of 5,000. The webhook's pace spreads them. The only implementation, for
 * the application and for operators.
 * @throws {NotFoundError} if the event is not stored
 * @throws {ConflictError} if nothing is delivered to the webhook
 */
export async function replayEvents(
  database: SqlConnection,
  target: ReplayTarget,
  which: ReplayRequest,
  terms: ReplayTerms,
): Promise<ReplayResult> {
  assertDelivering(target);
  return 'eventId' in which
    ? replayOne(database, target, which.eventId, terms)
    : replayMany(database, target, which, terms);
}

async function replayOne(
  database: SqlConnection,
  target: ReplayTarget,
  eventId: string,
  { now, record }: ReplayTerms,
): Promise<ReplayResult> {
  await countOne(database, target, eventId);
  const queued = await database.transaction(async (sql) => {
    if (!(await requeueEvent(sql, target.id, eventId))) return 0;
    await record(sql, { eventId });
    return 1;
  });
  const reachesBackTo = replayableSince(target, now);
  return { matched: 1, queued, running: 1 - queued, reachesBackTo, dryRun: false };
}

type ReplaySpan = Exclude<ReplayRequest, { eventId: string }>;

async function replayMany(
  database: SqlConnection,
  target: ReplayTarget,
  which: ReplaySpan,
  { now, record }: ReplayTerms,
): Promise<ReplayResult> {
  const reachesBackTo = replayableSince(target, now);
  const { from, selection } = selectionOf(which, reachesBackTo);
  const result: ReplayResult = { matched: 0, queued: 0, running: 0, reachesBackTo, dryRun: false };
  for (let last: string | null = firstIdAt(from); last !== null;) {
    const after: string = last;
    const batch = await database.transaction(async (sql) => {
      const requeued = await requeueEvents(sql, target.id, after, selection);
      const { queued } = requeued;
      if (queued > 0) await record(sql, { ...detailsOf(which, from), queued });
      return requeued;
    });
    result.matched += batch.count;
    result.queued += batch.queued;
    ({ last } = batch);
  }
  return { ...result, running: result.matched - result.queued };
}

function selectionOf(
  which: ReplaySpan,
  reachesBackTo: Date,
): { from: Date; selection: EventSelection } {
  if ('failed' in which)
    return { from: reachesBackTo, selection: { undeliveredOnly: true, attemptedOnly: true } };
  const { since, until, undeliveredOnly } = which;
  if (until && until <= since) throw new InvalidInputError('until must be later than since');
  return {
    from: new Date(Math.max(since.getTime(), reachesBackTo.getTime())),
    selection: { undeliveredOnly, untilId: until && firstIdAt(until) },
  };
}

/** What the audit log keeps of a replay. */
function detailsOf(which: ReplaySpan, from: Date): Record<string, unknown> {
  if ('failed' in which) return { failed: true };
  const { until, undeliveredOnly } = which;
  return {
    since: from.toISOString(),
    ...(until ? { until: until.toISOString() } : {}),
    undeliveredOnly,
  };
}

function count(
  sql: Sql,
  target: ReplayTarget,
  which: ReplaySpan,
  reachesBackTo: Date,
  most: number | null,
): Promise<{ matched: number; running: number }> {
  const { from, selection } = selectionOf(which, reachesBackTo);
  return countReplayable(sql, target.id, firstIdAt(from), selection, most);
}

/** @throws {NotFoundError} if the event is not stored */
async function countOne(
  sql: Sql,
  target: ReplayTarget,
  eventId: string,
): Promise<{ matched: number; running: number }> {
  const stored = isId(eventId) ? await readStoredEvent(sql, target.id, eventId) : undefined;
  if (!stored) throw new NotFoundError('event', eventId);
  return { matched: 1, running: stored.running ? 1 : 0 };
}

function assertDelivering({ state, callbackUrl }: ReplayTarget): void {
  if (callbackUrl === null)
    throw new ConflictError(
      'webhook.pull',
      'The webhook is a pull webhook: read its events again with an earlier cursor, or acknowledge one with rewind',
    );
  if (state === 'active' || state === 'failing') return;
  throw new ConflictError(
    'webhook.not-active',
    `The webhook is ${state}: activate it first. After failed or a pause, that also delivers the events of the last 72 hours that it missed.`,
  );
}
