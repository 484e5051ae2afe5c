import { networkInterfaces } from 'node:os';
import { BlockList, isIPv6 } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { ApplicationPrincipal } from '../../platform/auth/principal.ts';
import { DomainError, ForbiddenError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';

/** IP addresses that requests of this server come from. */
export interface PublicAddresses {
  addresses: string[];
  /** When the addresses were determined. */
  updatedAt: Date;
}

const CALLS_PER_HOUR = 10;
const HOUR_SECONDS = 3600;

/** Ranges that are not reachable from the internet (RFC 6890). */
const PRIVATE = new BlockList();
for (const range of [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
]) {
  const [network = '', bits] = range.split('/');
  PRIVATE.addSubnet(network, Number(bits), 'ipv4');
}
for (const range of ['::/127', 'fc00::/7', 'fe80::/10']) {
  const [network = '', bits] = range.split('/');
  PRIVATE.addSubnet(network, Number(bits), 'ipv6');
}

/** Addresses of the machine's interfaces that are reachable from the internet. */
export function publicAddressesOf(interfaces: ReturnType<typeof networkInterfaces>): string[] {
  const addresses = Object.values(interfaces)
    .flatMap((list) => list ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address.split('%', 1)[0] ?? address)
    .filter((address) => !PRIVATE.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'));
  return [...new Set(addresses)];
}

/** Lists the addresses that applications should allow in their firewalls. */
@Injectable()
export class PublicAddressesService {
  readonly #addresses: PublicAddresses;
  readonly #limiter: RateLimiterMemory | null;

  constructor(@Inject(APP_CONFIG) config: AppConfig, clock: Clock) {
    this.#addresses = {
      addresses:
        config.publicIpAddresses.length > 0
          ? [...config.publicIpAddresses]
          : publicAddressesOf(networkInterfaces()),
      updatedAt: clock.now(),
    };
    this.#limiter =
      config.rateLimits.applicationPerSecond > 0
        ? new RateLimiterMemory({ points: CALLS_PER_HOUR, duration: HOUR_SECONDS })
        : null;
  }

  /**
   * The configured addresses, else the public addresses of this machine.
   * @throws {ForbiddenError} on the quickstart plan; only standard applications may ask
   * @throws {DomainError} `rate-limited` after ten calls an hour per application
   */
  async for(application: ApplicationPrincipal): Promise<PublicAddresses> {
    if (application.plan === 'quickstart') {
      throw new ForbiddenError(
        'application.plan',
        'IP addresses are not part of the quickstart plan: they need a standard application.',
      );
    }
    await this.#spend(application.applicationId);
    return this.#addresses;
  }

  async #spend(applicationId: string): Promise<void> {
    try {
      await this.#limiter?.consume(applicationId);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      throw new DomainError('request.rate-limited', 'rate-limited', 'Too many requests', {
        limit: CALLS_PER_HOUR,
        retryAfterSeconds: Math.max(1, Math.ceil(rejection.msBeforeNext / 1000)),
      });
    }
  }
}
