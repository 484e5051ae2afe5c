import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ConflictError } from '../../platform/base/errors/domain-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { FilesService } from '../files/files.service.ts';
import type { MessageRecord } from '../messages/filters/message-filter.ts';
import { MessagesService } from '../messages/messages.service.ts';
import { NeuralAccess } from './neural-access.ts';
import type { FeedbackKind } from './neural-feedback.entity.ts';
import { NeuralRepository } from './neural.repository.ts';
import { type MessageCategory, NeuralService } from './neural.service.ts';
import type { OcrFile } from './ocr.service.ts';
import type { Category } from './text/categorize.ts';
import type { Sentiment } from './text/sentiment.ts';

/** The message or text that a sentiment is about. */
export type SentimentSubject = { messageId: string } | { text: string };

/** Stores users' feedback on results. */
@Injectable()
export class FeedbackService {
  constructor(
    private readonly access: NeuralAccess,
    private readonly messages: MessagesService,
    private readonly files: FilesService,
    private readonly neural: NeuralService,
    private readonly repository: NeuralRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores feedback on the result for a message.
   * @throws {NotFoundError}
   * @throws {ForbiddenError} if the neural endpoints are not enabled
   */
  async message(
    account: AccountPrincipal,
    kind: Extract<FeedbackKind, 'signature' | 'conversation'>,
    messageId: string,
    content: object,
  ): Promise<MessageRecord> {
    this.access.require(account);
    const message = await this.messages.get(account, messageId);
    await this.#store(account, kind, message.id, message.id, content);
    return message;
  }

  /**
   * Stores feedback on the text of a file.
   * @throws {NotFoundError}
   * @throws {ForbiddenError} if the neural endpoints are not enabled
   */
  async ocr(account: AccountPrincipal, fileId: string, content: object): Promise<OcrFile> {
    this.access.require(account);
    const file = await this.files.get(account, fileId);
    await this.#store(account, 'ocr', file.id, null, content);
    return file;
  }

  /**
   * Stores feedback on a sentiment.
   * @param overwrite true to replace earlier feedback
   * @throws {ConflictError} if there is earlier feedback and `overwrite` is false
   * @throws {NotFoundError}
   * @throws {ForbiddenError} if the neural endpoints are not enabled
   */
  async sentiment(
    account: AccountPrincipal,
    subject: SentimentSubject,
    sentiment: Sentiment,
    overwrite: boolean,
  ): Promise<void> {
    this.access.require(account);
    const stored =
      'messageId' in subject
        ? await this.#sentimentOfMessage(account, subject.messageId, sentiment, overwrite)
        : await this.#store(
            account,
            'sentiment',
            hashOf(subject.text),
            null,
            { sentiment, text: subject.text },
            overwrite,
          );
    if (!stored)
      throw new ConflictError(
        'neural.feedback-given',
        'There is feedback on this already: set overwrite to true to replace it',
      );
  }

  /**
   * Sets the category of a message from now on.
   * @returns the category before and after the change
   * @throws {NotFoundError}
   * @throws {ForbiddenError} if the neural endpoints are not enabled
   */
  async categorize(
    account: AccountPrincipal,
    messageId: string,
    category: Category,
  ): Promise<{ messageId: string; before: MessageCategory; after: MessageCategory }> {
    const before = (await this.neural.categories(account, [messageId]))[0];
    if (!before) throw new Error('no category was returned for the message');
    const { message, found } = before;
    await this.#store(account, 'categorize', message.id, message.id, {
      category,
      before: found.category,
    });
    const after = (await this.neural.categories(account, [message.id]))[0];
    if (!after) throw new Error('no category was returned for the message');
    return { messageId: message.id, before: found, after: after.found };
  }

  async #sentimentOfMessage(
    account: AccountPrincipal,
    messageId: string,
    sentiment: Sentiment,
    overwrite: boolean,
  ): Promise<boolean> {
    const message = await this.messages.get(account, messageId);
    return this.#store(account, 'sentiment', message.id, message.id, { sentiment }, overwrite);
  }

  #store(
    { accountId }: AccountPrincipal,
    kind: FeedbackKind,
    subject: string,
    messageId: string | null,
    content: object,
    overwrite = true,
  ): Promise<boolean> {
    const at = this.clock.now();
    return this.repository.store({ accountId, kind, subject, messageId, content, at }, overwrite);
  }
}

const hashOf = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;
