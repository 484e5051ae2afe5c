import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { monotonicMs } from '../../platform/base/time/clock.ts';
import { spread } from '../../platform/work/queue/backoff.ts';
import { CurrentWorker } from '../../platform/work/workers/current-worker.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import {
  type ConnectedAccount,
  ProviderAccounts,
} from '../../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { MailWatch } from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { STABLE_SECONDS, watchWaitSeconds } from '../sync-policy.ts';
import { SyncWaker } from '../sync-waker.ts';
import { type EndedWatch, type WatchLease, WatchLeases } from './watch-leases.ts';

/**
 * Time between two checks of the leases while any mailbox should be watched. Each check is one
 * query.
 */
const TICK_MS = 2_000;
/** Time between two checks while no mailbox should be watched. */
const IDLE_TICK_MS = 10_000;
/** Time between two comparisons of this process's watches with the leases in the database. */
const COMPARE_MS = 10_000;
const MOST_PER_CLAIM = 200;
/** Up to this number, all watches are counted with each check; that takes less than 1 ms. */
const MOST_COUNTED_EACH_TIME = 5_000;
/** Time between two counts of more watches. */
const COUNT_MS = 30_000;
/** Most connections being opened at the same time. */
const MOST_BEGINNING = 20;
/**
 * A worker keeps its watches up to this factor above its share. It gives back the others a
 * few at a time.
 */
const SHARE_SLACK = 1.2;
const SHARE_SPARE = 5;
const MOST_GIVEN_BACK = 10;
/**
 * A provider that does not support watches is asked again after this time, because an update may
 * have added them.
 */
const UNSUPPORTED_SECONDS = 86_400;

interface LeasedWatch {
  lease: WatchLease;
  /** Set while the watch is established. */
  watch: MailWatch | null;
  upAtMs: number;
  /** True if the watch is no longer wanted; its later results are ignored. */
  over: boolean;
}

/**
 * Keeps the connections on which providers report mailbox changes. Each account has one watch, in
 * one worker process. If that worker dies, the other workers take over its watches within about
 * twelve seconds.
 */
@Injectable()
export class MailboxWatches implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger(MailboxWatches.name);
  readonly #most: number;
  readonly #leased = new Map<string, LeasedWatch>();
  /** Reported to the database at the next tick. */
  readonly #up = new Set<string>();
  readonly #ended = new Map<string, EndedWatch>();
  readonly #waiting: LeasedWatch[] = [];
  #beginning = 0;
  #workerId = 0;
  #comparedAt = -Infinity;
  /** Number of all watches when they were last counted. */
  #total = 0;
  #countedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly worker: CurrentWorker,
    private readonly leases: WatchLeases,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly waker: SyncWaker,
  ) {
    this.#most = config.roles.includes('worker') ? config.sync.watches : 0;
  }

  /** Number of watches established in this process. */
  get count(): number {
    return [...this.#leased.values()].filter(({ watch }) => watch !== null).length;
  }

  onApplicationBootstrap(): void {
    if (this.#most > 0) this.#tickIn(TICK_MS);
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#ticking;
    const leased = [...this.#leased.keys()];
    await this.#drop(leased);
    // If this fails, other workers take over once this worker's heartbeat is old enough.
    await this.leases.release(this.#workerId, leased).catch((error: unknown) => {
      this.#log.warn(
        `could not release the watches of this worker; other workers take them over soon: ${String(error)}`,
      );
    });
  }

  /** Checks the leases now, because a watch was added. */
  hurry(): void {
    if (this.#most > 0) this.#tickIn(0);
  }

  #tickIn(ms: number): void {
    if (this.#stopping) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#ticking = this.#ticking
          .then(() => this.tick())
          .then(
            (busy) => this.#tickIn(busy ? TICK_MS : IDLE_TICK_MS),
            (error: unknown) => {
              this.#log.warn(
                `could not check the watch leases; the check is repeated: ${String(error)}`,
              );
              this.#tickIn(TICK_MS);
            },
          );
      },
      spread(ms, 0.1, Math.random()),
    );
  }

  /** Checks the leases once. @returns true if any mailbox should be watched, by any worker */
  async tick(): Promise<boolean> {
    const { id } = this.worker;
    if (id !== this.#workerId) {
      // Other workers may have taken over the watches leased under the old worker id.
      await this.#drop([...this.#leased.keys()]);
      this.#workerId = id;
      this.#comparedAt = -Infinity;
    }
    if (id === 0) return true;
    await this.#report(id);
    if (monotonicMs() - this.#comparedAt > COMPARE_MS && this.#leased.size > 0)
      await this.#compare(id);
    const most = Math.min(this.#most - this.#leased.size, MOST_PER_CLAIM);
    const { total, fair, leases } = await this.#claim(id, Math.max(0, most));
    for (const lease of leases) this.#take(lease);
    const surplus = this.#leased.size - Math.ceil(fair * SHARE_SLACK) - SHARE_SPARE;
    if (surplus > 0) await this.#giveBack(id, Math.min(surplus, MOST_GIVEN_BACK));
    return total > 0;
  }

  async #claim(id: number, most: number) {
    const counts =
      this.#total <= MOST_COUNTED_EACH_TIME || monotonicMs() - this.#countedAt > COUNT_MS;
    const known = counts ? null : this.#total;
    const claimed = await this.leases.claim(id, most, this.#leased.size, known);
    if (counts) {
      this.#countedAt = monotonicMs();
      this.#total = claimed.total;
    }
    return claimed;
  }

  async #report(id: number): Promise<void> {
    const [up, ended] = [[...this.#up], [...this.#ended.values()]];
    await this.leases.noteUp(id, up);
    for (const accountId of up) this.#up.delete(accountId);
    await this.leases.noteEnded(id, ended);
    for (const one of ended) {
      if (this.#ended.get(one.accountId) === one) this.#ended.delete(one.accountId);
    }
  }

  /**
   * Stops watches of accounts that were deleted, became invalid, were cancelled or got new
   * credentials. Starts watches that the database assigns to this worker but that are missing here.
   */
  async #compare(id: number): Promise<void> {
    this.#comparedAt = monotonicMs();
    const ours = new Map((await this.leases.ours(id)).map((lease) => [lease.accountId, lease]));
    const stale = [...this.#leased.values()].filter(
      ({ lease }) => ours.get(lease.accountId)?.credentials !== lease.credentials,
    );
    const ids = stale.map(({ lease }) => lease.accountId);
    await this.#drop(ids);
    await this.leases.release(id, ids);
    const lost = [...ours.values()].filter(
      ({ accountId }) =>
        !this.#leased.has(accountId) && !this.#ended.has(accountId) && !ids.includes(accountId),
    );
    for (const lease of lost) this.#take(lease);
  }

  async #giveBack(id: number, count: number): Promise<void> {
    const ids = [...this.#leased.keys()].slice(-count);
    await this.#drop(ids);
    await this.leases.release(id, ids);
  }

  async #drop(accountIds: readonly string[]): Promise<void> {
    const dropped = accountIds.flatMap((accountId) => this.#leased.get(accountId) ?? []);
    for (const leased of dropped) {
      leased.over = true;
      this.#leased.delete(leased.lease.accountId);
      this.#up.delete(leased.lease.accountId);
    }
    await Promise.all(dropped.map((leased) => this.#stop(leased)));
  }

  async #stop({ watch, lease }: LeasedWatch): Promise<void> {
    try {
      await watch?.stop();
    } catch (error) {
      this.#log.warn(
        `account ${lease.accountId}: the watch could not be closed cleanly: ${String(error)}`,
      );
    }
  }

  #take(lease: WatchLease): void {
    if (this.#leased.has(lease.accountId)) return;
    const leased: LeasedWatch = { lease, watch: null, upAtMs: 0, over: false };
    this.#leased.set(lease.accountId, leased);
    this.#waiting.push(leased);
    this.#beginNext();
  }

  #beginNext(): void {
    while (this.#beginning < MOST_BEGINNING) {
      const leased = this.#waiting.shift();
      if (!leased) return;
      if (leased.over) continue;
      this.#beginning += 1;
      void this.#begin(leased).finally(() => {
        this.#beginning -= 1;
        this.#beginNext();
      });
    }
  }

  async #begin(leased: LeasedWatch): Promise<void> {
    try {
      const account = await this.accounts.find(leased.lease.accountId);
      if (!account) throw new ProviderError('not-found', 'The account was deleted');
      const { mail } = this.connectors.require(account.provider);
      if (!mail?.watch)
        throw new ProviderError('unsupported', 'The provider does not report mailbox changes');
      const watch = await mail.watch(account, {
        onChange: () => this.#changed(leased, account),
        onEnd: (error) => this.#onEnd(leased, account, error),
      });
      leased.watch = watch;
      if (leased.over) return await this.#stop(leased);
      leased.upAtMs = monotonicMs();
      this.#up.add(leased.lease.accountId);
      // Changes between the last sync pass and the start of the watch were not reported.
      this.#changed(leased, account);
    } catch (error) {
      this.#onEnd(
        leased,
        null,
        error instanceof ProviderError ? error : new ProviderError('temporary', String(error)),
      );
    }
  }

  #changed({ over }: LeasedWatch, account: ConnectedAccount): void {
    if (!over) this.waker.changed(account);
  }

  #onEnd(leased: LeasedWatch, account: ConnectedAccount | null, error: ProviderError | null): void {
    if (leased.over) return;
    const { accountId, failures } = leased.lease;
    leased.over = true;
    this.#leased.delete(accountId);
    this.#up.delete(accountId);
    const wasStable =
      leased.watch !== null && monotonicMs() - leased.upAtMs >= STABLE_SECONDS * 1000;
    const ends = wasStable ? 1 : failures + 1;
    const waitSeconds =
      error?.code === 'unsupported'
        ? UNSUPPORTED_SECONDS
        : watchWaitSeconds(ends, error?.retryAfterSeconds ?? null, Math.random());
    this.#ended.set(accountId, { accountId, waitSeconds, wasStable });
    // Changes are not reported any more. A sync pass finds them, and finds out whether the account
    // has a problem.
    if (account) this.waker.changed(account);
    this.#log.debug(
      `account ${accountId}: the watch has ended and will be restarted: ${error?.message ?? 'the provider gave no reason'}`,
    );
  }
}
