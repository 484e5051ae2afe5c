import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../base/errors/domain-error.ts';
import { isId } from '../../base/ids/ids.ts';
import { Clock } from '../../base/time/clock.ts';
import { Database } from '../../database/sql.ts';
import {
  BEGINNING,
  FROM_THE_START,
  fromCursor,
  type Position,
  toCursor,
} from '../../waiting/cursor.ts';
import type { ReadPage } from '../../waiting/delta-streams.ts';
import { deltaJson } from '../contents/deltas.ts';
import { EventContents } from '../contents/event-contents.ts';
import { publishEvents } from '../events/publish-events.ts';
import {
  ExpiredFeedCursorError,
  InactiveFeedError,
  InvalidFeedCursorError,
} from './feed.errors.ts';
import {
  afterOf,
  type FeedEvent,
  type FeedState,
  type FeedWebhook,
  readFeedState,
  readFeedWebhook,
  readPage,
} from './feed.repository.ts';
import { readPosition, storePosition } from './positions.ts';

/** Most events in a page of a webhook that wants more than ids, as in a delivery. */
const MOST_WITH_CONTENT = 100;
/** Most bytes of events in a page; a single event may be larger. */
const MOST_BYTES = 1024 * 1024;

/** Which events of a feed to read. */
export interface FeedRequest {
  webhookId: string;
  /** Absent: continue after the acknowledged position, else at the oldest stored event. */
  cursor?: string | undefined;
  limit: number;
  /** Default 1 MiB. */
  bytes?: number;
}

/** One event, as deliveries of the webhook have it, and the cursor after it. */
export type FeedDelta = Record<string, unknown> & { cursor: string };

/** Events after a cursor. */
export interface FeedPage extends ReadPage<FeedDelta> {
  /** Number of the last event that could be read. */
  seenTo: number;
}

/** An acknowledgement. */
export interface Acknowledgement {
  webhookId: string;
  cursor: string;
  /** Whether the position may become an earlier one. */
  rewind: boolean;
}

/** Reads the feeds of webhooks. Every look-up is limited to one application. */
@Injectable()
export class FeedService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly contents: EventContents,
  ) {}

  /**
   * The next events that a webhook wants, with the numbers and ids that its deliveries have. Events
   * that are committed now are included, unless an older transaction is still open. A page may be
   * empty although `more` is true: at most 2,000 events of the application are examined for it.
   * @throws {NotFoundError} @throws {InactiveFeedError} @throws {InvalidFeedCursorError}
   * @throws {ExpiredFeedCursorError}
   */
  async read(applicationId: string, request: FeedRequest): Promise<FeedPage> {
    const { webhookId, limit, bytes = MOST_BYTES } = request;
    const webhook = await this.webhook(applicationId, webhookId);
    const position = await this.#positionOf(webhookId, request.cursor);
    const state = await this.#state(webhookId, position);
    assertKept(position, state);
    const start =
      request.cursor ?? (position.seq === 0 ? FROM_THE_START : toCursor(webhookId, position));
    const after = await afterOf(this.database, applicationId, webhook, position);
    const of = { applicationId, webhookId };
    const { events, end } = await readPage(this.database, of, after, state.published, {
      limit: webhook.content === 'ids' ? limit : Math.min(limit, MOST_WITH_CONTENT),
      bytes,
    });
    return {
      start,
      end: end ? toCursor(webhookId, end) : start,
      deltas: await this.#deltasOf(webhookId, webhook, events),
      more: end !== null && end.seq < state.published,
      seenTo: state.published,
    };
  }

  /**
   * Stores how far a webhook's owner has processed its events.
   * @returns the stored position, and whether this call changed it
   * @throws {NotFoundError} @throws {InvalidFeedCursorError} @throws {ExpiredFeedCursorError}
   */
  async acknowledge(
    applicationId: string,
    { webhookId, cursor, rewind }: Acknowledgement,
  ): Promise<{ cursor: string; moved: boolean }> {
    await this.#webhook(applicationId, webhookId);
    const position = await this.#positionOf(webhookId, cursor);
    assertKept(position, await this.#state(webhookId, position));
    const now = this.clock.now();
    const moved = await storePosition(this.database, webhookId, position, { now, rewind });
    const stored = await readPosition(this.database, webhookId);
    if (!stored) throw new NotFoundError('webhook', webhookId); // deleted meanwhile
    return { cursor: toCursor(webhookId, stored.position), moved };
  }

  /** @throws {NotFoundError} @throws {InactiveFeedError} */
  async webhook(applicationId: string, webhookId: string): Promise<FeedWebhook> {
    const webhook = await this.#webhook(applicationId, webhookId);
    if (webhook.state === 'inactive') throw new InactiveFeedError();
    return webhook;
  }

  /** The events with the content that the webhook wants. */
  async #deltasOf(
    webhookId: string,
    { content }: FeedWebhook,
    events: readonly FeedEvent[],
  ): Promise<FeedDelta[]> {
    const bodies = await this.contents.of(
      content,
      events.map(({ body }) => body),
    );
    return events.map((event, index) =>
      deltaOf(webhookId, { ...event, body: bodies[index] ?? event.body }),
    );
  }

  async #webhook(applicationId: string, webhookId: string): Promise<FeedWebhook> {
    const found =
      isId(webhookId) && (await readFeedWebhook(this.database, applicationId, webhookId));
    if (!found) throw new NotFoundError('webhook', webhookId);
    return found;
  }

  async #positionOf(webhookId: string, cursor: string | undefined): Promise<Position> {
    if (cursor === FROM_THE_START) return BEGINNING;
    if (cursor === undefined)
      return (await readPosition(this.database, webhookId))?.position ?? BEGINNING;
    const position = fromCursor(webhookId, cursor);
    if (!position) throw new InvalidFeedCursorError();
    return position;
  }

  /** Publishes what is committed, so that a caller reads what happened before its request. */
  async #state(webhookId: string, { seq }: Position): Promise<FeedState> {
    const state = await readFeedState(this.database, webhookId, seq);
    if (!state.unpublished) return state;
    await publishEvents(this.database);
    return readFeedState(this.database, webhookId, seq);
  }
}

function deltaOf(webhookId: string, event: FeedEvent): FeedDelta {
  const delta = JSON.parse(deltaJson(event).toString()) as Record<string, unknown>;
  return { ...delta, cursor: toCursor(webhookId, { seq: event.seq, at: event.at.getTime() }) };
}

/**
 * @throws {ExpiredFeedCursorError} if events after the position have been deleted
 * @throws {InvalidFeedCursorError} if the position never existed or was lost in a database restore
 */
function assertKept({ seq, at }: Position, state: FeedState): void {
  if (seq === 0) return;
  if (seq < state.pruned) throw new ExpiredFeedCursorError();
  if (state.at === at) return;
  // The event itself was deleted, but none after it that the webhook wants.
  if (state.at === null && seq <= state.prunedOfAll) return;
  throw new InvalidFeedCursorError();
}
