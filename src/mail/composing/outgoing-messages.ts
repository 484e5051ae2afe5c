import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { randomBase36 } from '../../platform/base/ids/ids.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { type AttachmentSource, AttachmentSources } from '../files/attachment-sources.ts';
import { AttachmentsTooLargeError, MOST_FILE_BYTES } from '../files/file-limits.ts';
import { Tracker, type TrackingRecord } from '../tracking/tracker.ts';
import { compose, type ComposedAttachment, recipientsOf } from '../../formats/mime/compose.ts';
import { ComposingSlots } from './composing-slots.ts';
import type { OutgoingContent, OutgoingFile } from './outgoing-content.ts';
import { referencesOf, type ReplyTarget, replySubject } from './reply-targets.ts';

/** A message to be composed. */
export interface OutgoingDraft {
  content: OutgoingContent;
  /** Id that the mirrored copy will have. */
  messageId: string;
  /** With angle brackets. */
  messageIdHeader: string;
  /** Value of the Date header. */
  date: Date;
  /** The message it replies to. */
  target?: ReplyTarget | null | undefined;
  /**
   * Whether its uploads are kept while it waits, because an edit composes it again. Default: false.
   */
  keepsUploads?: boolean;
}

/**
 * A message that has been checked, with everything needed to compose it. None of its attachments
 * have been read.
 */
export interface CheckedMessage extends OutgoingDraft {
  accountId: string;
  envelope: { from: string; recipients: string[] };
  /** HTML that is sent. With tracking it differs from what the sender wrote. */
  html: string;
  tracking: TrackingRecord | null;
  files: readonly AttachmentSource[];
  /** Approximate size before it is encoded. */
  bytes: number;
}

/** A message as it is stored: what the API shows, and what the sender needs. */
export interface ComposedMessage {
  content: OutgoingContent;
  envelope: { from: string; recipients: string[] };
  mime: Buffer;
  /**
   * Rows to be stored with the message, see `OutgoingMessages.storeAlongside`. Absent if there are
   * none.
   */
  alongside?: { tracking: TrackingRecord | null; uploads: readonly AttachmentSource[] };
}

/**
 * Composes messages for the outbox and for POST /send, with the same rules. Only `storeAlongside`
 * writes.
 */
@Injectable()
export class OutgoingMessages {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly attachments: AttachmentSources,
    private readonly tracker: Tracker,
    private readonly slots: ComposingSlots,
  ) {}

  /** A Message-ID in angle brackets that begins with this id. Each call returns another one. */
  newMessageIdHeader(id: string): string {
    return `<${id}.${randomBase36(10)}@${this.config.outbox.mailDomain}>`;
  }

  /**
   * Checks a message completely, and finds its attachments without reading them.
   * @throws {InvalidInputError} naming the field
   * @throws {DomainError} 413 if the attachments are too large
   */
  async check(account: AccountPrincipal, draft: OutgoingDraft): Promise<CheckedMessage> {
    const content = withReplySubject(draft.content, draft.target);
    const recipients = recipientsOf(content);
    if (recipients.length === 0)
      throw new InvalidInputError('No recipients specified', { missingFields: ['to'] });
    const [from] = content.from;
    if (!from) throw new InvalidInputError('from: must have one entry');
    // The files of a draft were checked when its writer attached them.
    const { accountId, scopes } = account;
    const reader = content.draft ? { accountId } : { accountId, scopes };
    const files = await this.attachments.resolve(reader, content.file_ids ?? [], content.body);
    const attached = files.reduce((sum, { size }) => sum + size, 0);
    const { messageId, messageIdHeader, date: sendAt } = draft;
    const { body: html, tracking: wish } = draft.content;
    const marked = wish
      ? await this.tracker.prepare({ accountId, messageId, messageIdHeader, sendAt, html }, wish)
      : { html, record: null };
    return {
      ...draft,
      accountId,
      content: files.length > 0 ? { ...content, files: files.map(toOutgoingFile) } : content,
      envelope: { from: from.email, recipients },
      html: marked.html,
      tracking: marked.record,
      files,
      bytes: attached + Buffer.byteLength(marked.html),
    };
  }

  /**
   * Runs work that needs a composed message in memory, as soon as `ComposingSlots` allows it.
   * @param work gets a function that composes the message, which reads its attachments
   * @throws what the work throws. Composing throws a {DomainError}: 413 if the attachments are
   *   larger than announced, 503 if one is currently unavailable
   */
  compose<R>(
    checked: CheckedMessage,
    work: (compose: () => Promise<ComposedMessage>) => Promise<R>,
  ): Promise<R> {
    return this.slots.run(checked.accountId, checked.bytes, () =>
      work(() => this.#compose(checked)),
    );
  }

  async #compose({
    content,
    envelope,
    html,
    tracking,
    files,
    ...draft
  }: CheckedMessage): Promise<ComposedMessage> {
    const { target, messageIdHeader, date } = draft;
    const mime = await compose({
      from: content.from[0] as Address,
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
    const uploads = draft.keepsUploads ? files.filter(({ isUpload }) => isUpload) : [];
    const composed = { content, envelope, mime };
    return tracking || uploads.length > 0
      ? { ...composed, alongside: { tracking, uploads } }
      : composed;
  }

  /**
   * Stores the further rows of a message, in the transaction that accepts the message or an edit of
   * it.
   * @throws {InvalidInputError} naming an upload that was removed meanwhile
   */
  async storeAlongside(sql: Sql, accountId: string, { alongside }: ComposedMessage): Promise<void> {
    if (!alongside) return;
    const { tracking, uploads } = alongside;
    if (uploads.length > 0) await this.attachments.lockUploads(sql, { accountId }, uploads);
    if (tracking) await this.tracker.store(sql, tracking);
  }
}

function toOutgoingFile({ id, filename, contentType, size }: AttachmentSource): OutgoingFile {
  return { id, object: 'file', filename, content_type: contentType, size };
}

function withReplySubject(
  content: OutgoingContent,
  target: ReplyTarget | null | undefined,
): OutgoingContent {
  return target && content.subject === '' ? { ...content, subject: replySubject(target) } : content;
}

/**
 * Reads attachments one at a time, because some come from the provider.
 * @throws {DomainError}
 */
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
    read.push({
      filename,
      contentType,
      contentDisposition,
      contentId,
      content: Buffer.concat(chunks),
    });
  }
  return read;
}
