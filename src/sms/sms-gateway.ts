/** A text to one phone. */
export interface SmsRequest {
  accountId: string;
  /** International format. */
  to: string;
  text: string;
  /** The same key is sent once, however often it is handed over. */
  dedupe: string;
}

/** The gateway did not take the text. `message` may be shown to the caller. */
export class SmsError extends Error {
  override name = 'SmsError';

  /** @param permanent whether trying again is useless */
  constructor(
    message: string,
    readonly permanent: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Port to whoever delivers texts; chosen by `SMS_GATEWAY`. */
export abstract class SmsGateway {
  /** @throws {SmsError} */
  abstract send(request: SmsRequest): Promise<void>;
}
