import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { randomBase36 } from '../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type AttachmentSource, AttachmentSources } from '../files/attachment-sources.ts';
import { AttachmentsTooLargeError, MOST_FILE_BYTES } from '../files/file-limits.ts';
import { Tracker } from '../tracking/tracker.ts';
import { compose, type ComposedAttachment, recipientsOf } from '../../formats/mime/compose.ts';
import type { OutgoingContent } from './outgoing-content.ts';
import { referencesOf, type ReplyTarget, replySubject } from './reply-targets.ts';

/** A message that is to be composed. */
export interface OutgoingDraft {
  content: OutgoingContent;
  /** What its mirrored copy will be called. */
  messageId: string;
  /** With angle brackets. */
  messageIdHeader: string;
  /** The Date header. */
  date: Date;
  /** What it answers. */
  target?: ReplyTarget | null | undefined;
}

/** A message as it is written down: what the API shows, and what the sender needs. */
export interface ComposedMessage {
  content: OutgoingContent;
  envelope: { from: string; recipients: string[] };
  mime: Buffer;
  /** What else is stored with it, in the transaction that accepts it or an edit of it. */
  alongside?: (sql: Sql) => Promise<void>;
}

/** A message that has been checked, and what it takes to compose it. */
export interface PreparedMessage {
  /** About how large it is, before it is encoded. */
  bytes: number;
  files: readonly AttachmentSource[];
  /**
   * Reads its attachments; within `MessageTurns.run`.
   * @throws {DomainError} 413 when they are larger than they were said to be, 503 when one cannot be had at the moment
   */
  compose(): Promise<ComposedMessage>;
}

/** What is sent of a content besides what its sender has written, and what has to be known of it later. */
interface Sent {
  html: string;
  alongside?: ComposedMessage['alongside'];
}

/** Composes whatever is sent: for the outbox and for POST /send, with the same rules. Writes nothing. */
@Injectable()
export class OutgoingMessages {
  readonly #domain: string;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly attachments: AttachmentSources,
    private readonly tracker: Tracker,
  ) {
    this.#domain = config.outbox.mailDomain;
  }

  /** A Message-ID for what has this id, with angle brackets; another one each time. */
  newMessageIdHeader(id: string): string {
    return `<${id}.${randomBase36(10)}@${this.#domain}>`;
  }

  /**
   * Checks a message whole, and finds its attachments; none of their bytes are read.
   * @throws {InvalidInputError} naming the field
   * @throws {DomainError} 413 when the attachments are too large
   */
  async prepare(account: AccountPrincipal, draft: OutgoingDraft): Promise<PreparedMessage> {
    const content = withReplySubject(draft.content, draft.target);
    const recipients = recipientsOf(content);
    if (recipients.length === 0)
      throw new InvalidInputError('No recipients specified', { missingFields: ['to'] });
    const [from] = content.from;
    if (!from) throw new InvalidInputError('from: must have one entry');
    // A draft that is sent carries what its writer was allowed to attach.
    const { accountId, scopes } = account;
    const reader = content.draft ? { accountId } : { accountId, scopes };
    const files = await this.attachments.resolve(reader, content.file_ids ?? [], content.body);
    const attached = files.reduce((sum, { size }) => sum + size, 0);
    const sent = await this.#sentOf(account, draft);
    const envelope = { from: from.email, recipients };
    return {
      bytes: attached + Buffer.byteLength(sent.html),
      files,
      compose: async () => ({
        content,
        envelope,
        mime: await mimeOf({ ...draft, content }, from, sent.html, files),
        ...(sent.alongside ? { alongside: sent.alongside } : {}),
      }),
    };
  }

  /** The one place where what leaves may differ from what was written. */
  async #sentOf(
    { accountId }: AccountPrincipal,
    { content: { body, tracking }, messageId, messageIdHeader, date }: OutgoingDraft,
  ): Promise<Sent> {
    if (!tracking) return { html: body };
    return this.tracker.prepare(
      { accountId, messageId, messageIdHeader, sendAt: date, html: body },
      tracking,
    );
  }
}

function withReplySubject(content: OutgoingContent, target: ReplyTarget | null | undefined): OutgoingContent {
  return target && content.subject === '' ? { ...content, subject: replySubject(target) } : content;
}

async function mimeOf(
  { content, target, messageIdHeader, date }: OutgoingDraft,
  from: Address,
  html: string,
  files: readonly AttachmentSource[],
): Promise<Buffer> {
  return compose({
    from,
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    replyTo: content.reply_to,
    subject: content.subject,
    html,
    messageIdHeader,
    date,
    inReplyTo: target?.messageIdHeader ?? null,
    references: referencesOf(target),
    attachments: await readAll(files),
  });
}

/** Reads attachments one after the other: some come from the provider. @throws {DomainError} */
async function readAll(sources: readonly AttachmentSource[]): Promise<ComposedAttachment[]> {
  let left = MOST_FILE_BYTES;
  const read: ComposedAttachment[] = [];
  for (const { filename, contentType, contentDisposition, contentId, open } of sources) {
    const chunks: Buffer[] = [];
    for await (const chunk of await open()) {
      left -= (chunk as Buffer).length;
      if (left < 0) throw new AttachmentsTooLargeError();
      chunks.push(chunk as Buffer);
    }
    read.push({ filename, contentType, contentDisposition, contentId, content: Buffer.concat(chunks) });
  }
  return read;
}
