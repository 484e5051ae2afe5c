/** A text to one phone. */
export interface SmsRequest {
  accountId: string;
  /** International format. */
  to: string;
  text: string;
  /** The same key is the same text: gateways that can tell deliver it once, however often it is handed over. */
  dedupe: string;
}

/**
 * What is known when a gateway did not say that it has the text. `refused`: it never will; `not-yet`: it does not have it,
 * and may take it later; `unknown`: it may have it.
 */
export type SmsFailure = 'refused' | 'not-yet' | 'unknown';

/** The gateway did not take the text. `message` may be shown to the caller and has no secret in it. */
export class SmsError extends Error {
  override name = 'SmsError';

  /** @param retryAfterSeconds how long the gateway asked to be left alone; null: it did not */
  constructor(
    message: string,
    readonly failure: SmsFailure,
    readonly retryAfterSeconds: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Port to whoever delivers texts; chosen by `SMS_GATEWAY`. */
export abstract class SmsGateway {
  /**
   * Hands one text over.
   * @param signal ends it early: what became of it is then unknown
   * @throws {SmsError}
   */
  abstract send(request: SmsRequest, signal: AbortSignal): Promise<void>;

  /**
   * Whether the gateway has taken this text at `since` or later. Absent: it keeps count of the keys itself, and handing the
   * text over again does no harm.
   * @throws {SmsError} when nobody can tell
   */
  wasSent?(request: SmsRequest, since: Date, signal: AbortSignal): Promise<boolean>;
}
