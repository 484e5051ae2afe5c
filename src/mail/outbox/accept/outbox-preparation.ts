import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { newId } from '../../../platform/base/ids/ids.ts';
import { Clock } from '../../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import {
  fileIds,
  givenTracking,
  type MessageFields,
  type OutgoingContent,
  toContent,
} from '../../composing/outgoing-content.ts';
import {
  type CheckedMessage,
  type ComposedMessage,
  OutgoingMessages,
} from '../../composing/outgoing-messages.ts';
import { ReplyTargets } from '../../composing/reply-targets.ts';
import { recipientsOf } from '../../../formats/mime/compose.ts';
import type { OutboxChoices, OutboxTimes } from './outbox-content.ts';
import type { EditedMessage, NewOutboxMessage, StoredItem } from '../outbox.repository.ts';
import {
  type RequestedChoices,
  type RequestedTimes,
  resolveChoices,
  resolveTimes,
} from './outbox-terms.ts';

/** A request to the outbox: a new message, or an edit of one. */
export interface OutboxRequest {
  fields: MessageFields;
  times: RequestedTimes;
  choices: RequestedChoices;
}

/**
 * An outbox message that has been checked: its row, except for the parts that composing it adds.
 */
export interface CheckedOutbox<T extends ComposedMessage> {
  row: Omit<T, keyof ComposedMessage>;
  message: CheckedMessage;
}

/** Turns requests into messages that can be stored, or refuses them. Writes nothing. */
@Injectable()
export class OutboxPreparation {
  constructor(
    private readonly outgoing: OutgoingMessages,
    private readonly replies: ReplyTargets,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks a new message completely. Every new message passes this check: with or without an
   * idempotency key, and for a dry run.
   * @throws {InvalidInputError} naming the field
   * @throws {DomainError} 413 if the attachments are too large
   */
  async check(
    account: AccountPrincipal,
    request: OutboxRequest,
  ): Promise<CheckedOutbox<NewOutboxMessage>> {
    this.connectors.requireMail(account.provider);
    const at = this.clock.now();
    const times = resolveTimes(request.times, at);
    const choices = resolveChoices(request.choices);
    const { thread_id: namedThread, reply_to_message_id: namedMessage } = request.fields;
    const conversation = await this.replies.conversationOf(account, {
      threadId: namedThread,
      messageId: namedMessage,
    });
    const target = conversation?.message;
    const content = toContent({ ...request.fields, reply_to_message_id: target?.id }, account);
    const [id, messageId] = [newId(), newId()];
    const messageIdHeader = this.outgoing.newMessageIdHeader(id);
    const threadId = conversation?.threadId ?? newId();
    const { accountId } = account;
    const draft = {
      content,
      messageId,
      messageIdHeader,
      date: times.sendAt,
      target,
      keepsUploads: true,
    };
    return {
      row: { id, accountId, messageIdHeader, messageId, threadId, at, ...times, ...choices },
      message: await this.outgoing.check(account, draft),
    };
  }

  /**
   * Checks a stored message as it will be after an edit. Fields that the edit does not name stay
   * unchanged.
   * @param current the message as it was read; the result is valid while the message has this
   *   version
   * @returns `null` if the edit changes nothing
   * @throws as `check`
   */
  async checkEdit(
    account: AccountPrincipal,
    current: StoredItem,
    request: OutboxRequest,
  ): Promise<CheckedOutbox<EditedMessage> | null> {
    const at = this.clock.now();
    const times = resolveTimes(request.times, at, current);
    const choices = resolveChoices(request.choices, current);
    const conversation = await this.#newConversation(account, current, request.fields);
    const replyTo = conversation
      ? (conversation.message?.id ?? null)
      : (current.content.reply_to_message_id ?? null);
    const content = mergeContent(current.content, request.fields, replyTo);
    if (!conversation && changesNothing(current, content, times, choices)) return null;
    if (recipientsOf(content).length === 0)
      throw new InvalidInputError(
        'to: the edit would leave no recipient; name at least one in to, cc or bcc, or cancel the message',
      );
    // The message that is replied to may have been deleted since.
    const target =
      conversation?.message ??
      (replyTo === null ? undefined : await this.replies.find(account, replyTo));
    const { messageId, messageIdHeader } = current;
    const draft = {
      content,
      messageId,
      messageIdHeader,
      date: times.sendAt,
      target,
      keepsUploads: true,
    };
    const threadId = conversation?.threadId ?? target?.threadId ?? current.threadId;
    return {
      row: { at, ...times, ...choices, threadId },
      message: await this.outgoing.check(account, draft),
    };
  }

  /**
   * The conversation that an edit names.
   * @returns `undefined` if it names none, or the one that the message is in already
   * @throws {InvalidInputError}
   */
  async #newConversation(
    account: AccountPrincipal,
    { content, threadId }: StoredItem,
    { thread_id: namedThread, reply_to_message_id: namedMessage }: MessageFields,
  ) {
    const isSame =
      (!namedThread || namedThread.toLowerCase() === threadId) &&
      (!namedMessage || namedMessage.toLowerCase() === content.reply_to_message_id?.toLowerCase());
    return isSame
      ? undefined
      : this.replies.conversationOf(account, { threadId: namedThread, messageId: namedMessage });
  }

  /** As `OutgoingMessages.compose`. */
  compose<T extends ComposedMessage, R>(
    { row, message }: CheckedOutbox<T>,
    work: (compose: () => Promise<T>) => Promise<R>,
  ): Promise<R> {
    return this.outgoing.compose(message, (compose) =>
      work(async () => ({ ...row, ...(await compose()) }) as T),
    );
  }
}

/**
 * Content after an edit: absent fields stay unchanged, and an empty list removes its entries.
 * @param replyTo what the message replies to after the edit; `null` if it replies to none
 */
function mergeContent(
  current: OutgoingContent,
  body: MessageFields,
  replyTo: string | null,
): OutgoingContent {
  const metadata = body.metadata ?? current.metadata;
  const tracking = givenTracking(body.tracking) ?? current.tracking;
  // No metadata and empty metadata are the same.
  const hasMetadata = current.metadata !== undefined || Object.keys(metadata ?? {}).length > 0;
  return {
    from: body.from ?? current.from,
    to: body.to ?? current.to,
    cc: body.cc ?? current.cc,
    bcc: body.bcc ?? current.bcc,
    reply_to: body.reply_to ?? current.reply_to,
    subject: body.subject ?? current.subject,
    body: body.body ?? current.body,
    ...(replyTo === null ? {} : { reply_to_message_id: replyTo }),
    ...fileIds(body.file_ids ?? current.file_ids),
    ...(metadata && hasMetadata ? { metadata } : {}),
    ...(tracking ? { tracking } : {}),
  };
}

/** Whether an edit leaves everything as it is stored. */
function changesNothing(
  current: StoredItem,
  content: OutgoingContent,
  { sendAt, retryLimitAt }: OutboxTimes,
  { onMissed, maxLatenessSeconds, onUnknown }: OutboxChoices,
): boolean {
  const { files: _files, ...before } = current.content;
  return (
    isDeepStrictEqual(content, before) &&
    sendAt.getTime() === current.sendAt.getTime() &&
    retryLimitAt.getTime() === current.retryLimitAt.getTime() &&
    onMissed === current.onMissed &&
    maxLatenessSeconds === current.maxLatenessSeconds &&
    onUnknown === current.onUnknown
  );
}
