import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../auth/principal.ts';
import { InvalidInputError, NotImplementedError } from '../common/errors/domain-error.ts';
import { isId, newId, randomBase36 } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../config/app-config.ts';
import type { Sql } from '../database/sql.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import { compose, recipientsOf } from '../send/compose.ts';
import { resolveChoices } from './outbox-choices.ts';
import type { OutboxContent } from './outbox-content.ts';
import { mergeContent, toContent, toRequestedChoices, toRequestedTimes } from './outbox.mapper.ts';
import {
  type ComposedMessage,
  type EditedMessage,
  type NewOutboxMessage,
  OutboxRepository,
  type ReplyTarget,
  type StoredItem,
} from './outbox.repository.ts';
import type { CreateOutboxMessage } from './outbox.schema.ts';
import { resolveTimes } from './outbox-times.ts';

/** Turns requests into messages that can be stored, or refuses them; writes nothing. */
@Injectable()
export class OutboxPreparation {
  readonly #domain: string;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: OutboxRepository,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {
    this.#domain = config.outbox.mailDomain;
  }

  /**
   * A new message, complete: whatever is accepted, at once, under a key or as a mere plan, has passed here.
   * @throws {InvalidInputError} naming the field @throws {NotImplementedError}
   */
  async prepare(account: AccountPrincipal, body: CreateOutboxMessage): Promise<NewOutboxMessage> {
    refuseUnsupported(body);
    this.connectors.requireMail(account.provider);
    const at = this.clock.now();
    const times = resolveTimes(toRequestedTimes(body), at);
    const choices = resolveChoices(toRequestedChoices(body));
    const target = await this.replyTarget(account.accountId, body.reply_to_message_id);
    const content = withReplySubject(toContent(body, account), target);
    const id = newId();
    const messageIdHeader = `<${id}.${randomBase36(10)}@${this.#domain}>`;
    return {
      id,
      accountId: account.accountId,
      messageIdHeader,
      messageId: newId(),
      threadId: target?.threadId ?? newId(),
      at,
      ...times,
      ...choices,
      ...(await composeMessage(content, messageIdHeader, times.sendAt, target)),
    };
  }

  /**
   * A stored message as it is after an edit; what the edit does not name stays.
   * @param target what `replyTarget` has found for the edit
   * @throws {InvalidInputError} naming the field @throws {NotImplementedError}
   */
  async prepareEdit(
    sql: Sql,
    current: StoredItem,
    body: CreateOutboxMessage,
    target: ReplyTarget | undefined,
  ): Promise<EditedMessage> {
    const at = this.clock.now();
    const times = resolveTimes(toRequestedTimes(body), at, current);
    const choices = resolveChoices(toRequestedChoices(body), current);
    const content = mergeContent(current.content, body);
    const replyTo = target ?? (await this.#storedTarget(sql, current.accountId, content));
    return {
      at,
      ...times,
      ...choices,
      ...(await composeMessage(content, current.messageIdHeader, times.sendAt, replyTo)),
      threadId: replyTo?.threadId ?? current.threadId,
    };
  }

  /** The message a request wants to answer. @throws {InvalidInputError} when there is none */
  async replyTarget(
    accountId: string,
    messageId: string | null | undefined,
  ): Promise<ReplyTarget | undefined> {
    if (!messageId) return undefined;
    const target = isId(messageId) ? await this.repository.findReplyTarget(accountId, messageId) : undefined;
    if (!target)
      throw new InvalidInputError(`reply_to_message_id: Couldn't find message ${messageId.slice(0, 100)}`);
    return target;
  }

  /** The message an edited reply answers; it may have been deleted since. */
  async #storedTarget(sql: Sql, accountId: string, content: OutboxContent): Promise<ReplyTarget | undefined> {
    const { reply_to_message_id: id } = content;
    return id ? this.repository.findReplyTarget(accountId, id, sql) : undefined;
  }
}

/** Refuses what a message cannot have in this version. @throws {InvalidInputError} @throws {NotImplementedError} */
export function refuseUnsupported({ file_ids, tracking }: CreateOutboxMessage): void {
  const [fileId] = file_ids ?? [];
  if (fileId !== undefined)
    throw new InvalidInputError(`file_ids: Couldn't find file ${fileId.slice(0, 100)}`);
  if (tracking?.opens || tracking?.links || tracking?.thread_replies) {
    throw new NotImplementedError('tracking: message tracking is not part of this version');
  }
}

function withReplySubject(content: OutboxContent, target: ReplyTarget | undefined): OutboxContent {
  if (!target || content.subject !== '') return content;
  return { ...content, subject: /^re:/i.test(target.subject) ? target.subject : `Re: ${target.subject}` };
}

async function composeMessage(
  content: OutboxContent,
  messageIdHeader: string,
  date: Date,
  target: ReplyTarget | undefined,
): Promise<ComposedMessage> {
  const recipients = recipientsOf(content);
  if (recipients.length === 0)
    throw new InvalidInputError('No recipients specified', { missingFields: ['to'] });
  const [from] = content.from;
  if (!from) throw new InvalidInputError('from: must have one entry');
  const answered = target?.messageIdHeader;
  const mime = await compose({
    from,
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    replyTo: content.reply_to,
    subject: content.subject,
    html: content.body,
    messageIdHeader,
    date,
    inReplyTo: answered,
    references: answered ? [...(target?.references ?? []), answered] : [],
  });
  return { content, envelope: { from: from.email, recipients }, mime };
}
