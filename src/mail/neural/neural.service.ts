import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { MessageRecord } from '../messages/filters/message-filter.ts';
import { MessagesService } from '../messages/messages.service.ts';
import { NeuralAccess } from './neural-access.ts';
import { type MessageHeaders, NeuralRepository } from './neural.repository.ts';
import type { Categorized, Category } from './text/categorize.ts';
import type { CleanOptions } from './text/clean-message.ts';
import type { SentimentResult } from './text/sentiment.ts';
import type { Signature } from './text/signature.ts';
import { NeuralThreads } from './threads/neural-threads.ts';
import type { TextInput } from './threads/tasks.ts';

/** A message and the result for it. */
export interface Found<T> {
  message: MessageRecord;
  found: T;
}

export interface MessageCategory {
  category: Category;
  subcategories: string[];
  /** The time of the user's feedback, or the current time without feedback. */
  categorizedAt: Date;
  /** True if the category was set by a user. */
  isByUser: boolean;
}

/** The sentiment of a text, and the part of the text that was analysed. */
export type TextSentiment = SentimentResult & { text: string };

/** Analyses the text of messages in worker threads, with libraries and lexicons of this server. */
@Injectable()
export class NeuralService {
  constructor(
    private readonly access: NeuralAccess,
    private readonly messages: MessagesService,
    private readonly repository: NeuralRepository,
    private readonly threads: NeuralThreads,
    private readonly clock: Clock,
  ) {}

  /**
   * Rates the sentiment of a text.
   * @throws {ForbiddenError} if the neural endpoints are not enabled
   * @throws {DomainError} if the server is busy
   */
  async sentimentOfText(account: AccountPrincipal, text: string): Promise<TextSentiment> {
    this.access.require(account);
    const [result] = await this.threads.text(account.accountId, 'sentiment', {
      texts: [text],
      messages: [],
    });
    if (!result) throw new Error('no result was returned for the text');
    return result;
  }

  /**
   * Rates the sentiment of messages, in the order of the ids and without duplicates.
   * @throws {NotFoundError}
   * @throws {ForbiddenError}
   * @throws {DomainError}
   */
  async sentiments(account: AccountPrincipal, ids: readonly string[]): Promise<TextSentiment[]> {
    const messages = await this.#messages(account, ids);
    const input = { texts: [], messages: messages.map(textInput) };
    return this.threads.text(account.accountId, 'sentiment', input);
  }

  /**
   * Returns the written text of messages, in the order of the ids and without duplicates.
   * @throws {NotFoundError}
   * @throws {ForbiddenError}
   * @throws {DomainError}
   */
  async conversations(
    account: AccountPrincipal,
    ids: readonly string[],
    options: CleanOptions,
  ): Promise<Found<string>[]> {
    const messages = await this.#messages(account, ids);
    const input = { messages: messages.map(textInput), options };
    return join(messages, await this.threads.text(account.accountId, 'conversation', input));
  }

  /**
   * Finds the signatures of messages, in the order of the ids and without duplicates.
   * @throws {NotFoundError}
   * @throws {ForbiddenError}
   * @throws {DomainError}
   */
  async signatures(
    account: AccountPrincipal,
    ids: readonly string[],
    options: CleanOptions,
    parseContacts: boolean,
  ): Promise<Found<Signature>[]> {
    const messages = await this.#messages(account, ids);
    const input = { messages: messages.map(textInput), options, parseContacts };
    return join(messages, await this.threads.text(account.accountId, 'signature', input));
  }

  /**
   * Categorises messages, in the order of the ids and without duplicates. A category set by a user
   * takes precedence.
   * @throws {NotFoundError}
   * @throws {ForbiddenError}
   * @throws {DomainError}
   */
  async categories(
    account: AccountPrincipal,
    ids: readonly string[],
  ): Promise<Found<MessageCategory>[]> {
    const messages = await this.#messages(account, ids);
    const known = await this.repository.headersOf(
      account.accountId,
      messages.map(({ id }) => id),
    );
    const input = messages.map((message) => ({
      subject: message.subject,
      body: message.body ?? '',
      headers: known.get(message.id)?.headers ?? null,
      from: message.from,
      to: message.to,
      inReplyTo: message.inReplyTo,
    }));
    const results = await this.threads.text(account.accountId, 'categorize', { messages: input });
    const now = this.clock.now();
    return join(messages, results).map(({ message, found }) => ({
      message,
      found: decided(found, known.get(message.id), now),
    }));
  }

  #messages(account: AccountPrincipal, ids: readonly string[]): Promise<MessageRecord[]> {
    this.access.require(account);
    return this.messages.getMany(account, ids);
  }
}

function decided(
  found: Categorized,
  known: MessageHeaders | undefined,
  now: Date,
): MessageCategory {
  const byUser = known?.category ?? null;
  if (byUser === null)
    return {
      category: found.category,
      subcategories: found.subcategories,
      categorizedAt: now,
      isByUser: false,
    };
  // Subcategories belong to a category, so they are dropped if the user has set another one.
  const subcategories = byUser === found.category ? found.subcategories : [];
  return {
    category: byUser,
    subcategories,
    categorizedAt: known?.recategorizedAt ?? now,
    isByUser: true,
  };
}

const textInput = ({ body, files, from }: MessageRecord): TextInput => ({
  body: body ?? '',
  files: files.map(({ id, contentId }) => ({ id, contentId })),
  fromName: from[0]?.name ?? '',
  fromEmail: from[0]?.email ?? '',
});

function join<T>(messages: readonly MessageRecord[], results: readonly T[]): Found<T>[] {
  return messages.map((message, index) => {
    const found = results[index];
    if (found === undefined) throw new Error('no result was returned for a message');
    return { message, found };
  });
}
