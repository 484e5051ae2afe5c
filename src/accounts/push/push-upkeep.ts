import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type {
  PushContext,
  PushPort,
  PushSubscription,
  StoredSubscription,
} from '../../providers/port/push-port.ts';
import { type ConnectedAccount, ProviderAccounts } from '../grants/provider-accounts.ts';
import { schedulePushed } from '../sync-schedule/schedule-sync.ts';
import { PushAddresses } from './push-address.ts';
import { PushIntegrations } from './push-integrations.ts';
import { MOST_FAREWELLS, nextAttemptAt, renewalAt } from './push-policy.ts';
import type { PreviousSubscription } from './push-subscription.entity.ts';
import {
  type LeasedSubscription,
  PushSubscriptionRepository,
} from './push-subscriptions.repository.ts';

/** How long a lease lasts. If a process dies, its rows wait this long. */
const LEASE_MS = 300_000;
/** Rows leased at a time, and most rows of one run. */
const BATCH = 50;
const MOST_PER_RUN = 1_000;
/** Accounts whose providers are called at the same time. */
const PARALLEL = 20;
/** Pause after credentials were refused. A new sign-in makes the row due again. */
const INVALID_MS = 3_600_000;

/** A leased row and what calls of its provider need. */
interface Task {
  row: LeasedSubscription;
  account: ConnectedAccount;
  port: PushPort;
  context: PushContext;
}

/**
 * Makes, renews, replaces and ends subscriptions at providers. All processes share the work through
 * leases on rows, and no network is used inside a transaction. If a process dies after a provider
 * has made a subscription and before its row is written, another is made; the first one ends by
 * itself.
 */
@Injectable()
export class PushUpkeep {
  readonly #log = new Logger('Push');
  readonly #parallel = new KeyedLimit(PARALLEL);

  constructor(
    private readonly repository: PushSubscriptionRepository,
    private readonly accounts: ProviderAccounts,
    private readonly integrations: PushIntegrations,
    private readonly addresses: PushAddresses,
    private readonly connectors: ConnectorRegistry,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Processes the rows that are due, at most 1,000. */
  async run(stop?: AbortSignal): Promise<void> {
    for (let done = 0; done < MOST_PER_RUN; done += BATCH) {
      if (stop?.aborted) return;
      const now = this.clock.now();
      const rows = await this.repository.lease(now, new Date(now.getTime() + LEASE_MS), BATCH);
      const groups = Map.groupBy(rows, ({ accountId }) => accountId);
      await Promise.all(
        [...groups.values()].map((group) =>
          this.#parallel.run('accounts', async () => {
            for (const row of group) await this.#process(row);
          }),
        ),
      );
      if (rows.length < BATCH) return;
    }
  }

  /**
   * Ends the subscriptions of an account that is about to be removed.
   * @returns what to do after the removal. It never rejects: subscriptions that stay end by
   *   themselves
   */
  async leaving(accountId: string): Promise<() => Promise<void>> {
    const live = await this.repository.liveOf(accountId, this.clock.now());
    const account = live.length > 0 ? await this.accounts.find(accountId) : undefined;
    const port = account && this.connectors.require(account.provider).push;
    return async () => {
      if (!account || !port) return;
      for (const { details, ...subscription } of live)
        await this.#farewell(port, account, { ...subscription, details: details ?? {} });
    };
  }

  async #process(row: LeasedSubscription): Promise<void> {
    try {
      await this.#upkeep(row);
    } catch (error) {
      const isExpected = error instanceof ProviderError;
      if (!isExpected) this.#log.error(error);
      const reason = isExpected ? error : new ProviderError('temporary', String(error));
      await this.#failed(row, reason);
    }
  }

  async #upkeep(row: LeasedSubscription): Promise<void> {
    const now = this.clock.now();
    const account = this.accounts.open(row);
    const { push: port } = this.connectors.require(account.provider);
    if (!port || account.grantStatus === 'invalid') {
      const error = port
        ? 'the account must be authenticated again'
        : 'the provider no longer reports changes';
      return this.repository.postpone(row, { dueAt: after(now, INVALID_MS), failures: 0, error });
    }
    if (!row.wanted) return this.#end(row, account, port);
    const integration = await this.integrations.of(account.applicationId, account.provider);
    const address = this.addresses.of(account.provider, integration?.id ?? null);
    const task = { row, account, port, context: { integration, address } };
    const subscription = subscriptionOf(row, now);
    const isStale = row.credentials !== row.currentCredentials || row.address !== (address ?? '');
    if (!subscription || isStale) return this.#subscribe(task, subscription);
    if (!row.renewAt || row.renewAt <= now) return this.#renew(task, subscription);
    if (row.previous) await this.#endPrevious(task, row.previous);
    await this.repository.postpone(row, { dueAt: row.renewAt, failures: 0, error: null });
  }

  async #renew(task: Task, subscription: StoredSubscription): Promise<void> {
    const { row, account, port, context } = task;
    if (!port.renew) return this.#subscribe(task, subscription);
    try {
      const renewed = await port.renew(account, subscription, context);
      if (!(renewed.expiresAt > this.clock.now())) throw endedAlready(renewed);
      await this.#store(task, renewed, null, row.previous);
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.repository.lose(row);
      await this.#subscribe(task, null);
    }
  }

  /** @param before the subscription that the new one replaces */
  async #subscribe(task: Task, before: StoredSubscription | null): Promise<void> {
    const { row, account, port, context } = task;
    const secret = randomBytes(32).toString('base64url');
    const { resource } = row;
    const made = await port.subscribe(account, { ...context, resource, id: newId(), secret });
    const previous = (before && previousOf(before)) ?? row.previous;
    const isAlive = made.expiresAt > this.clock.now();
    if (isAlive && (await this.#store(task, made, hashToken(secret), previous))) return;
    // It has ended already, the account was removed meanwhile, or another process has made a
    // subscription as well. Without an id both are the same subscription.
    if (made.id !== null)
      await this.#farewell(port, account, { ...made, resource, details: made.details ?? {} });
    if (!isAlive) throw endedAlready(made);
  }

  /**
   * Stores a subscription. If it is new, its resource is read: earlier changes were not reported.
   * @returns false if another process has leased the row since, or the row was deleted
   */
  async #store(
    { row, context }: Task,
    made: PushSubscription,
    secretHash: Buffer | null,
    previous: PreviousSubscription | null,
  ): Promise<boolean> {
    const now = this.clock.now();
    const renewAt = renewalAt(now, made.expiresAt, Math.random());
    return this.database.transaction(async (sql) => {
      if (secretHash !== null) await schedulePushed(sql, [row]);
      return this.repository.store(sql, row, {
        providerId: made.id,
        secretHash,
        details: made.details ?? row.details ?? {},
        previous,
        expiresAt: made.expiresAt,
        renewAt,
        dueAt: previous ? now : renewAt,
        address: context.address,
      });
    });
  }

  /** Unsubscribes and deletes the row. After some failures the subscription is left to end. */
  async #end(row: LeasedSubscription, account: ConnectedAccount, port: PushPort): Promise<void> {
    const now = this.clock.now();
    const subscription = subscriptionOf(row, now);
    if (row.previous) await this.#endPrevious({ row, account, port }, row.previous);
    if (subscription && row.failures < MOST_FAREWELLS)
      await port.unsubscribe(account, subscription).catch(unlessGone);
    await this.repository.lose(row);
    await this.repository.forget(row);
    // The row is still there if it is wanted again.
    await this.repository.postpone(row, { dueAt: now, failures: 0, error: null });
  }

  async #endPrevious(
    { row, account, port }: Omit<Task, 'context'>,
    previous: PreviousSubscription,
  ): Promise<void> {
    const { id, details, expiresAt } = previous;
    const subscription = { id, details, expiresAt: new Date(expiresAt), resource: row.resource };
    const isOver = subscription.expiresAt <= this.clock.now() || row.failures >= MOST_FAREWELLS;
    // Without an id, the new subscription has taken the place of the old one.
    if (id !== null && !isOver) await port.unsubscribe(account, subscription).catch(unlessGone);
    await this.repository.dropPrevious(row);
  }

  async #failed(row: LeasedSubscription, error: ProviderError): Promise<void> {
    // A provider that asks us to slow down has not failed.
    const failures = Math.min(row.failures + (error.code === 'rate-limited' ? 0 : 1), 1_000);
    const unsupported = error.code === 'unsupported';
    const dueAt = nextAttemptAt(this.clock.now(), failures, error, Math.random());
    await this.repository.postpone(row, { dueAt, failures, error: error.message, unsupported });
    const text = `account ${row.accountId}: subscription to ${row.resource}: ${error.message}`;
    if (unsupported) this.#log.log(`${text}; polling finds its changes`);
    else this.#log.warn(`${text}; retried, and meanwhile polling finds its changes`);
  }

  async #farewell(
    port: PushPort,
    account: ConnectedAccount,
    subscription: StoredSubscription,
  ): Promise<void> {
    try {
      await port.unsubscribe(account, subscription);
    } catch (error) {
      this.#log.log(
        `account ${account.accountId}: subscription to ${subscription.resource} was not ended and ends by itself: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}

const after = (now: Date, ms: number): Date => new Date(now.getTime() + ms);

/** Made again at once, such a subscription would cost quota without end. */
function endedAlready({ expiresAt }: PushSubscription): ProviderError {
  const end = Number.isNaN(expiresAt.getTime()) ? 'no valid time' : expiresAt.toISOString();
  return new ProviderError(
    'temporary',
    `The provider made a subscription that has ended already (${end})`,
  );
}

const isGone = (error: unknown): boolean =>
  error instanceof ProviderError && error.code === 'not-found';

function unlessGone(error: unknown): void {
  if (!isGone(error)) throw error;
}

/** The subscription that the provider has, or `null` if it has none. */
function subscriptionOf(row: LeasedSubscription, now: Date): StoredSubscription | null {
  const { providerId, expiresAt, details, resource } = row;
  if (expiresAt === null || expiresAt <= now) return null;
  return { id: providerId, expiresAt, details: details ?? {}, resource };
}

const previousOf = ({ id, expiresAt, details }: StoredSubscription): PreviousSubscription => ({
  id,
  expiresAt: expiresAt.toISOString(),
  details: { ...details },
});
