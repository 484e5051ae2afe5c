import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientAddress, clientKey } from '../base/client-address.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { type IncidentFields, reportIncident } from '../logs/incidents.ts';
import { refusals } from '../refusals/refusals.ts';
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
    const counted = clientKey(clientAddress(request));
    await this.#spend('application', { context, counted, who: {} });
  }

  /**
   * Counts a request of an application or account. A request of an account is simultaneous with
   * others until its response is complete or the client has gone.
   * @throws {RateLimitedError}
   */
  async count(context: ExecutionContext, { applicationId, accountId }: Caller): Promise<void> {
    const application = { application: applicationId };
    await this.#spend('application', { context, counted: applicationId, who: application });
    if (accountId === undefined) return;
    const account = { ...application, account: accountId };
    await this.#spend('account', { context, counted: accountId, who: account });
    const { path } = context.switchToHttp().getRequest<Request>();
    if (CONCURRENT_GROUP.test(path)) this.#countSimultaneous(context, account);
  }

  async #spend(of: 'application' | 'account', { context, counted, who }: Counted): Promise<void> {
    const limiter = of === 'application' ? this.#application : this.#account;
    if (!limiter) return;
    const endpoint = `${context.getClass().name}.${context.getHandler().name}`;
    try {
      await limiter.consume(`${endpoint}:${counted}`);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      refusals.limit({ ...who, client: clientOf(context) });
      const limit = limiter.points;
      // One line for each second, not for each request.
      if (rejection.consumedPoints === limit + 1)
        reportIncident('request.limited', who, `${limit} a second to ${endpoint}`);
      const retryAfterSeconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1000));
      throw new RateLimitedError('Too many requests', limit, retryAfterSeconds);
    }
  }

  #countSimultaneous(context: ExecutionContext, who: Required<Who>): void {
    const most = this.#limits.accountConcurrent;
    const { account } = who;
    if (most === 0) return;
    if (this.#running.get(account) >= most) {
      refusals.limit({ ...who, client: clientOf(context) });
      throw new RateLimitedError(
        `Too many concurrent requests to this endpoint for one account (limit ${most})`,
        most,
        1,
      );
    }
    const response = context.switchToHttp().getResponse<Response>();
    // The client has gone while its token was looked up; there will be no further event.
    if (response.closed || response.destroyed) return;
    this.#running.add(account, 1);
    let runs = true;
    const end = (): void => {
      if (runs) this.#running.add(account, -1);
      runs = false;
    };
    // Not only when it is closed: a client may have a large response, and send its next request,
    // before this process learns that all of it was sent.
    response.once('prefinish', end).once('close', end);
  }
}

type Who = Pick<IncidentFields, 'account' | 'application'>;

/** A request that counts for a limit. */
interface Counted {
  context: ExecutionContext;
  /** What the limit belongs to: the id of an application or account, or a client's address. */
  counted: string;
  /** The sender, for the log and for operators. Empty if only its address is known. */
  who: Who;
}

const clientOf = (context: ExecutionContext): string =>
  clientAddress(context.switchToHttp().getRequest<Request>());
