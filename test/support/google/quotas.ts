import { Quota } from '../remote-stub/quota.ts';
import type { GoogleMethod, Service } from './call.ts';
import { GoogleError } from './errors.ts';
import type { GoogleHabits } from './habits.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How the stub refuses requests over quota. Google does both. */
export interface Refusal {
  /** 429 `rateLimitExceeded`, or 403 `userRateLimitExceeded`. */
  status: 429 | 403;
  /** True: the answer has a Retry-After. */
  hasRetryAfter: boolean;
}

/** Quotas of Google's interfaces. Limits may be changed while the stub runs. */
export class GoogleQuotas {
  /** Units of each person in a minute, as published. Calls of other services count as one unit. */
  readonly perUser: Record<Service, Quota>;
  /** Units of the client's project in a minute. The account's name is `project`. */
  readonly perProject: Record<Service, Quota>;
  /**
   * First pages of full lists of contacts, of each person in a minute. Google has such a quota and
   * names no number. Default: none is refused.
   */
  readonly fullLists: Quota;
  refusal: Refusal = { status: 429, hasRetryAfter: false };
  #project: 'new' | 'old' = 'new';

  readonly #eventWrites: Quota;

  /** @param now milliseconds of the stub's clock */
  constructor(
    now: () => number,
    private readonly habits: GoogleHabits,
  ) {
    this.#eventWrites = new Quota({ units: Infinity, windowMs: HOUR }, now);
    const quotas = (gmail: number, calendar: number, people: number, others: number) => {
      const quota = (units: number) => new Quota({ units, windowMs: MINUTE }, now);
      return {
        gmail: quota(gmail),
        calendar: quota(calendar),
        people: quota(people),
        directory: quota(others),
        pubsub: quota(others),
      };
    };
    this.perUser = quotas(6000, 600, 180, 2400);
    this.fullLists = new Quota({ units: 1e9, windowMs: MINUTE }, now);
    this.perProject = quotas(1_200_000, 10_000, 10_000, 1_200_000);
  }

  /** Counts a write of an event, or throws what Google answers above its limits of use. */
  chargeEventWrite(email: string): void {
    this.#eventWrites.limit.units = this.habits.calendarWrites;
    if (this.#eventWrites.take(email, 1) === 0) return;
    const entry = { domain: 'usageLimits' };
    throw new GoogleError(403, 'quotaExceeded', 'Calendar usage limits exceeded.', { entry });
  }

  /** Grants what Google grants to projects that are new or from before May 2026. Default: new. */
  useProject(project: 'new' | 'old'): void {
    this.#project = project;
    this.perUser.gmail.limit.units = project === 'old' ? 15_000 : 6_000;
  }

  /** Charges a call, or throws the error that Google answers. */
  charge(
    { service, ...method }: Pick<GoogleMethod, 'service' | 'units' | 'oldUnits'>,
    email: string,
  ): void {
    const units = this.#project === 'old' ? (method.oldUnits ?? method.units) : method.units;
    const wait =
      this.perUser[service].take(email, units) || this.perProject[service].take('project', units);
    if (wait > 0) throw this.#refused(service, wait);
  }

  /** Charges the first page of a full list of contacts, or throws the error that Google answers. */
  chargeFullList(email: string): void {
    const wait = this.fullLists.take(email, 1);
    if (wait > 0) throw this.#refused('people', wait);
  }

  #refused(service: Service, wait: number): GoogleError {
    const { status, hasRetryAfter } = this.refusal;
    const headers: Record<string, string> = hasRetryAfter
      ? { 'retry-after': String(Math.ceil(wait / 1000)) }
      : {};
    const entry = { domain: 'usageLimits' };
    if (status === 403)
      return new GoogleError(403, 'userRateLimitExceeded', 'User Rate Limit Exceeded', {
        entry,
        headers,
      });
    const what = `Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service '${service}.googleapis.com' for consumer 'project_number:1'.`;
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'RATE_LIMIT_EXCEEDED',
        domain: 'googleapis.com',
      },
    ];
    return new GoogleError(429, 'rateLimitExceeded', what, { entry, headers, details });
  }
}
