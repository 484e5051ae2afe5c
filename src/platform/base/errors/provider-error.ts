/**
 * Why a provider did not carry out a request. The list is closed, and callers decide by the code
 * alone.
 *
 * - `auth-invalid`: credentials refused for good; the user has to authenticate again
 * - `quota-exhausted`: the account's daily sending limit is reached, until the provider resets it
 * - `rate-limited`: too many requests; try again after `retryAfterSeconds`
 * - `temporary`: anything that may resolve itself (network, 4xx replies, maintenance)
 * - `rejected`: this content or these recipients will never be accepted
 * - `not-found`: the object is not, or no longer, at the provider
 * - `conflict`: the object was changed at the provider in the meantime
 * - `outcome-unknown`: it may or may not have happened; look it up before repeating it
 * - `unsupported`: the provider cannot do this at all
 */
export const PROVIDER_ERROR_CODES = [
  'auth-invalid',
  'quota-exhausted',
  'rate-limited',
  'temporary',
  'rejected',
  'not-found',
  'conflict',
  'outcome-unknown',
  'unsupported',
] as const;
export type ProviderErrorCode = (typeof PROVIDER_ERROR_CODES)[number];

/** The last step that an attempt to send reached. */
export type SendPhase = 'connect' | 'login' | 'envelope' | 'content' | 'confirmation';

/** A server that was asked, as operators know it. */
export interface AskedServer {
  protocol: 'IMAP' | 'SMTP' | 'CalDAV' | 'CardDAV' | 'HTTPS';
  host: string;
  port: number;
}

const MOST_SECONDS = 7 * 86_400;

/**
 * The only error that a connector throws on purpose. `message` is the provider's own message, fit
 * to be shown to the caller.
 */
export class ProviderError extends Error {
  override name = 'ProviderError';
  readonly code: ProviderErrorCode;
  readonly phase: SendPhase | null;
  readonly retryAfterSeconds: number | null;
  /** Recipients that the server refused, with its messages. It may have accepted the others. */
  readonly refused: readonly RefusedRecipient[];
  /**
   * With `outcome-unknown`: recipients that the server had deferred before. They have not received
   * the message, whatever the outcome for the others.
   */
  readonly deferred: readonly RefusedRecipient[];
  /**
   * Wire name of the account setting that caused the error (`imap_host`); `null` if no setting did.
   */
  readonly setting: string | null;
  #server: string | null;

  constructor(
    code: ProviderErrorCode,
    message: string,
    details: {
      phase?: SendPhase;
      retryAfterSeconds?: number;
      refused?: readonly RefusedRecipient[];
      deferred?: readonly RefusedRecipient[];
      setting?: string;
      server?: string | null;
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
    this.#server = details.server ?? null;
  }

  /**
   * The server that was asked, such as `mail.example.com:993 (IMAP)`; `null` if none was. It is for
   * operators: clients get only `message`.
   */
  get server(): string | null {
    return this.#server;
  }

  /** Names the server that was asked, unless one is named already. */
  at({ protocol, host, port }: AskedServer): this {
    this.#server ??= `${host}:${port} (${protocol})`;
    return this;
  }
}

/**
 * Runs work that asks a server.
 * @throws the error of `work`; a `ProviderError` names the server
 */
export async function asking<T>(server: AskedServer, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderError ? error.at(server) : error;
  }
}

/**
 * The delay that a server asked for, limited to 0 to 7 days, because a server may send any number.
 */
function secondsOf(asked: number | undefined): number | null {
  return asked !== undefined && Number.isFinite(asked)
    ? Math.min(Math.max(asked, 0), MOST_SECONDS)
    : null;
}

export interface RefusedRecipient {
  email: string;
  reason: string;
}
