import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientAddress, clientKey } from '../base/client-address.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { type IncidentFields, reportIncident } from '../logs/incidents.ts';
import type { Caller } from './caller.ts';

/** Paths that limit the simultaneous requests of one account. */
const CONCURRENT_GROUP = /^\/(messages|threads|contacts)(\/|$)/;

class RateLimitedError extends DomainError {
  constructor(message: string, limit: number, retryAfterSeconds: number) {
    super('request.rate-limited', 'rate-limited', message, { limit, retryAfterSeconds });
  }
}

/**
 * Whether the body or query names an application without proving it (`/connect/token`,
 * `/oauth/authorize` …).
 */
function namesApplication(request: Request): boolean {
  const inBody = (request.body as { client_id?: unknown } | undefined)?.client_id;
  return (inBody ?? request.query['client_id']) !== undefined;
}

/**
 * Limits requests per second for each endpoint and application or account, and simultaneous
 * requests of one account. A client id is public. Requests that only name one count for the
 * client's address, so that nobody can use up another application's limit. Each process counts by
 * itself: with n replicas the limits are n times as high.
 */
@Injectable()
export class RateLimits {
  readonly #limits: AppConfig['rateLimits'];
  readonly #application: RateLimiterMemory | null;
  readonly #account: RateLimiterMemory | null;
  readonly #running = new KeyedCount();

  constructor(@Inject(APP_CONFIG) config: AppConfig) {
    this.#limits = config.rateLimits;
    const limiter = (points: number) =>
      points > 0 ? new RateLimiterMemory({ points, duration: 1 }) : null;
    this.#application = limiter(config.rateLimits.applicationPerSecond);
    this.#account = limiter(config.rateLimits.accountPerSecond);
  }

  /**
   * Counts a request without credentials, if it names an application.
   * @throws {RateLimitedError}
   */
  async countPublic(context: ExecutionContext): Promise<void> {
    const request = context.switchToHttp().getRequest<Request>();
    if (!namesApplication(request)) return;
    await this.#countForApplication(context, clientKey(clientAddress(request)), {});
  }

  /**
   * Counts a request of an application or account. A request of an account is simultaneous with
   * others until its response has ended.
   * @throws {RateLimitedError}
   */
  async count(context: ExecutionContext, { applicationId, accountId }: Caller): Promise<void> {
    const application = { application: applicationId };
    await this.#countForApplication(context, applicationId, application);
    if (accountId === undefined) return;
    const perAccount = { limiter: this.#account, limit: this.#limits.accountPerSecond };
    const key = `${endpointOf(context)}:${accountId}`;
    await spend(perAccount, key, { ...application, account: accountId });
    const request = context.switchToHttp().getRequest<Request>();
    if (CONCURRENT_GROUP.test(request.path))
      this.#countSimultaneous(accountId, context.switchToHttp().getResponse<Response>());
  }

  async #countForApplication(
    context: ExecutionContext,
    counted: string,
    application: IncidentFields,
  ): Promise<void> {
    const perApplication = { limiter: this.#application, limit: this.#limits.applicationPerSecond };
    await spend(perApplication, `${endpointOf(context)}:${counted}`, application);
  }

  #countSimultaneous(accountId: string, response: Response): void {
    const most = this.#limits.accountConcurrent;
    if (most === 0) return;
    if (this.#running.get(accountId) >= most) {
      throw new RateLimitedError(
        `Too many concurrent requests to this endpoint for one account (limit ${most})`,
        most,
        1,
      );
    }
    this.#running.add(accountId, 1);
    response.once('close', () => this.#running.add(accountId, -1));
  }
}

const endpointOf = (context: ExecutionContext): string =>
  `${context.getClass().name}.${context.getHandler().name}`;

async function spend(
  { limiter, limit }: { limiter: RateLimiterMemory | null; limit: number },
  key: string,
  who: IncidentFields,
): Promise<void> {
  if (!limiter) return;
  try {
    await limiter.consume(key);
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    // One line for each second, not for each request.
    if (rejection.consumedPoints === limit + 1)
      reportIncident('request.limited', who, `${limit} a second to ${key.split(':')[0]}`);
    const retryAfterSeconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1000));
    throw new RateLimitedError('Too many requests', limit, retryAfterSeconds);
  }
}
