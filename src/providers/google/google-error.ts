import { z } from 'zod';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import type { EgressResponse } from '../../platform/egress/egress-client.ts';
import { secondsToWait } from '../../platform/egress/retry-after.ts';
import { jsonOf, shownText } from '../port/service-responses.ts';

const errorBody = z.object({
  error: z.object({
    message: z.string().catch(''),
    status: z.string().nullish().catch(null),
    errors: z
      .array(z.object({ reason: z.string().nullish().catch(null) }))
      .nullish()
      .catch(null),
    details: z
      .array(z.object({ reason: z.string().nullish().catch(null) }))
      .nullish()
      .catch(null),
  }),
});

const NO_CONSENT: readonly string[] = [
  'insufficientPermissions',
  'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
];

/** What a user can send to the administrator of the organization. */
export const FOR_ADMINISTRATORS =
  'The administrator of your organization does not allow this application. Ask the administrator: "Please allow our application in the Google Admin console, under Security > Access and data control > API controls > Manage app access: add its OAuth client ID as trusted."';

const RESTRICTED =
  'Google does not let other programs make this change of an event of this type, such as a birthday or a working location. Make it in Google Calendar.';

/** An unsuccessful response of a Google API, with its HTTP status and reason. */
export class GoogleError extends ProviderError {
  override name = 'GoogleError';

  /**
   * @param status of the HTTP response
   * @param reason Google's word for the cause, such as `userRateLimitExceeded`; `null` if it gives
   *   none
   */
  constructor(
    readonly status: number,
    readonly reason: string | null,
    code: ProviderErrorCode,
    message: string,
    retryAfterSeconds: number | null,
  ) {
    super(code, message, retryAfterSeconds === null ? {} : { retryAfterSeconds });
  }

  /**
   * Whether Gmail refused the request with "Precondition check failed". It does so now and then
   * without a cause in the request, which had no effect and mostly succeeds when it is repeated.
   */
  get isPassing(): boolean {
    return isPassing(this.status, this.reason, this.message);
  }

  /** Whether the request names an id or a label that cannot exist. */
  get isInvalidId(): boolean {
    return this.status === 400 && INVALID.includes(this.reason ?? '') && NO_ID.test(this.message);
  }

  /** Whether a write met a general limit of calendars, which lasts for minutes or hours. */
  get isUseLimit(): boolean {
    return this.code === 'rate-limited' && USE_LIMITS.includes(this.reason ?? '');
  }

  /** The same error with another wait, and perhaps with more words. */
  after(seconds: number, more = ''): GoogleError {
    return new GoogleError(this.status, this.reason, this.code, this.message + more, seconds);
  }

  /** Whether the account's token does not cover this API: its user has not agreed to it. */
  get isWithoutConsent(): boolean {
    return this.reason !== null && NO_CONSENT.includes(this.reason);
  }
}

/** General limits of calendars, apart from the API's quota. */
const USE_LIMITS: readonly string[] = [
  'quotaExceeded',
  'calendarUsageLimits',
  'calendarUsageLimitsExceeded',
];
/** Reasons of a 403 or 429 that mean too many requests in some time. */
const TOO_FAST: readonly string[] = [
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'concurrentLimitExceeded',
  ...USE_LIMITS,
  'RATE_LIMIT_EXCEEDED',
  'RESOURCE_EXHAUSTED',
];
/** The daily limit of messages has no reason of its own: Google says it in words. */
const DAILY_SENDING = /mail sending|daily user sending/i;
/** The administrator of the user's organization does not allow the application. */
const BLOCKED: readonly string[] = ['domainPolicy', 'admin_policy_enforced'];
/** The application's project is not set up: nothing is wrong with the account. */
const PROJECT: readonly string[] = ['accessNotConfigured', 'SERVICE_DISABLED'];

const PRECONDITION: readonly string[] = ['failedPrecondition', 'FAILED_PRECONDITION'];
const INVALID: readonly string[] = ['invalidArgument', 'INVALID_ARGUMENT'];
/** "Invalid id value", "Invalid label: Label_7", "Invalid attachment token" */
const NO_ID = /invalid (id|label|attachment)/i;

const isPassing = (status: number, reason: string | null, words: string): boolean =>
  status === 400 && PRECONDITION.includes(reason ?? '') && /precondition check failed/i.test(words);

function codeOf(status: number, reason: string | null, words: string): ProviderErrorCode {
  // Gateways answer 404 as well: without a reason of Google's it proves nothing.
  if ((status === 404 || status === 410) && reason === null) return 'temporary';
  if (isPassing(status, reason, words)) return 'temporary';
  if (status === 429 || (status === 403 && reason !== null && TOO_FAST.includes(reason)))
    return DAILY_SENDING.test(words) ? 'quota-exhausted' : 'rate-limited';
  if (reason === 'dailyLimitExceeded') return 'quota-exhausted';
  if (reason !== null && [...PROJECT, ...BLOCKED].includes(reason)) return 'temporary';
  switch (status) {
    case 401:
      return 'auth-invalid';
    case 404:
    case 410:
      return 'not-found';
    case 409:
    case 412:
      return 'conflict';
    default:
      return status >= 400 && status < 500 && status !== 408 ? 'rejected' : 'temporary';
  }
}

/** "User-rate limit exceeded.  Retry after 2026-05-13T20:47:51.183Z" */
const RETRY_AFTER = /retry after (\d{4}-\d\d-\d\dT[\d:.]+Z)/i;

function waitOf({ retryAfter }: EgressResponse, words: string, now: Date): number | null {
  const seconds = secondsToWait(retryAfter, now);
  if (seconds !== null) return seconds;
  const at = Date.parse(RETRY_AFTER.exec(words)?.[1] ?? '');
  return Number.isNaN(at) ? null : Math.max(1, Math.ceil((at - now.getTime()) / 1000));
}

/** What somebody has to do about the error, as sentences after a space; empty if nothing helps. */
function hintOf(reason: string | null): string {
  if (reason !== null && NO_CONSENT.includes(reason))
    return ' The user has not agreed to this access, or the application did not ask for it.';
  if (reason === 'eventTypeRestriction') return ` ${RESTRICTED}`;
  return reason !== null && BLOCKED.includes(reason) ? ` ${FOR_ADMINISTRATORS}` : '';
}

/** The error for an unsuccessful response of a Google API. */
export function toGoogleError(response: EgressResponse, now: Date): GoogleError {
  const { status, body } = response;
  const error = errorBody.safeParse(jsonOf(body)).data?.error;
  const words = shownText(error?.message ?? '');
  const reason =
    [...(error?.details ?? []), ...(error?.errors ?? [])].find((one) => one.reason)?.reason ??
    error?.status ??
    null;
  const code = codeOf(status, reason, words);
  return new GoogleError(
    status,
    reason,
    code,
    (words === '' ? `Google: HTTP status ${status}` : `Google: ${status} ${words}`) +
      hintOf(reason),
    waitOf(response, words, now),
  );
}
