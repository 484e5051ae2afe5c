/** A text message to one phone. */
export interface SmsRequest {
  accountId: string;
  /** International format. */
  to: string;
  text: string;
  /**
   * Dedupe key, the same for every attempt. A gateway that supports such keys delivers the text
   * once.
   */
  dedupe: string;
}

/**
 * What is known after a failed attempt. `refused`: the gateway will never accept the text.
 * `not-yet`: the gateway does not have the text, but may accept it later. `unknown`: the gateway
 * may have the text.
 */
export type SmsFailure = 'refused' | 'not-yet' | 'unknown';

/**
 * The gateway did not accept the text. `message` may be shown to clients and contains no secrets.
 */
export class SmsError extends Error {
  override name = 'SmsError';

  /** @param retryAfterSeconds wait requested by the gateway; `null` if it requested none */
  constructor(
    message: string,
    readonly failure: SmsFailure,
    readonly retryAfterSeconds: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Port to the service that delivers text messages; chosen by `SMS_GATEWAY`. */
export abstract class SmsGateway {
  /**
   * Sends one text.
   * @param signal aborts the attempt; its outcome is then unknown
   * @throws {SmsError}
   */
  abstract send(request: SmsRequest, signal: AbortSignal): Promise<void>;

  /**
   * Finds out whether the gateway accepted this text at `since` or later. A gateway without this
   * method checks dedupe keys itself, so sending the text again is safe.
   * @throws {SmsError} if the gateway cannot tell
   */
  wasSent?(request: SmsRequest, since: Date, signal: AbortSignal): Promise<boolean>;
}
