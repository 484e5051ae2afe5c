import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock, monotonicMs } from '../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { PushIntegration, PushPort } from '../../providers/port/push-port.ts';
import { PushIntegrations } from './push-integrations.ts';
import { nextAttemptAt } from './push-policy.ts';
import { type PullLease, PushPullRepository } from './push-pulls.repository.ts';
import { PushSignals } from './push-signals.ts';

/** How long a lease lasts; each pull renews it. If a process dies, others take over after it. */
const LEASE_MS = 60_000;
/** A pull that takes longer is aborted, before its lease ends. */
const LONGEST_PULL_MS = 45_000;
/** Shortest time between two pulls that found nothing. */
const PAUSE_MS = 1_000;
/** Integrations that one process pulls for at a time. */
const MOST_AT_A_TIME = 50;
/** Shortest time between two readings of the list of integrations: every third run reads it. */
const LIST_MS = 25_000;

interface Pulled {
  provider: string;
  integration: PushIntegration;
  port: PushPort;
}

/**
 * Pulls the notifications that providers keep for integrations, such as those of a Pub/Sub
 * subscription. One process at a time pulls for an integration. Notifications are acknowledged
 * after they are stored, so those of a dead process come again.
 */
@Injectable()
export class PushPulls implements OnModuleDestroy {
  readonly #log = new Logger('Push');
  readonly #loops = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #listedAt = -Infinity;

  constructor(
    private readonly repository: PushPullRepository,
    private readonly integrations: PushIntegrations,
    private readonly signals: PushSignals,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops.values());
  }

  /** Leases integrations that no process pulls for, and begins to pull for them. */
  async run(): Promise<void> {
    const providers = this.connectors.all().flatMap(({ name, push }) => (push?.pull ? [name] : []));
    if (providers.length === 0 || this.#stop.signal.aborted) return;
    if (monotonicMs() - this.#listedAt >= LIST_MS) await this.#list(providers);
    const now = this.clock.now();
    const free = MOST_AT_A_TIME - this.#loops.size;
    if (free <= 0) return;
    const leases = await this.repository.lease(now, new Date(now.getTime() + LEASE_MS), free);
    for (const lease of leases) this.#begin(lease, providers);
  }

  async #list(providers: readonly string[]): Promise<void> {
    const all = await this.integrations.all(providers);
    const pulled = all.filter(({ provider, ...integration }) =>
      this.connectors.require(provider).push?.isPulled?.(integration),
    );
    await this.repository.keep(
      pulled.map(({ id }) => id),
      this.clock.now(),
    );
    this.#listedAt = monotonicMs();
  }

  #begin(lease: PullLease, providers: readonly string[]): void {
    const { integrationId } = lease;
    const before = this.#loops.get(integrationId) ?? Promise.resolve();
    const loop = before
      .then(() => this.#loop(lease, providers))
      .catch((error: unknown) => this.#log.error(error))
      .finally(() => {
        if (this.#loops.get(integrationId) === loop) this.#loops.delete(integrationId);
      });
    this.#loops.set(integrationId, loop);
  }

  async #loop(lease: PullLease, providers: readonly string[]): Promise<void> {
    try {
      for (;;) {
        const pulled = await this.#find(lease.integrationId, providers);
        if (!pulled || this.#stop.signal.aborted) break;
        const found = await this.#pull(pulled);
        const now = this.clock.now();
        const until = new Date(now.getTime() + LEASE_MS);
        if (!(await this.repository.extend(lease, now, until))) return;
        if (!found) await delay(PAUSE_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
      await this.repository.release(lease, this.clock.now(), 0, null);
    } catch (error) {
      if (this.#stop.signal.aborted)
        return this.repository.release(lease, this.clock.now(), 0, null);
      await this.#failed(lease, error);
    }
  }

  async #find(integrationId: string, providers: readonly string[]): Promise<Pulled | null> {
    for (const provider of providers) {
      const integration = await this.integrations.byId(integrationId, provider);
      const { push: port } = this.connectors.require(provider);
      if (integration && port?.isPulled?.(integration)) return { provider, integration, port };
    }
    return null;
  }

  /** @returns true if there were notifications */
  async #pull({ provider, integration, port }: Pulled): Promise<boolean> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(LONGEST_PULL_MS)]);
    const pulled = await port.pull?.(integration, signal);
    if (!pulled || pulled.signals.length === 0) {
      await pulled?.acknowledge();
      return false;
    }
    await this.signals.store(provider, integration, pulled.signals);
    await pulled.acknowledge();
    return true;
  }

  async #failed(lease: PullLease, error: unknown): Promise<void> {
    if (!(error instanceof ProviderError)) this.#log.error(error);
    const reason =
      error instanceof ProviderError ? error : new ProviderError('temporary', String(error));
    const failures = Math.min(lease.failures + 1, 1_000);
    const dueAt = nextAttemptAt(this.clock.now(), failures, reason, Math.random());
    await this.repository.release(lease, dueAt, failures, reason.message);
    this.#log.warn(
      `integration ${lease.integrationId}: notifications could not be pulled; tried again: ${reason.message}`,
    );
  }
}
