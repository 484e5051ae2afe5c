import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { ConflictError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import {
  itemsOf,
  type PageOf,
  pageOf,
  pageToken,
  readPageToken,
  type TokenPage,
} from '../../platform/database/page-token.ts';
import type { Database, Sql } from '../../platform/database/sql.ts';
import { changeWebhookState, stopWebhook } from '../../platform/webhooks/change-webhook-state.ts';
import { feedProgress } from '../../platform/webhooks/feed/feed-progress.ts';
import {
  previewReplay,
  replayableSince,
  replayEvents,
  type ReplayRequest,
  type ReplayResult,
} from '../../platform/webhooks/replay/replay-events.ts';
import { readTarget, type ReplayTarget } from '../../platform/webhooks/replay/replay-rows.ts';
import { countBriefly, withinSeconds } from '../search/search-limit.ts';
import { countWebhooks, readAttempts, readWebhook, readWebhooks } from './webhook-rows.ts';
import type {
  AttemptFilter,
  WebhookAttemptInfo,
  WebhookDetails,
  WebhookFilter,
  WebhookSummary,
} from './webhook-types.ts';

/** How long a search may take. */
const SEARCH_SECONDS = 5;

/** Verifies that a receiver wants deliveries; `WebhookChallenge` does. */
export interface Challenge {
  /** @throws {ChallengeFailedError} */
  verify(callbackUrl: string): Promise<void>;
}

/** A replay, as `replay` takes it. */
export interface Replay {
  which: ReplayRequest;
  dryRun: boolean;
}

/**
 * Shows the webhooks of all applications and their deliveries, and acts on them. The only class
 * that the admin API, the command and the console use for webhooks. Needs no framework.
 */
export class OperatorWebhooks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly challenge: Challenge,
  ) {}

  /** Failed ones first, then failing ones, longest first; then the newest. */
  async list(filter: WebhookFilter, page: TokenPage): Promise<PageOf<WebhookSummary>> {
    const items = itemsOf(page);
    const offset = Number(readPageToken(page.pageToken, ['number'])?.[0] ?? 0);
    const rows = await this.#search((sql) =>
      readWebhooks(sql, filter, { limit: items + 1, offset: Math.max(offset, 0) }),
    );
    return pageOf(rows, items, () => pageToken(offset + items));
  }

  /** How many webhooks a list has, counted up to `MOST_COUNTED`; `null` if that takes too long. */
  count(filter: WebhookFilter): Promise<number | null> {
    return countBriefly(this.database, (sql, most) => countWebhooks(sql, filter, most));
  }

  /** @throws {NotFoundError} */
  async get(id: string): Promise<WebhookDetails> {
    const now = this.clock.now();
    const row = isId(id) ? await this.#search((sql) => readWebhook(sql, id, now)) : undefined;
    if (!row) throw new NotFoundError('webhook', id);
    const feed = await this.#search((sql) => feedProgress(sql, row.applicationId, row));
    return { ...row, replayableSince: replayableSince(row, now), feed };
  }

  /**
   * Attempts of the last 30 days, newest first.
   * @throws {NotFoundError}
   */
  async attempts(
    id: string,
    filter: AttemptFilter,
    page: TokenPage,
  ): Promise<PageOf<WebhookAttemptInfo>> {
    const items = itemsOf(page);
    const before = readPageToken(page.pageToken, ['id'])?.[0] ?? null;
    return this.#search(async (sql) => {
      await this.#target(sql, id);
      if (filter.eventId !== undefined && !isId(filter.eventId))
        return { items: [], nextPageToken: null };
      const position = { before: before === null ? null : String(before), most: items + 1 };
      const rows = await readAttempts(sql, id, filter, position);
      return pageOf(rows, items, (last) => pageToken(last.id));
    });
  }

  /**
   * Sends stored events again, as `replayEvents` does.
   * @throws {NotFoundError} if the webhook or the event is not stored
   * @throws {ConflictError} if nothing is delivered to the webhook
   */
  async replay(actor: Actor, id: string, { which, dryRun }: Replay): Promise<ReplayResult> {
    const target = await this.#search((sql) => this.#target(sql, id));
    const now = this.clock.now();
    if (dryRun) return this.#search((sql) => previewReplay(sql, target, which, now));
    return replayEvents(this.database, target, which, {
      now,
      record: (sql, details) => this.#record(sql, actor, 'webhook.replay', target, details),
    });
  }

  /**
   * Stops the deliveries of a webhook. Its events stay stored; those of 72 hours are delivered once
   * it is activated again. Its owner sees the state `failed` and can activate it, too.
   * @param reason words of the operator; absent or `null` for none
   * @throws {NotFoundError}
   * @throws {ConflictError} if it is neither active nor failing, or a pull webhook
   */
  async pause(actor: Actor, id: string, reason?: string | null): Promise<WebhookDetails> {
    await this.database.transaction(async (sql) => {
      const target = await this.#target(sql, id);
      if (target.callbackUrl === null)
        throw new ConflictError(
          'webhook.pull',
          'The webhook is a pull webhook: its owner reads the events, and there are no deliveries to stop',
        );
      if (!(await stopWebhook(sql, id, this.clock.now())))
        throw new ConflictError(
          'webhook.not-active',
          `The webhook is ${target.state}: nothing is delivered to it`,
        );
      await this.#record(sql, actor, 'webhook.pause', target, reason ? { reason } : {});
    });
    return this.get(id);
  }

  /**
   * Activates a webhook as its owner could: the receiver has to pass the challenge, if it has one.
   * After `failed` or `pause`, the events of the last 72 hours that it missed are delivered.
   * @throws {NotFoundError} @throws {ChallengeFailedError}
   */
  async activate(actor: Actor, id: string): Promise<WebhookDetails> {
    const target = await this.#search((sql) => this.#target(sql, id));
    if (target.callbackUrl !== null) await this.challenge.verify(target.callbackUrl);
    await this.database.transaction(async (sql) => {
      const change = { id, before: target.state, to: 'active' as const, at: this.clock.now() };
      if (!(await changeWebhookState(sql, change))) throw new NotFoundError('webhook', id);
      await this.#record(sql, actor, 'webhook.activate', target, { before: target.state });
    });
    return this.get(id);
  }

  async #target(sql: Sql, id: string): Promise<ReplayTarget> {
    const target = isId(id) ? await readTarget(sql, id) : undefined;
    if (!target) throw new NotFoundError('webhook', id);
    return target;
  }

  #search<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return withinSeconds(this.database, SEARCH_SECONDS, SEARCH_ADVICE, work);
  }

  #record(
    sql: Sql,
    actor: Actor,
    action: string,
    { id, applicationId }: ReplayTarget,
    details: Record<string, unknown>,
  ): Promise<void> {
    const target = { type: 'webhook', id };
    return recordAudit(sql, { actor, action, target, applicationId, details });
  }
}

const SEARCH_ADVICE = 'add event_id to the filter, or a shorter time with since and until';
