import type SMTPConnection from 'nodemailer/lib/smtp-connection/index.js';

/** For one reply of a server. Bytes. */
export const REPLY_BYTES = 64 * 1024;
/** For all that a server says from the connection to the end of the login, and again for each message. Bytes. */
const REPLIES_BYTES = 256 * 1024;
/** More of it for each recipient of a message. Bytes. */
const RECIPIENT_BYTES = 4 * 1024;

/**
 * Counts what a server says. The library bounds one reply, but not how many come: it queues them all, empty lines too.
 */
export class SmtpReplies {
  #left = REPLIES_BYTES;

  /** @param onTooMuch called once, when the server has said more than is taken; nothing of it reaches the library */
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

  /** A message begins, to so many recipients. */
  begin(recipients: number): void {
    this.#left = REPLIES_BYTES + recipients * RECIPIENT_BYTES;
  }
}
