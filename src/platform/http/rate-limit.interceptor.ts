import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { Request } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { finalize, type Observable } from 'rxjs';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';
import { clientAddress, clientKey } from '../base/client-address.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import { type IncidentFields, reportIncident } from '../logs/incidents.ts';
import { refusals } from '../refusals/refusals.ts';
import { callerOf } from './caller.ts';

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
export class RateLimitInterceptor implements NestInterceptor {
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

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<Request>();
    const { applicationId, accountId } = callerOf(request) ?? {};
    if (!applicationId && !namesApplication(request)) return next.handle();
    const counted = applicationId ?? clientKey(clientAddress(request));
    const endpoint = `${context.getClass().name}.${context.getHandler().name}`;
    const application = applicationId === undefined ? {} : { application: applicationId };
    const { applicationPerSecond, accountPerSecond } = this.#limits;
    const perApplication = { limiter: this.#application, limit: applicationPerSecond };
    await spend(perApplication, `${endpoint}:${counted}`, application, request);
    if (accountId === undefined) return next.handle();
    const perAccount = { limiter: this.#account, limit: accountPerSecond };
    const account = { ...application, account: accountId };
    await spend(perAccount, `${endpoint}:${accountId}`, account, request);
    const most = this.#limits.accountConcurrent;
    if (most === 0 || !CONCURRENT_GROUP.test(request.path)) return next.handle();
    if (this.#running.get(accountId) >= most) {
      refusals.limit({ ...account, client: clientAddress(request) });
      throw new RateLimitedError(
        `Too many concurrent requests to this endpoint for one account (limit ${most})`,
        most,
        1,
      );
    }
    this.#running.add(accountId, 1);
    return next.handle().pipe(finalize(() => this.#running.add(accountId, -1)));
  }
}

async function spend(
  { limiter, limit }: { limiter: RateLimiterMemory | null; limit: number },
  key: string,
  who: Pick<IncidentFields, 'account' | 'application'>,
  request: Request,
): Promise<void> {
  if (!limiter) return;
  try {
    await limiter.consume(key);
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    refusals.limit({ ...who, client: clientAddress(request) });
    // One line for each second, not for each request.
    if (rejection.consumedPoints === limit + 1)
      reportIncident('request.limited', who, `${limit} a second to ${key.split(':')[0]}`);
    const retryAfterSeconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1000));
    throw new RateLimitedError('Too many requests', limit, retryAfterSeconds);
  }
}
