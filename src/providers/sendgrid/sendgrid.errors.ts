import { z } from 'zod';
import type { EgressAnswer } from '../../platform/egress/egress-client.ts';
import { parseRetryAfter } from '../../platform/egress/retry-after.ts';
import {
  ProviderError,
  type ProviderErrorCode,
  type SendPhase,
} from '../../platform/base/errors/provider-error.ts';
import { SenderRefusedError } from '../port/relay.ts';
import { jsonOf, plainWords } from '../port/service-answers.ts';

const errorBody = z.object({
  errors: z.array(z.object({ message: z.string(), field: z.string().nullish().catch(null) })),
});

/** An answer of SendGrid that is no success, with its HTTP status. */
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

/** The reasons in the body of an answer, in SendGrid's words; the bare status when it gives none. */
export function wordsOf({ status, body }: Pick<EgressAnswer, 'status' | 'body'>): string {
  const parsed = errorBody.safeParse(jsonOf(body));
  const words = parsed.success ? parsed.data.errors.map(({ message }) => message).join('; ') : '';
  const clean = plainWords(words);
  return clean ? `${status} ${clean}` : `HTTP status ${status}`;
}

/** Seconds until the limit is lifted: `X-RateLimit-Reset` is the Unix time of it; else `Retry-After`. */
function secondsToWait({ headers, retryAfter }: EgressAnswer, now: Date): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? NaN);
  if (Number.isFinite(reset) && reset > 0)
    return Math.max(1, Math.ceil(reset - now.getTime() / 1000));
  const at = parseRetryAfter(retryAfter, now);
  return at ? Math.max(1, Math.ceil((at.getTime() - now.getTime()) / 1000)) : undefined;
}

/** "Maximum credits exceeded" comes with the status of a wrong key. */
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
      // Redirects and unknown paths too: the base URL may be wrong, the message is not to blame.
      return 'temporary';
  }
}

/** What an answer that is no success means, to any call but sending. */
export function toProviderError(answer: EgressAnswer, now: Date, phase?: SendPhase): SendGridError {
  const words = wordsOf(answer);
  const code = codeOf(answer.status, words);
  const wait = code === 'rate-limited' ? secondsToWait(answer, now) : undefined;
  return new SendGridError(answer.status, code, words, {
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
    ...(phase ? { phase } : {}),
  });
}

/**
 * What an answer to a send means that is not 202.
 * @param left whether all of the content had left
 */
export function toSendError(answer: EgressAnswer, now: Date, left: boolean): ProviderError {
  const phase = left ? 'confirmation' : 'content';
  const words = wordsOf(answer);
  if ((answer.status === 403 || answer.status === 400) && SENDER.test(words)) {
    return new SenderRefusedError(words, { phase });
  }
  // A gateway that lost its server's answer: what the server did is unknown.
  if (left && (answer.status === 502 || answer.status === 504)) {
    return new ProviderError('outcome-unknown', words, { phase });
  }
  return toProviderError(answer, now, phase);
}
