import { Injectable, Logger } from '@nestjs/common';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { WorkLimitError } from '../../platform/threads/work-errors.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';

/** Fetches and stores the contents of listed messages. The sync group implements it. */
export interface ContentSource {
  /**
   * Completes those of the messages that are listed, and leaves the others.
   * @throws {ProviderError} if one of them cannot be fetched now
   * @throws {WorkLimitError} if too much other work is waiting
   */
  complete(accountId: string, messageIds: readonly string[]): Promise<void>;
  /** Completes a listed message with the text that a request has fetched. */
  keep(accountId: string, messageId: string, mime: Buffer): Promise<void>;
  /** See `ListedContents.unreported`. */
  unreported(accountId: string, messageId: string): Promise<Buffer | null>;
}

/**
 * Completes listed messages that a request needs (ADR 0077). The sync group registers itself as the
 * source of the contents when it starts. Never call it in a transaction: it uses the network.
 */
@Injectable()
export class ListedContents {
  readonly #log = new Logger(ListedContents.name);
  #source: ContentSource | undefined;

  use(source: ContentSource): void {
    this.#source = source;
  }

  /**
   * Completes each of the messages that is listed. A message that the provider no longer has
   * stays listed until the next sync pass removes it.
   * @throws {DomainError} if the provider cannot deliver one of them now
   */
  async complete(accountId: string, messageIds: readonly string[]): Promise<void> {
    if (messageIds.length === 0) return;
    try {
      await this.#source?.complete(accountId, messageIds);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw providerFailure(error, 'return the message');
    }
  }

  /** As `complete`, but messages that cannot be fetched now stay listed. */
  async tryToComplete(accountId: string, messageIds: readonly string[]): Promise<void> {
    if (messageIds.length === 0) return;
    try {
      await this.#source?.complete(accountId, messageIds);
    } catch (error) {
      this.#logOrThrow(accountId, error);
    }
  }

  /**
   * Stores the text of a listed message, so that it is not fetched again. If the server is too busy
   * to parse it, the message stays listed.
   */
  async keep(accountId: string, messageId: string, mime: Buffer): Promise<void> {
    try {
      await this.#source?.keep(accountId, messageId, mime);
    } catch (error) {
      this.#logOrThrow(accountId, error);
    }
  }

  /**
   * The text of a message that was sent from here and that the provider has not reported yet.
   * @returns `null` for any other message
   */
  async unreported(accountId: string, messageId: string): Promise<Buffer | null> {
    return (await this.#source?.unreported(accountId, messageId)) ?? null;
  }

  #logOrThrow(accountId: string, error: unknown): void {
    if (!(error instanceof ProviderError) && !(error instanceof WorkLimitError)) throw error;
    this.#log.warn(
      `account ${accountId}: the contents of listed messages could not be fetched; a sync pass fetches them later: ${error.message}`,
    );
  }
}
