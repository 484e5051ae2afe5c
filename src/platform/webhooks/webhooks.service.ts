import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { assertBelow } from '../base/ceilings.ts';
import { EgressClient } from '../egress/egress-client.ts';
import { InvalidInputError, NotFoundError } from '../base/errors/domain-error.ts';
import { isId, newId } from '../base/ids/ids.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { Clock } from '../base/time/clock.ts';
import { forgetRateGate } from '../work/gates/rate-gates.ts';
import type { Page } from '../database/listing.ts';
import { sqlOf } from '../database/orm-transactions.ts';
import { Database } from '../database/sql.ts';
import {
  deleteDeliveries,
  lockDeliveries,
  createDeliveryRateGate,
  recentAttempts,
  type StoredAttempt,
} from './delivery/delivery.repository.ts';
import { WebhookChallenge } from './webhook-challenge.ts';
import { changeWebhookState, transactionTime } from './change-webhook-state.ts';
import { type FeedProgress, feedProgress } from './feed/feed-progress.ts';
import type { OwnerState, Trigger, WebhookContent } from './webhook-state.ts';
import {
  assertFilterable,
  assertOwnAccounts,
  filtersOf,
  sameFilters,
  type WebhookFilters,
} from './webhook-filters.ts';
import { Webhook } from './webhook.entity.ts';
import { WebhookExistsError } from './webhook.errors.ts';

/** Data for a new webhook. */
export interface NewWebhook {
  /** `null`: a pull webhook, whose events the owner reads from its feed. */
  callbackUrl: string | null;
  triggers: Trigger[];
  state: OwnerState;
  filters: WebhookFilters;
  content: WebhookContent;
}

/**
 * A change that the owner requests. Only the state can change; the other fields are only compared
 * with the stored values.
 */
export interface WebhookChange {
  state: OwnerState;
  delivery?: unknown;
  callbackUrl?: unknown;
  triggers?: unknown;
  filters?: WebhookFilters | undefined;
  content?: WebhookContent | undefined;
}

export type WebhookList = { webhooks: Webhook[] } | { ids: string[] } | { count: number };

/** Manages the webhooks of applications. Every query is limited to one application. */
@Injectable()
export class WebhooksService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly em: EntityManager,
    private readonly database: Database,
    private readonly egress: EgressClient,
    private readonly challenge: WebhookChallenge,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. */
  async list(applicationId: string, page: Page, view?: 'ids' | 'count'): Promise<WebhookList> {
    const where = { application: applicationId };
    if (view === 'count') return { count: await this.em.count(Webhook, where) };
    const webhooks =
      page.limit === 0
        ? []
        : await this.em.find(Webhook, where, { ...page, orderBy: { id: 'asc' } });
    return view === 'ids' ? { ids: webhooks.map(({ id }) => id) } : { webhooks };
  }

  /** @throws {NotFoundError} also if the webhook belongs to another application */
  async get(applicationId: string, id: string): Promise<Webhook> {
    const webhook =
      isId(id) && (await this.em.findOne(Webhook, { id, application: applicationId }));
    if (!webhook) throw new NotFoundError('webhook', id);
    return webhook;
  }

  /**
   * A webhook, and how far its feed is acknowledged: always for a pull webhook, for a push webhook
   * only if its owner has acknowledged a position.
   * @throws {NotFoundError} also if the webhook belongs to another application
   */
  async getWithProgress(
    applicationId: string,
    id: string,
  ): Promise<{ webhook: Webhook; progress: FeedProgress | null }> {
    const webhook = await this.get(applicationId, id);
    const progress = await feedProgress(this.database, applicationId, webhook);
    const isShown = webhook.delivery === 'pull' || progress.position !== null;
    return { webhook, progress: isShown ? progress : null };
  }

  /**
   * Creates a webhook. Runs the challenge if it has an address and is to be active.
   * @throws {InvalidInputError} if `callback_url` may not be called, or a filter cannot be used
   * @throws {WebhookExistsError} if the application already has a webhook for the address
   * @throws {CeilingReachedError} if the application has the most webhooks
   * @throws {ChallengeFailedError} if the receiver does not answer the challenge
   */
  async create(applicationId: string, wanted: NewWebhook): Promise<Webhook> {
    const { triggers, filters, content } = wanted;
    assertFilterable(filters, triggers);
    const callbackUrl =
      wanted.callbackUrl === null
        ? null
        : this.egress.normalizeUrl(wanted.callbackUrl, 'callback_url');
    const same = callbackUrl !== null && { application: applicationId, callbackUrl };
    if (same && (await this.em.count(Webhook, same)) > 0) throw new WebhookExistsError();
    await assertOwnAccounts(this.database, applicationId, filters);
    const stored = await this.em.count(Webhook, { application: applicationId });
    const { webhooks } = this.config.quotas.ceilings;
    assertBelow(webhooks, stored, 'webhooks of this application', 'delete one first');
    if (callbackUrl !== null && wanted.state === 'active') await this.challenge.verify(callbackUrl);
    try {
      return await this.em.transactional(async (em) => {
        const now = this.clock.now();
        const subscribedAt = await transactionTime(sqlOf(em));
        const webhook = em.create(Webhook, {
          id: newId(),
          application: applicationId,
          delivery: callbackUrl === null ? 'pull' : 'push',
          callbackUrl,
          state: wanted.state,
          triggers,
          filterAccounts: filters.accounts,
          filterFolders: filters.folders,
          filterDomains: filters.fromDomains,
          content,
          subscribedAt,
          createdAt: now,
          updatedAt: now,
        });
        await em.flush();
        if (callbackUrl !== null) await createDeliveryRateGate(sqlOf(em), webhook.id);
        const { state } = wanted;
        const details = { state, triggers, filters, content };
        await record(em, applicationId, webhook, 'create', details);
        return webhook;
      });
    } catch (error) {
      // Two simultaneous requests can both pass the check above.
      throw error instanceof UniqueConstraintViolationException ? new WebhookExistsError() : error;
    }
  }

  /**
   * Activates or deactivates a webhook. Activating runs the challenge, even if the webhook is
   * already active, and clears its failures. A webhook that had failed then gets the events of the
   * last 72 hours that it missed.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if any other field differs from the stored one
   * @throws {ChallengeFailedError} if the receiver does not answer the challenge
   */
  async update(applicationId: string, id: string, change: WebhookChange): Promise<Webhook> {
    const found = await this.get(applicationId, id);
    this.#refuseOtherChanges(found, change);
    if (change.state === 'active' && found.callbackUrl)
      await this.challenge.verify(found.callbackUrl);
    return this.em.transactional(async (em) => {
      const wanted = { id, before: found.state, to: change.state, at: this.clock.now() };
      const changed = await changeWebhookState(sqlOf(em), wanted);
      const where = { id, application: applicationId };
      const webhook = changed && (await em.findOne(Webhook, where, { refresh: true }));
      if (!webhook) throw new NotFoundError('webhook', id); // deleted during the challenge
      await record(em, applicationId, webhook, 'update', { state: change.state });
      return webhook;
    });
  }

  /**
   * Deletes a webhook and its queued deliveries.
   * @throws {NotFoundError}
   */
  async delete(applicationId: string, id: string): Promise<void> {
    const webhook = await this.get(applicationId, id);
    await this.em.transactional(async (em) => {
      await lockDeliveries(sqlOf(em), id);
      await deleteDeliveries(sqlOf(em), id);
      await em.nativeDelete(Webhook, { id, application: applicationId });
      await forgetRateGate(sqlOf(em), id);
      await record(em, applicationId, webhook, 'delete');
    });
  }

  /**
   * Attempts of the last 30 days, newest first.
   * @throws {NotFoundError}
   */
  async deliveries(applicationId: string, id: string, page: Page): Promise<StoredAttempt[]> {
    const webhook = await this.get(applicationId, id);
    return recentAttempts(this.database, webhook.id, page);
  }

  #refuseOtherChanges(webhook: Webhook, change: WebhookChange): void {
    const { delivery, callbackUrl, triggers, filters, content } = change;
    const fixed = (field: string) =>
      new InvalidInputError(`${field} cannot be changed: delete the webhook and create another`);
    if (delivery !== undefined && delivery !== webhook.delivery) throw fixed('delivery');
    if (callbackUrl !== undefined && callbackUrl !== (webhook.callbackUrl ?? null))
      throw fixed('callback_url');
    const asked = new Set(Array.isArray(triggers) ? triggers : []);
    const same =
      asked.size === webhook.triggers.length && webhook.triggers.every((name) => asked.has(name));
    if (triggers !== undefined && !same) throw fixed('triggers');
    if (filters && !sameFilters(filters, filtersOf(webhook))) throw fixed('filters');
    if (content !== undefined && content !== webhook.content) throw fixed('content');
  }
}

function record(
  em: EntityManager,
  applicationId: string,
  { id, callbackUrl }: Webhook,
  what: 'create' | 'update' | 'delete',
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  return recordAudit(sqlOf(em), {
    action: `webhook.${what}`,
    target: { type: 'webhook', id },
    applicationId,
    // The query of an address is often a secret.
    details: {
      ...(callbackUrl ? { address: callbackUrl.split('?', 1)[0] } : { delivery: 'pull' }),
      ...details,
    },
  });
}
