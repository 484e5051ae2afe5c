import { Injectable, Logger } from '@nestjs/common';
import { WorkLimitError } from '../../platform/threads/work-errors.ts';

/** A message that has just been sent, as the sender's own copy has it. */
export interface JustSent {
  accountId: string;
  /** Id that was announced for the message. */
  messageId: string;
  /** With a Bcc header, if there are such recipients. */
  mime: Buffer;
  at: Date;
}

/** Stores sent messages in the mirror. The sync group implements it. */
export interface SentMessageStore {
  /**
   * Adds the message to the mirror, before the provider reports its copy. Does nothing if the
   * mirror has the message, or has no Sent folder yet.
   * @throws {WorkLimitError} if too much other work is waiting
   */
  add(sent: JustSent): Promise<void>;
}

/**
 * Makes a sent message readable before the provider reports its copy. The sync group registers
 * itself when it starts.
 */
@Injectable()
export class SentMirror {
  readonly #log = new Logger(SentMirror.name);
  #store: SentMessageStore | undefined;

  use(store: SentMessageStore): void {
    this.#store = store;
  }

  /** Adds the message. If the server is too busy to parse it, a sync pass adds it later. */
  async add(sent: JustSent): Promise<void> {
    try {
      await this.#store?.add(sent);
    } catch (error) {
      if (!(error instanceof WorkLimitError)) throw error;
      this.#log.warn(
        `message ${sent.messageId} of account ${sent.accountId} is not readable yet; a sync pass adds it: ${error.message}`,
      );
    }
  }
}
