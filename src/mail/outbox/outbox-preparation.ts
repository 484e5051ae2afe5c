import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import {
  fileIds,
  type MessageFields,
  type OutgoingContent,
  toContent,
} from '../composing/outgoing-content.ts';
import {
  type CheckedMessage,
  type ComposedMessage,
  OutgoingMessages,
} from '../composing/outgoing-messages.ts';
import { ReplyTargets } from '../composing/reply-targets.ts';
import type { EditedMessage, NewOutboxMessage, StoredItem } from './outbox.repository.ts';
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
    const content = toContent(request.fields, account);
    const target = await this.replies.named(account, request.fields.reply_to_message_id);
    const [id, messageId] = [newId(), newId()];
    const messageIdHeader = this.outgoing.newMessageIdHeader(id);
    const threadId = target?.threadId ?? newId();
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
   * @throws as `check`
   */
  async checkEdit(
    account: AccountPrincipal,
    current: StoredItem,
    request: OutboxRequest,
  ): Promise<CheckedOutbox<EditedMessage>> {
    const at = this.clock.now();
    const times = resolveTimes(request.times, at, current);
    const choices = resolveChoices(request.choices, current);
    const content = mergeContent(current.content, request.fields);
    const { messageId, messageIdHeader } = current;
    const named = await this.replies.named(account, request.fields.reply_to_message_id);
    // The message that is replied to may have been deleted since.
    const answered = content.reply_to_message_id;
    const target = named ?? (answered ? await this.replies.find(account, answered) : undefined);
    const draft = {
      content,
      messageId,
      messageIdHeader,
      date: times.sendAt,
      target,
      keepsUploads: true,
    };
    return {
      row: { at, ...times, ...choices, threadId: target?.threadId ?? current.threadId },
      message: await this.outgoing.check(account, draft),
    };
  }

  /** As `OutgoingMessages.compose`. */
  async compose<T extends ComposedMessage>({ row, message }: CheckedOutbox<T>): Promise<T> {
    return { ...row, ...(await this.outgoing.compose(message)) } as T;
  }
}

/**
 * Content after an edit: absent fields stay unchanged. The official clients send every address list
 * with each edit, empty if it was not set, and an empty `file_ids`. So if `to`, `cc` and `bcc` are
 * all empty, the address lists and the attachments stay unchanged.
 */
function mergeContent(current: OutgoingContent, body: MessageFields): OutgoingContent {
  const lists = [body.to, body.cc, body.bcc];
  const named = lists.some((list) => list && list.length > 0);
  const isPadded = !named && lists.some((list) => list !== undefined);
  const { file_ids: before, ...rest } = current;
  const files = body.file_ids && (body.file_ids.length > 0 || !isPadded) ? body.file_ids : before;
  const list = <K extends 'to' | 'cc' | 'bcc' | 'reply_to'>(key: K) => {
    const given = body[key];
    return given && (named || given.length > 0) ? given : current[key];
  };
  return {
    ...rest,
    from: body.from?.length ? body.from : current.from,
    to: list('to'),
    cc: list('cc'),
    bcc: list('bcc'),
    reply_to: list('reply_to'),
    subject: body.subject ?? current.subject,
    body: body.body ?? current.body,
    ...(body.reply_to_message_id ? { reply_to_message_id: body.reply_to_message_id } : {}),
    ...fileIds(files),
    ...(body.metadata ? { metadata: body.metadata } : {}),
    ...(body.tracking ? { tracking: body.tracking } : {}),
  };
}
