import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { monotonicMs } from '../platform/base/time/clock.ts';
import { spread } from '../platform/work/backoff.ts';
import { CurrentWorker } from '../platform/work/current-worker.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { type ConnectedAccount, ProviderAccounts } from '../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../providers/port/connector-registry.ts';
import type { MailWatch } from '../providers/port/connector.ts';
import { ProviderError } from '../platform/base/errors/provider-error.ts';
import { STABLE_SECONDS, watchWaitSeconds } from './sync-policy.ts';
import { SyncWaker } from './sync-waker.ts';
import { type EndedWatch, type WatchLease, WatchLeases } from './watch-leases.ts';

/** Time between looks at the leases while there are any; one query. */
const TICK_MS = 2_000;
/** The same while nothing is watched anywhere. */
const IDLE_TICK_MS = 10_000;
/** Every so often what is held here and what the database says are compared. */
const COMPARE_MS = 10_000;
const MOST_PER_CLAIM = 200;
/** Connections that are being begun at a time. */
const MOST_BEGINNING = 20;
/** So far above its share a worker keeps what it has; of the rest it gives back a little at a time. */
const SHARE_SLACK = 1.2;
const SHARE_SPARE = 5;
const MOST_GIVEN_BACK = 10;
/** A provider that cannot tell of changes is asked again after that: it may have learned it. */
const UNSUPPORTED_SECONDS = 86_400;

interface HeldWatch {
  lease: WatchLease;
  /** Set while it is up. */
  watch: MailWatch | null;
  upAtMs: number;
  /** It is not wanted any more: what comes of it is void. */
  over: boolean;
}

/**
 * Keeps the connections over which mailboxes tell of changes: each account has one, in one process of all workers. A
 * dead worker's are taken over by the others within about twelve seconds.
 */
@Injectable()
export class MailboxWatches implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #log = new Logger(MailboxWatches.name);
  readonly #most: number;
  readonly #held = new Map<string, HeldWatch>();
  /** Told to the database with the next tick. */
  readonly #up = new Set<string>();
  readonly #ended = new Map<string, EndedWatch>();
  readonly #waiting: HeldWatch[] = [];
  #beginning = 0;
  #workerId = 0;
  #comparedAt = -Infinity;
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

  /** Watches that are up in this process. */
  get count(): number {
    return [...this.#held.values()].filter(({ watch }) => watch !== null).length;
  }

  onApplicationBootstrap(): void {
    if (this.#most > 0) this.#tickIn(TICK_MS);
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#ticking;
    const held = [...this.#held.keys()];
    await this.#drop(held);
    // Else they are taken over when the heartbeat has been silent for long enough.
    await this.leases.release(this.#workerId, held).catch((error: unknown) => {
      this.#log.warn(`watches were not given back: ${String(error)}`);
    });
  }

  /** There is a new one, perhaps to be taken here. */
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
              this.#log.warn(`watches have to wait: ${String(error)}`);
              this.#tickIn(TICK_MS);
            },
          );
      },
      spread(ms, 0.1, Math.random()),
    );
  }

  /** One look at the leases. @returns whether there is anything to be watched anywhere */
  async tick(): Promise<boolean> {
    const { id } = this.worker;
    if (id !== this.#workerId) {
      // Whatever was held under another name others may have taken over.
      await this.#drop([...this.#held.keys()]);
      this.#workerId = id;
      this.#comparedAt = -Infinity;
    }
    if (id === 0) return true;
    await this.#tell(id);
    if (monotonicMs() - this.#comparedAt > COMPARE_MS && this.#held.size > 0)
      await this.#compare(id);
    const most = Math.min(this.#most - this.#held.size, MOST_PER_CLAIM);
    const { total, fair, leases } = await this.leases.claim(id, Math.max(0, most), this.#held.size);
    for (const lease of leases) this.#take(lease);
    const surplus = this.#held.size - Math.ceil(fair * SHARE_SLACK) - SHARE_SPARE;
    if (surplus > 0) await this.#giveBack(id, Math.min(surplus, MOST_GIVEN_BACK));
    return total > 0;
  }

  async #tell(id: number): Promise<void> {
    const [up, ended] = [[...this.#up], [...this.#ended.values()]];
    await this.leases.noteUp(id, up);
    for (const accountId of up) this.#up.delete(accountId);
    await this.leases.noteEnded(id, ended);
    for (const one of ended) {
      if (this.#ended.get(one.accountId) === one) this.#ended.delete(one.accountId);
    }
  }

  /** Ends watches of accounts that are gone, invalid, cancelled, or have other credentials; takes those it had forgotten. */
  async #compare(id: number): Promise<void> {
    this.#comparedAt = monotonicMs();
    const ours = new Map((await this.leases.ours(id)).map((lease) => [lease.accountId, lease]));
    const stale = [...this.#held.values()].filter(
      ({ lease }) => ours.get(lease.accountId)?.credentials !== lease.credentials,
    );
    const ids = stale.map(({ lease }) => lease.accountId);
    await this.#drop(ids);
    await this.leases.release(id, ids);
    const lost = [...ours.values()].filter(
      ({ accountId }) =>
        !this.#held.has(accountId) && !this.#ended.has(accountId) && !ids.includes(accountId),
    );
    for (const lease of lost) this.#take(lease);
  }

  async #giveBack(id: number, count: number): Promise<void> {
    const ids = [...this.#held.keys()].slice(-count);
    await this.#drop(ids);
    await this.leases.release(id, ids);
  }

  async #drop(accountIds: readonly string[]): Promise<void> {
    const dropped = accountIds.flatMap((accountId) => this.#held.get(accountId) ?? []);
    for (const held of dropped) {
      held.over = true;
      this.#held.delete(held.lease.accountId);
      this.#up.delete(held.lease.accountId);
    }
    await Promise.all(dropped.map((held) => this.#stop(held)));
  }

  async #stop({ watch, lease }: HeldWatch): Promise<void> {
    try {
      await watch?.stop();
    } catch (error) {
      this.#log.warn(`the watch of account ${lease.accountId} did not end well: ${String(error)}`);
    }
  }

  #take(lease: WatchLease): void {
    if (this.#held.has(lease.accountId)) return;
    const held: HeldWatch = { lease, watch: null, upAtMs: 0, over: false };
    this.#held.set(lease.accountId, held);
    this.#waiting.push(held);
    this.#beginNext();
  }

  #beginNext(): void {
    while (this.#beginning < MOST_BEGINNING) {
      const held = this.#waiting.shift();
      if (!held) return;
      if (held.over) continue;
      this.#beginning += 1;
      void this.#begin(held).finally(() => {
        this.#beginning -= 1;
        this.#beginNext();
      });
    }
  }

  async #begin(held: HeldWatch): Promise<void> {
    try {
      const account = await this.accounts.find(held.lease.accountId);
      if (!account) throw new ProviderError('not-found', 'The account is gone');
      const { mail } = this.connectors.require(account.provider);
      if (!mail?.watch)
        throw new ProviderError('unsupported', 'The provider does not tell of changes');
      const watch = await mail.watch(account, {
        onChange: () => this.#changed(held, account),
        onEnd: (error) => this.#onEnd(held, account, error),
      });
      held.watch = watch;
      if (held.over) return await this.#stop(held);
      held.upAtMs = monotonicMs();
      this.#up.add(held.lease.accountId);
      // Between the last look and now anything may have happened.
      this.#changed(held, account);
    } catch (error) {
      this.#onEnd(
        held,
        null,
        error instanceof ProviderError ? error : new ProviderError('temporary', String(error)),
      );
    }
  }

  #changed({ over }: HeldWatch, account: ConnectedAccount): void {
    if (!over) this.waker.changed(account);
  }

  #onEnd(held: HeldWatch, account: ConnectedAccount | null, error: ProviderError | null): void {
    if (held.over) return;
    const { accountId, failures } = held.lease;
    held.over = true;
    this.#held.delete(accountId);
    this.#up.delete(accountId);
    const wasStable = held.watch !== null && monotonicMs() - held.upAtMs >= STABLE_SECONDS * 1000;
    const ends = wasStable ? 1 : failures + 1;
    const waitSeconds =
      error?.code === 'unsupported'
        ? UNSUPPORTED_SECONDS
        : watchWaitSeconds(ends, error?.retryAfterSeconds ?? null, Math.random());
    this.#ended.set(accountId, { accountId, waitSeconds, wasStable });
    // Nobody tells of changes now: a look finds them, and finds out what is wrong.
    if (account) this.waker.changed(account);
    this.#log.debug(
      `the watch of account ${accountId} has ended: ${error?.message ?? 'without a reason'}`,
    );
  }
}
