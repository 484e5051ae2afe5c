import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { BudgetPriority, BudgetShare } from '../../platform/budgets/budget-limit.ts';
import type { CompanyApi } from '../../platform/budgets/company-api.ts';
import type { BudgetLimit } from '../../platform/config/sections/budget-config.ts';
import type { ProviderBudget } from '../../platform/budgets/provider-budget.ts';
import type { EgressClient, EgressResponse } from '../../platform/egress/egress-client.ts';
import type { ProviderAccount } from '../port/connector.ts';
import { pagesOf } from '../rest/pages.ts';
import { RestClient, type RestRequest } from '../rest/rest-client.ts';
import { GoogleError, toGoogleError } from './google-error.ts';
import { CALENDAR_PAUSES, FULL_LIST_PAUSES, UseLimits } from './google-use-limits.ts';

/** Google's APIs that Carillon uses, with their names in the counts of use. */
const GOOGLE_APIS = {
  gmail: 'gmail',
  calendar: 'google-calendar',
  people: 'google-people',
  directory: 'google-directory',
} as const satisfies Record<string, CompanyApi>;

/** An API of Google. Each has a quota of its own. */
export type GoogleApiName = keyof typeof GOOGLE_APIS;

/** Where Google's APIs are, without a trailing slash. */
export interface GoogleAddresses {
  /** Of sign-in. */
  issuer: string;
  userInfo: string;
  gmail: string;
  calendar: string;
  people: string;
  /** Of Google Workspace. */
  directory: string;
  pubsub: string;
  /** The token endpoint, for service accounts. */
  token: string;
  /** The keys with which Google signs tokens. */
  keys: string;
}

const GOOGLE_ADDRESSES: GoogleAddresses = {
  issuer: 'https://accounts.google.com',
  userInfo: 'https://openidconnect.googleapis.com/v1/userinfo',
  gmail: 'https://gmail.googleapis.com',
  calendar: 'https://www.googleapis.com',
  people: 'https://people.googleapis.com',
  directory: 'https://admin.googleapis.com',
  pubsub: 'https://pubsub.googleapis.com',
  token: 'https://oauth2.googleapis.com/token',
  keys: 'https://www.googleapis.com/oauth2/v3/certs',
};

/** @param one address that stands for all of them; `null` for Google's own */
export function googleAddresses(one: string | null): GoogleAddresses {
  if (one === null) return GOOGLE_ADDRESSES;
  const apis = { gmail: one, calendar: one, people: one, directory: one, pubsub: one };
  const signIn = { token: `${one}/token`, keys: `${one}/oauth2/v3/certs` };
  return { issuer: one, userInfo: `${one}/v1/userinfo`, ...signIn, ...apis };
}

/**
 * Limits of one API, in its own units: for each mailbox, and for all mailboxes of one OAuth client.
 * Gmail counts quota units, the other APIs count requests.
 */
export interface GoogleLimit {
  account: BudgetLimit;
  application: BudgetLimit;
}

/** Google's published limits of the other APIs. */
export const CALENDAR_LIMIT: GoogleLimit = {
  account: { units: 600, seconds: 60 },
  application: { units: 10_000, seconds: 60 },
};
export const DIRECTORY_LIMIT: GoogleLimit = {
  account: { units: 2_400, seconds: 60 },
  application: { units: 2_400, seconds: 60 },
};
export const PEOPLE_LIMIT: GoogleLimit = {
  account: { units: 90, seconds: 60 },
  application: { units: 3_000, seconds: 60 },
};

/** What a request costs and who waits for it. */
export interface GoogleCost {
  /** In units of its API. */
  units: number;
  priority: BudgetPriority;
  /** Whether `reserve` has taken the units already. Default `false`. */
  reserved?: boolean;
}

/** A request to one API; `path` begins with a slash. */
export interface GoogleRequest extends Omit<RestRequest, 'url'>, GoogleCost {
  path: string;
  /** Whether the caller decides about every repetition. Default: false. */
  once?: boolean;
  /**
   * Whether the request is for the first page of a full list of contacts, for which Google has a
   * small fixed quota of its own. Default: false.
   */
  isFullList?: boolean;
}

/**
 * Reads the pages of a list of Google's one after the other.
 * @param read reads the page with this token; `undefined` for the first page
 * @throws {ProviderError} `temporary` if the list does not end
 */
export function googlePages<Page extends { nextPageToken?: string | undefined }>(
  read: (pageToken: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  return pagesOf('Google', read, ({ nextPageToken }) => nextPageToken);
}

/**
 * The ids that at least one of two listings contains. What is missing is removed from the mirror,
 * and one listing that lacks it, perhaps all of it, would be no proof.
 */
export async function listedOnce(list: () => Promise<readonly string[]>): Promise<string[]> {
  const first = await list();
  return [...new Set([...first, ...(await list())])];
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

/** Pause in seconds if Google refuses a request as too fast and names no pause itself. */
const USUAL_PAUSE = 5;

/** Busy times are asked with a POST. */
const isWrite = ({ method, path }: Pick<GoogleRequest, 'method' | 'path'>): boolean =>
  method !== 'GET' && !path.endsWith('/freeBusy');

/** A limit of some requests that is apart from the quota of their API. */
interface LimitApart {
  share: BudgetShare;
  limits: UseLimits;
  /** Whether Google has refused the request because of this limit. */
  isOver(error: GoogleError): boolean;
  /** What the error says besides Google's words. */
  words: string;
}

/** The account has no access token, so Google was not asked. */
export class NoAccessTokenError extends ProviderError {
  override name = 'NoAccessTokenError';

  constructor() {
    super('temporary', 'There is no access token for this account');
  }
}

/** Calls one of Google's APIs for an account, within the quota. */
export class GoogleApi {
  readonly #rest: RestClient;
  readonly #address: string;
  readonly #writes = new UseLimits(CALENDAR_PAUSES);
  readonly #fullLists = new UseLimits(FULL_LIST_PAUSES);

  constructor(
    private readonly name: GoogleApiName,
    egress: EgressClient,
    private readonly clock: Clock,
    private readonly budget: ProviderBudget,
    private readonly limit: GoogleLimit,
    addresses: GoogleAddresses,
  ) {
    this.#rest = new RestClient(egress, clock, { service: 'Google', toError: toGoogleError });
    this.#address = addresses[name];
  }

  /**
   * Makes a request when the quota allows it. If Google refuses it with a passing error
   * (`GoogleError.isPassing`), it had no effect and is made once more, unless it is `once`.
   * @throws {BudgetExhaustedError} if the quota or the ceiling of the application is used up;
   *   Google was not asked
   * @throws {GoogleError} for an unsuccessful response
   * @throws {ProviderError} `temporary` if the account has no token
   */
  async send(account: ProviderAccount, request: GoogleRequest): Promise<EgressResponse> {
    const { once = false, ...asked } = request;
    try {
      return await this.#sendOnce(account, asked);
    } catch (error) {
      if (once || !(error instanceof GoogleError && error.isPassing)) throw error;
      // Units that were taken before covered the first request only.
      return this.#sendOnce(account, { ...asked, reserved: false });
    }
  }

  async #sendOnce(
    account: ProviderAccount,
    request: Omit<GoogleRequest, 'once'>,
  ): Promise<EgressResponse> {
    const { path, units, priority, reserved = false, isFullList: _isFullList, ...rest } = request;
    if (account.accessToken === undefined) throw new NoAccessTokenError();
    const shares = this.#shares(account, units);
    const [own] = shares;
    const apart = this.#apart(own, request);
    if (apart) this.budget.assertNoPause(apart.share.key);
    if (reserved) this.budget.assertNoPause(own.key);
    else await this.#take(account, shares, priority, request.signal);
    this.budget.use.count(account.applicationId, GOOGLE_APIS[this.name], units);
    try {
      const response = await this.#rest.send(account.accessToken, {
        ...rest,
        url: this.#address + path,
      });
      apart?.limits.accepted(apart.share.key);
      return response;
    } catch (error) {
      if (apart && error instanceof GoogleError && apart.isOver(error))
        throw await this.#paused(apart, error);
      if (error instanceof ProviderError && error.code === 'rate-limited')
        await this.budget.penalize(own, error.retryAfterSeconds ?? USUAL_PAUSE);
      throw error;
    }
  }

  /** The limit of such requests besides the quota of the API; `null` if there is none. */
  #apart(own: BudgetShare, request: Omit<GoogleRequest, 'once'>): LimitApart | null {
    if (request.isFullList === true)
      return {
        share: { ...own, key: `${own.key}:full-lists` },
        limits: this.#fullLists,
        isOver: ({ code }) => code === 'rate-limited',
        words: '. Google limits how often all contacts are listed; other requests go on',
      };
    if (!isWrite(request)) return null;
    return {
      share: { ...own, key: `${own.key}:writes` },
      limits: this.#writes,
      isOver: ({ isUseLimit }) => isUseLimit,
      words: '',
    };
  }

  /** Lets such requests of the account wait, but no others. */
  async #paused({ share, limits, words }: LimitApart, error: GoogleError): Promise<GoogleError> {
    const asked = error.retryAfterSeconds ?? 0;
    const seconds = Math.max(asked, limits.refused(share.key, this.now()));
    await this.budget.penalize(share, seconds);
    return error.after(seconds, words);
  }

  /**
   * Makes a request and returns the fields of its JSON that `shape` names.
   * @throws as `send`; `temporary` if the response has another form
   */
  async read<T>(account: ProviderAccount, request: GoogleRequest, shape: z.ZodType<T>): Promise<T> {
    const { body } = await this.send(account, request);
    return this.parse(body, shape);
  }

  /**
   * Parses JSON of Google's, in which null means that a field is absent
   * (https://protobuf.dev/programming-guides/json/).
   * @throws {ProviderError} `temporary` if the JSON has another form
   */
  parse<T>(body: Buffer, shape: z.ZodType<T>): T {
    return this.#rest.parse(body, z.preprocess(withoutNulls, shape));
  }

  /**
   * Fetches an address that needs no token, such as that of a picture.
   * @throws {ProviderError}
   */
  fetchPublic(url: string, maxBodyBytes: number): Promise<EgressResponse> {
    return this.#rest.send(undefined, { method: 'GET', url, maxBodyBytes });
  }

  /** The time in milliseconds. */
  now(): number {
    return this.clock.now().getTime();
  }

  /**
   * Takes the units of several requests at once; these are then made with `reserved`.
   * @param times how many requests of this cost; default one
   * @throws {BudgetExhaustedError}
   */
  async reserve(
    account: ProviderAccount,
    { units, priority }: GoogleCost,
    times = 1,
  ): Promise<void> {
    await this.#take(account, this.#shares(account, units * times), priority);
  }

  async #take(
    { applicationId }: ProviderAccount,
    shares: readonly BudgetShare[],
    priority: BudgetPriority,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.budget.use.assertBelowCeiling(applicationId, GOOGLE_APIS[this.name], priority);
    await this.budget.take(shares, priority, signal);
  }

  #shares({ applicationId, email }: ProviderAccount, cost: number): [BudgetShare, BudgetShare] {
    const { account, application } = this.limit;
    return [
      { key: `google:${this.name}:${applicationId}:${email}`, limit: account, cost },
      { key: `google:${this.name}:${applicationId}`, limit: application, cost },
    ];
  }
}
