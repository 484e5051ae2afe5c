import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ConflictError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { addressInput } from '../../platform/wire/wire.schema.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { ComposingSlots } from '../composing/composing-slots.ts';
import { DraftsService } from '../drafts/drafts.service.ts';
import type { DirectMessage } from '../outbox/accept/direct-sends.ts';
import { MessageParser } from '../parsing/message-parser.ts';
import { recipientsOf } from '../../formats/mime/compose.ts';
import {
  givenTracking,
  type MessageFields,
  type OutgoingContent,
  ownAddress,
  toContent,
} from '../composing/outgoing-content.ts';
import { type CheckedMessage, OutgoingMessages } from '../composing/outgoing-messages.ts';
import { prepareRaw } from '../../formats/mime/raw-mime.ts';
import { type ReplyTarget, ReplyTargets } from '../composing/reply-targets.ts';

/**
 * A request to send, in the wire's names: a message, or a stored draft (`draft_id` and `version`).
 */
export interface SendRequest extends MessageFields {
  draft_id?: string | null | undefined;
  version?: number | null | undefined;
}

/** A message that has been checked: its row, except for the parts that composing it adds. */
export interface CheckedSend {
  row: Pick<
    DirectMessage,
    'id' | 'accountId' | 'messageId' | 'threadId' | 'messageIdHeader' | 'at'
  >;
  message: CheckedMessage;
}

/** The conversation of a message, and the message it replies to. */
interface Conversation {
  threadId: string;
  target: ReplyTarget | null;
}

/** Turns the three forms of POST /send into messages. Writes nothing. */
@Injectable()
export class SendComposition {
  constructor(
    private readonly outgoing: OutgoingMessages,
    private readonly replies: ReplyTargets,
    private readonly drafts: DraftsService,
    private readonly parser: MessageParser,
    private readonly slots: ComposingSlots,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks a message or a stored draft.
   * @throws {InvalidInputError} naming the field
   * @throws {NotFoundError} if the draft does not exist
   * @throws {ConflictError} if the draft has another version
   */
  async check(account: AccountPrincipal, body: SendRequest): Promise<CheckedSend> {
    if (body.draft_id) return this.#checkDraft(account, body.draft_id, body);
    const { thread_id: threadId, reply_to_message_id: messageId } = body;
    const conversation = await this.replies.conversationOf(account, { threadId, messageId });
    // A message that only names a conversation replies to its last message.
    const replyTo = conversation?.message?.id;
    const content = toContent({ ...body, reply_to_message_id: replyTo }, account);
    return this.#check(account, content, {
      threadId: conversation?.threadId ?? newId(),
      target: conversation?.message ?? null,
    });
  }

  /** As `OutgoingMessages.compose`. */
  async compose({ row, message }: CheckedSend): Promise<DirectMessage> {
    const composed = await this.outgoing.compose(message, (compose) => compose());
    return { ...row, foreignHeader: false, ...composed };
  }

  /**
   * Prepares a message that its sender has composed.
   * @throws {InvalidInputError} if the input is not a message, has no recipients or is from another
   *   address
   */
  raw(account: AccountPrincipal, input: Buffer): Promise<DirectMessage> {
    return this.slots.run(account.accountId, input.length, () => this.#raw(account, input));
  }

  async #raw(account: AccountPrincipal, input: Buffer): Promise<DirectMessage> {
    const at = this.clock.now();
    const id = newId();
    const from = ownAddress(account);
    const made = this.outgoing.newMessageIdHeader(id);
    const { mime, messageIdHeader } = prepareRaw(input, { from, messageIdHeader: made, date: at });
    const [read] = await this.parser.read(
      [{ kind: 'mime', mime: input }],
      account.accountId,
      false,
    );
    if (!read || read.failure !== null)
      throw new InvalidInputError('The request body cannot be read as MIME');
    const { parsed } = read;
    const content: OutgoingContent = {
      from: parsed.from.length > 0 ? parsed.from : [from],
      to: parsed.to,
      cc: parsed.cc,
      bcc: parsed.bcc,
      reply_to: parsed.replyTo,
      subject: parsed.subject,
      body: parsed.body,
      ...(await this.#answeredBy(account, parsed.inReplyTo)),
    };
    const recipients = recipientsOf(content);
    if (recipients.length === 0)
      throw new InvalidInputError('No recipients specified', { missingFields: ['to'] });
    const invalid = recipients.find((email) => !addressInput.safeParse({ email }).success);
    if (invalid !== undefined)
      throw new InvalidInputError(`Invalid recipient address ${invalid.slice(0, 100)}`);
    const related = [parsed.inReplyTo, ...parsed.references.toReversed()].flatMap(
      (header) => header ?? [],
    );
    return {
      id,
      accountId: account.accountId,
      messageId: newId(),
      threadId: (await this.replies.threadOf(account.accountId, related)) ?? newId(),
      messageIdHeader: messageIdHeader ?? made,
      foreignHeader: messageIdHeader !== null,
      at,
      content,
      envelope: { from: account.email, recipients },
      mime,
    };
  }

  async #answeredBy(
    { accountId }: AccountPrincipal,
    inReplyTo: string | null,
  ): Promise<Pick<OutgoingContent, 'reply_to_message_id'>> {
    const id = inReplyTo === null ? undefined : await this.replies.idOf(accountId, inReplyTo);
    return id === undefined ? {} : { reply_to_message_id: id };
  }

  async #checkDraft(
    account: AccountPrincipal,
    id: string,
    body: SendRequest,
  ): Promise<CheckedSend> {
    const { version } = body;
    if (version === undefined || version === null)
      throw new InvalidInputError('Must specify draft version', { missingFields: ['version'] });
    const draft = await this.drafts.get(account, id);
    if (draft.version !== version)
      throw new ConflictError(
        'draft.version',
        `version: the draft is at version ${draft.version}, not ${version}`,
      );
    const { inReplyTo, references, replyToMessageId } = draft;
    const fields = {
      from: draft.from.slice(0, 1),
      to: draft.to,
      cc: draft.cc,
      bcc: draft.bcc,
      reply_to: draft.replyTo,
      subject: draft.subject,
      body: draft.body,
      file_ids: draft.files.map((file) => file.id),
      reply_to_message_id: replyToMessageId,
      metadata: draft.metadata,
      tracking: givenTracking(body.tracking) ?? draft.tracking,
    };
    const content = { ...toContent(fields, account), draft: { id: draft.id, version } };
    // The draft stores the headers of the message it replies to, which may have been deleted.
    const before = references.at(-1) === inReplyTo ? references.slice(0, -1) : references;
    const target =
      inReplyTo === null ? null : { id: '', messageIdHeader: inReplyTo, references: before };
    return this.#check(account, content, {
      threadId: draft.threadId,
      target: target && {
        ...target,
        threadId: draft.threadId,
        subject: draft.subject,
        listed: false,
      },
    });
  }

  async #check(
    account: AccountPrincipal,
    content: OutgoingContent,
    { threadId, target }: Conversation,
  ): Promise<CheckedSend> {
    const at = this.clock.now();
    const id = newId();
    const messageId = newId();
    const messageIdHeader = this.outgoing.newMessageIdHeader(id);
    const draft = { content, messageId, messageIdHeader, date: at, target };
    return {
      row: { id, accountId: account.accountId, messageId, threadId, messageIdHeader, at },
      message: await this.outgoing.check(account, draft),
    };
  }
}
