import { z } from 'zod';
import type { EgressResponse } from '../../platform/egress/egress-client.ts';
import { parseRetryAfter } from '../../platform/egress/retry-after.ts';
import {
  ProviderError,
  type ProviderErrorCode,
  type SendPhase,
} from '../../platform/base/errors/provider-error.ts';
import { SenderRefusedError } from '../port/mail/relay.ts';
import { isLostByGateway, jsonOf, shownText } from '../port/service-responses.ts';

const errorBody = z.object({
  errors: z.array(z.object({ message: z.string(), field: z.string().nullish().catch(null) })),
});

/** An unsuccessful response of SendGrid, with its HTTP status. */
export class SendGridError extends ProviderError {
  override name = 'SendGridError';
  readonly status: number;

  constructor(
    status: number,
    code: ProviderErrorCode,
    message: string,
    details: { phase?: SendPhase; retryAfterSeconds?: number } = {},
  ) {
    super(code, message, details);
    this.status = status;
  }
}

/**
 * The reasons in the body of a response, in SendGrid's words. Only the status if the body gives no
 * reason.
 */
export function wordsOf({ status, body }: Pick<EgressResponse, 'status' | 'body'>): string {
  const parsed = errorBody.safeParse(jsonOf(body));
  const words = parsed.success ? parsed.data.errors.map(({ message }) => message).join('; ') : '';
  const clean = shownText(words);
  return clean ? `${status} ${clean}` : `HTTP status ${status}`;
}

/**
 * Seconds until the limit is lifted, from `X-RateLimit-Reset` (a Unix time) or else from
 * `Retry-After`.
 */
function secondsToWait({ headers, retryAfter }: EgressResponse, now: Date): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? NaN);
  if (Number.isFinite(reset) && reset > 0)
    return Math.max(1, Math.ceil(reset - now.getTime() / 1000));
  const at = parseRetryAfter(retryAfter, now);
  return at ? Math.max(1, Math.ceil((at.getTime() - now.getTime()) / 1000)) : undefined;
}

/** "Maximum credits exceeded" comes with the same status as a wrong key. */
const CREDITS = /credits? exceeded/i;
/** "The from address does not match a verified Sender Identity." */
const SENDER = /verified sender identity/i;

function codeOf(status: number, words: string): ProviderErrorCode {
  if ((status === 401 || status === 403) && CREDITS.test(words)) return 'quota-exhausted';
  switch (status) {
    case 400:
    case 413:
      return 'rejected';
    case 401:
    case 403:
      return 'auth-invalid';
    case 429:
      return 'rate-limited';
    default:
      // Also redirects and unknown paths: the base URL may be wrong, which is not a fault of the
      // message.
      return 'temporary';
  }
}

/** The error for an unsuccessful response to any request except sending. */
export function toProviderError(
  answer: EgressResponse,
  now: Date,
  phase?: SendPhase,
): SendGridError {
  const words = wordsOf(answer);
  const code = codeOf(answer.status, words);
  const wait = code === 'rate-limited' ? secondsToWait(answer, now) : undefined;
  return new SendGridError(answer.status, code, words, {
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
    ...(phase ? { phase } : {}),
  });
}

/**
 * The error for a response to sending with a status other than 202.
 * @param left whether all of the content had been sent
 */
export function toSendError(answer: EgressResponse, now: Date, left: boolean): ProviderError {
  const phase = left ? 'confirmation' : 'content';
  const words = wordsOf(answer);
  if ((answer.status === 403 || answer.status === 400) && SENDER.test(words)) {
    return new SenderRefusedError(words, { phase });
  }
  if (left && isLostByGateway(answer)) {
    return new ProviderError('outcome-unknown', words, { phase });
  }
  return toProviderError(answer, now, phase);
}
