/**
 * Why a provider did not do what it was asked; a closed list. Callers decide by the code alone.
 *
 * - `auth-invalid`: credentials refused for good; the user has to authenticate again
 * - `quota-exhausted`: the account's daily sending limit, until the provider resets it
 * - `rate-limited`: too fast; try again after `retryAfterSeconds`
 * - `temporary`: anything that may go away by itself (network, 4xx replies, maintenance)
 * - `rejected`: this content or these recipients will never be accepted
 * - `not-found`: the object is not at the provider (any more)
 * - `conflict`: the object was changed there in the meantime
 * - `outcome-unknown`: it may or may not have happened; look before repeating it
 * - `unsupported`: the provider cannot do this at all
 */
export const PROVIDER_ERROR_CODES = [
  'auth-invalid', 'quota-exhausted', 'rate-limited', 'temporary', 'rejected', 'not-found', 'conflict',
  'outcome-unknown', 'unsupported',
] as const; // prettier-ignore
export type ProviderErrorCode = (typeof PROVIDER_ERROR_CODES)[number];

/** How far a send came. */
export type SendPhase = 'connect' | 'login' | 'envelope' | 'content' | 'confirmation';

const MOST_SECONDS = 7 * 86_400;

/** The only error a connector throws on purpose. `message` is the provider's words, fit to be shown to the caller. */
export class ProviderError extends Error {
  override name = 'ProviderError';
  readonly code: ProviderErrorCode;
  readonly phase: SendPhase | null;
  readonly retryAfterSeconds: number | null;
  /** Recipients that were refused, with the server's words; the others may have been accepted. */
  readonly refused: readonly RefusedRecipient[];
  /** With `outcome-unknown`: recipients the server had put off before. Whatever became of the others, they have not got it. */
  readonly deferred: readonly RefusedRecipient[];
  /** Name of the setting of the account that it is about, as on the wire (`imap_host`); null: of none. */
  readonly setting: string | null;

  constructor(
    code: ProviderErrorCode,
    message: string,
    details: {
      phase?: SendPhase;
      retryAfterSeconds?: number;
      refused?: readonly RefusedRecipient[];
      deferred?: readonly RefusedRecipient[];
      setting?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.phase = details.phase ?? null;
    this.retryAfterSeconds = secondsOf(details.retryAfterSeconds);
    this.refused = details.refused ?? [];
    this.deferred = details.deferred ?? [];
    this.setting = details.setting ?? null;
  }
}

/** What a server asks for, within reason: it may send anything. */
function secondsOf(asked: number | undefined): number | null {
  return asked !== undefined && Number.isFinite(asked)
    ? Math.min(Math.max(asked, 0), MOST_SECONDS)
    : null;
}

export interface RefusedRecipient {
  email: string;
  reason: string;
}
