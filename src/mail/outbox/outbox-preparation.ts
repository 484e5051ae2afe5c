import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { AttachmentSources } from '../files/attachment-sources.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { toContent } from '../composing/outgoing-content.ts';
import {
  type ComposedMessage,
  OutgoingMessages,
  type PreparedMessage,
} from '../composing/outgoing-messages.ts';
import { ReplyTargets } from '../composing/reply-targets.ts';
import { resolveChoices } from './outbox-choices.ts';
import { mergeContent, toRequestedChoices, toRequestedTimes } from './outbox.mapper.ts';
import type { EditedMessage, NewOutboxMessage, StoredItem } from './outbox.repository.ts';
import type { CreateOutboxMessage } from './outbox.schema.ts';
import { resolveTimes } from './outbox-times.ts';

/** A message of the outbox that has been checked; see `PreparedMessage`. */
export interface PreparedOutbox<T> {
  bytes: number;
  compose(): Promise<T>;
}

/** Turns requests into messages that can be stored, or refuses them; writes nothing. */
@Injectable()
export class OutboxPreparation {
  constructor(
    private readonly outgoing: OutgoingMessages,
    private readonly replies: ReplyTargets,
    private readonly attachments: AttachmentSources,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /**
   * A new message, complete: whatever is accepted, at once, under a key or as a mere plan, has passed here.
   * @throws {InvalidInputError} naming the field
   * @throws {DomainError} 413 when the attachments are too large
   */
  async prepare(
    account: AccountPrincipal,
    body: CreateOutboxMessage,
  ): Promise<PreparedOutbox<NewOutboxMessage>> {
    this.connectors.requireMail(account.provider);
    const at = this.clock.now();
    const times = resolveTimes(toRequestedTimes(body), at);
    const choices = resolveChoices(toRequestedChoices(body));
    const target = await this.replies.named(account, body.reply_to_message_id);
    const id = newId();
    const messageId = newId();
    const messageIdHeader = this.outgoing.newMessageIdHeader(id);
    const content = toContent(body, account);
    const draft = { content, messageId, messageIdHeader, date: times.sendAt, target };
    const prepared = await this.outgoing.prepare(account, draft);
    const message = {
      id,
      accountId: account.accountId,
      messageIdHeader,
      messageId,
      threadId: target?.threadId ?? newId(),
      at,
      ...times,
      ...choices,
    };
    return {
      bytes: prepared.bytes,
      compose: async () => ({ ...message, ...(await this.#compose(account, prepared)) }),
    };
  }

  /**
   * A stored message as it is after an edit; what the edit does not name stays.
   * @param current as it was read; the edit holds as long as it has the same version
   * @throws {InvalidInputError} naming the field
   * @throws {DomainError} 413 when the attachments are too large
   */
  async prepareEdit(
    account: AccountPrincipal,
    current: StoredItem,
    body: CreateOutboxMessage,
  ): Promise<PreparedOutbox<EditedMessage>> {
    const at = this.clock.now();
    const times = resolveTimes(toRequestedTimes(body), at, current);
    const choices = resolveChoices(toRequestedChoices(body), current);
    const content = mergeContent(current.content, body);
    const { messageId, messageIdHeader } = current;
    const named = await this.replies.named(account, body.reply_to_message_id);
    // What was answered before may have been deleted since.
    const answered = content.reply_to_message_id;
    const target = named ?? (answered ? await this.replies.find(account, answered) : undefined);
    const draft = { content, messageId, messageIdHeader, date: times.sendAt, target };
    const prepared = await this.outgoing.prepare(account, draft);
    const edited = { at, ...times, ...choices, threadId: target?.threadId ?? current.threadId };
    return {
      bytes: prepared.bytes,
      compose: async () => ({ ...edited, ...(await this.#compose(account, prepared)) }),
    };
  }

  /** Uploads stay for as long as a waiting message names them: an edit composes it anew. */
  async #compose(account: AccountPrincipal, { files, compose }: PreparedMessage): Promise<ComposedMessage> {
    const composed = await compose();
    if (!files.some(({ isUpload }) => isUpload)) return composed;
    const alongside = async (sql: Sql) => {
      await this.attachments.hold(sql, account, files);
      await composed.alongside?.(sql);
    };
    return { ...composed, alongside };
  }
}
