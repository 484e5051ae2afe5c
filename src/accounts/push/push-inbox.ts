import { Inject, Injectable, Logger } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { clientKey } from '../../platform/base/client-address.ts';
import { DomainError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { PushAnswer, PushPort, PushRequest } from '../../providers/port/push-port.ts';
import { PushAddresses } from './push-address.ts';
import { PushIntegrations } from './push-integrations.ts';
import { PushSignals } from './push-signals.ts';

/** Requests that one process handles at a time. */
const MOST_AT_A_TIME = 16;
/** Google Calendar repeats notifications after 500, 502, 503 and 504 only. */
const BUSY: PushAnswer = { status: 503 };

const UNKNOWN: PushAnswer = { status: 404 };

/** Who sent a request to `/push/{provider}`, and what it contains. */
export interface PushDelivery {
  provider: string;
  /** `null` if the address names none. */
  integrationId: string | null;
  /** Network address of the sender. */
  client: string;
  request: PushRequest;
}

/**
 * Receives the notifications of providers. Anybody can send one. A forged one costs a query and
 * changes nothing. At most, a connector that checks signatures reads the provider's keys again.
 */
@Injectable()
export class PushInbox {
  readonly #log = new Logger('Push');
  readonly #perSecond: number;
  readonly #limiter: RateLimiterMemory | null;
  #running = 0;

  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly integrations: PushIntegrations,
    private readonly signals: PushSignals,
    private readonly addresses: PushAddresses,
    @Inject(APP_CONFIG) { rateLimits }: AppConfig,
  ) {
    this.#perSecond = rateLimits.applicationPerSecond;
    this.#limiter =
      this.#perSecond > 0 ? new RateLimiterMemory({ points: this.#perSecond, duration: 1 }) : null;
  }

  /**
   * Stores what a request reports. Everything is committed when this returns.
   * @returns what to answer the provider; 503 if too many requests are handled at a time
   * @throws {NotFoundError} for a provider or integration that receives no notifications
   * @throws {DomainError} `rate-limited` for too many requests from one network address
   */
  async receive(delivery: PushDelivery): Promise<PushAnswer> {
    const port = this.#portOf(delivery.provider);
    await this.#spend(delivery.client);
    if (this.#running >= MOST_AT_A_TIME) return BUSY;
    this.#running += 1;
    try {
      return await this.#handle(port, delivery);
    } finally {
      this.#running -= 1;
    }
  }

  async #handle(
    port: PushPort,
    { provider, integrationId, request }: PushDelivery,
  ): Promise<PushAnswer> {
    const integration =
      integrationId === null ? null : await this.integrations.byId(integrationId, provider);
    if (integrationId !== null && !integration) throw new NotFoundError('address', '');
    const address = this.addresses.of(provider, integrationId);
    const receipt = await port.receive(request, integration, address);
    const { signals, answer, unknown = UNKNOWN } = receipt;
    if (signals.length === 0) return answer;
    const known = await this.signals.store(provider, integration, signals);
    if (known > 0) return answer;
    this.#log.debug(`${provider}: a notification about no live subscription`);
    return unknown;
  }

  #portOf(provider: string): PushPort {
    const port = this.connectors.has(provider) ? this.connectors.require(provider).push : undefined;
    if (!port) throw new NotFoundError('address', '');
    return port;
  }

  async #spend(client: string): Promise<void> {
    try {
      await this.#limiter?.consume(clientKey(client));
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      throw new DomainError('request.rate-limited', 'rate-limited', 'Too many requests', {
        limit: this.#perSecond,
        retryAfterSeconds: Math.max(1, Math.ceil(rejection.msBeforeNext / 1000)),
      });
    }
  }
}
