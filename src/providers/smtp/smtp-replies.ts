import type SMTPConnection from 'nodemailer/lib/smtp-connection/index.js';

/** Limit for one reply of a server, in bytes. */
export const REPLY_BYTES = 64 * 1024;
/**
 * Limit for everything a server sends between the connection and the end of the login, and again
 * for each message. In bytes.
 */
const REPLIES_BYTES = 256 * 1024;
/** Added to the limit for each recipient of a message, in bytes. */
const RECIPIENT_BYTES = 4 * 1024;

/**
 * Limits how much a server may send. The library limits the size of one reply but not their number:
 * it queues every line, even empty ones.
 */
export class SmtpReplies {
  #left = REPLIES_BYTES;

  /**
   * @param onTooMuch called once, when the server exceeds the limit; the data beyond the limit is
   *   not passed to the library
   */
  constructor(connection: SMTPConnection, onTooMuch: () => void) {
    const library = connection as unknown as { _onData(chunk: Buffer): void };
    const onData = library._onData.bind(library);
    library._onData = (chunk) => {
      const isOver = this.#left < 0;
      this.#left -= chunk.length;
      if (this.#left >= 0) onData(chunk);
      else if (!isOver) onTooMuch();
    };
  }

  /** Starts a new limit for a message to this number of recipients. */
  begin(recipients: number): void {
    this.#left = REPLIES_BYTES + recipients * RECIPIENT_BYTES;
  }
}
