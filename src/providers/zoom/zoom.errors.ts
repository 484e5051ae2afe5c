import { z } from 'zod';
import type { EgressResponse } from '../../platform/egress/egress-client.ts';
import { parseRetryAfter } from '../../platform/egress/retry-after.ts';
import {
  ProviderError,
  type ProviderErrorCode,
} from '../../platform/base/errors/provider-error.ts';
import { jsonOf, shownText } from '../port/service-responses.ts';

/** Error bodies of the API and of the token endpoint. */
const errorBody = z.object({
  code: z.number().nullish().catch(null),
  message: z.string().nullish().catch(null),
  reason: z.string().nullish().catch(null),
});

/** "Meeting does not exist"; also used for expired meetings. */
const NO_MEETING = 3001;
/**
 * Codes for tokens that are expired, revoked, or lack a scope: 124, and those that come with status
 * 400.
 */
const TOKEN_TROUBLE: readonly (number | null | undefined)[] = [124, 4700, 4711];
/**
 * "A maximum of 100 meetings can be created or updated for a single user in one day", with status
 * 429.
 */
const DAILY = /per day|daily|in one day/i;

function codeOf(status: number, code: number | null | undefined, words: string): ProviderErrorCode {
  if (TOKEN_TROUBLE.includes(code) || status === 401) return 'auth-invalid';
  if (status === 404 && code === NO_MEETING) return 'not-found';
  if (status === 429) return DAILY.test(words) ? 'quota-exhausted' : 'rate-limited';
  // Other 404 responses mean an unknown user, or a base URL that is not Zoom's.
  return status >= 400 && status < 500 && status !== 408 ? 'rejected' : 'temporary';
}

/** `Retry-After` is an ISO date for the daily limit and a number of seconds for other limits. */
function secondsToWait({ retryAfter }: EgressResponse, now: Date): number | undefined {
  const iso =
    retryAfter !== null && /^\d{4}-\d\d-\d\dT/.test(retryAfter) ? Date.parse(retryAfter) : NaN;
  const at = Number.isNaN(iso) ? parseRetryAfter(retryAfter, now)?.getTime() : iso;
  return at === undefined ? undefined : Math.max(1, Math.ceil((at - now.getTime()) / 1000));
}

/** The error for an unsuccessful response of Zoom's API. */
export function toProviderError(answer: EgressResponse, now: Date): ProviderError {
  const { status, body } = answer;
  const { code, message, reason } = errorBody.safeParse(jsonOf(body)).data ?? {};
  const clean = shownText(message || reason || '');
  const number = code === null || code === undefined ? '' : ` (code ${code})`;
  const words = clean
    ? `Zoom: ${status} ${clean}${number}`
    : `Zoom: HTTP status ${status}${number}`;
  const wait = secondsToWait(answer, now);
  return new ProviderError(
    codeOf(status, code, clean),
    words,
    wait === undefined ? {} : { retryAfterSeconds: wait },
  );
}

/**
 * The error for an unsuccessful response of the token endpoint. Every final refusal there is about
 * the credentials.
 */
export function toTokenError(answer: EgressResponse, now: Date): ProviderError {
  const error = toProviderError(answer, now);
  return error.code === 'rejected' ? new ProviderError('auth-invalid', error.message) : error;
}
