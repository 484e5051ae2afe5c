import { z } from 'zod';
import { markDigest, markOf } from '../../../formats/mime/message-mark.ts';
import {
  type MessageParts,
  messageParts,
  type PartAddress,
  type PartFile,
} from '../../../formats/mime/message-parts.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { BudgetPriority } from '../../../platform/budgets/budget-limit.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import type { ProviderAccount, StoredCopy } from '../../port/connector.ts';
import { ignoreGone } from '../../rest/gone.ts';
import type { GraphApi } from '../graph-api.ts';
import { unlessPassing } from '../graph-second-look.ts';
import { IN_REPLY_TO, MARK_PROPERTY, MESSAGE_FLAGS, REFERENCES } from './graph-properties.ts';
import { attachmentOf, GraphUpload } from './graph-upload.ts';

/**
 * Largest message that one request takes as MIME: in base64 it must stay below 4 MB, together with
 * the header of the request.
 */
export const MOST_MIME_BYTES = 3_000_000;
const DEADLINE_MS = 120_000;
/** Graph takes this many header fields of a message. */
const MOST_HEADERS = 5;

const made = z.object({ id: z.string(), conversationId: z.string().nullish() });
const found = z.object({ id: z.string(), conversationId: z.string().nullish() });
const named = z.object({ id: z.string() });
const shownFrom = z.object({
  isDraft: z.boolean().nullish(),
  from: z.object({ emailAddress: z.object({ address: z.string().nullish() }).nullish() }).nullish(),
});

/** A message that is put into a mailbox. */
export interface MessageToStore {
  messageIdHeader: string;
  /** With Bcc. */
  mime: Buffer;
}

/** Puts messages into mailboxes: drafts, and copies of messages that others have sent. */
export class GraphOutgoing {
  readonly #upload: GraphUpload;

  constructor(
    private readonly graph: GraphApi,
    private readonly threads: WorkThreads,
  ) {
    this.#upload = new GraphUpload(graph);
  }

  /** Sends a message in one request. It is accepted as a whole; nothing is returned. */
  async sendMail(account: ProviderAccount, mime: Buffer): Promise<void> {
    await this.graph.send(account, {
      method: 'POST',
      path: '/sendMail',
      ...asMime(mime),
      priority: 'send',
      sends: true,
      reserved: true,
      deadlineMs: DEADLINE_MS,
    });
  }

  /** Sends a draft. It keeps its id. */
  async sendDraft(account: ProviderAccount, id: string): Promise<void> {
    const path = `/messages/${encodeURIComponent(id)}`;
    const request = { method: 'POST', path: `${path}/send`, priority: 'send' } as const;
    const sending = this.graph.send(account, { ...request, sends: true, reserved: true });
    await unlessPassing(this.graph, account, { path, part: 'mail' }, sending);
  }

  /**
   * Stores a draft, whatever its size. Call `find` before: a repeated call makes another one.
   * @throws {ProviderError} never `outcome-unknown`: what a lost request left behind has the
   *   Message-ID of the draft
   */
  async createDraft(
    account: ProviderAccount,
    { mime }: MessageToStore,
    priority: BudgetPriority,
  ): Promise<StoredCopy> {
    if (mime.length > MOST_MIME_BYTES) return this.createInParts(account, mime, priority);
    const path = '/messages';
    const request = { method: 'POST', path, ...asMime(mime), priority, ...REPEATABLE } as const;
    return copyOf(await this.graph.read(account, request, made));
  }

  /** Stores a draft as fields and files, so that Exchange composes it. Otherwise `createDraft`. */
  createInParts(
    account: ProviderAccount,
    mime: Buffer,
    priority: BudgetPriority,
  ): Promise<StoredCopy> {
    return this.#createInParts(account, mime, priority, null);
  }

  /** Stores a copy of a sent message, which is no draft. */
  fileSent(account: ProviderAccount, mime: Buffer): Promise<StoredCopy> {
    return this.#createInParts(account, mime, 'interactive', 'sentitems');
  }

  /** Searches a folder for the messages with a Message-ID. */
  async find(
    account: ProviderAccount,
    folder: string,
    messageIdHeader: string,
    priority: BudgetPriority,
  ): Promise<StoredCopy[]> {
    const messages = await this.graph.all(
      account,
      {
        method: 'GET',
        path: `/mailFolders/${folder}/messages`,
        query: {
          $filter: `internetMessageId eq '${messageIdHeader.replaceAll("'", "''")}'`,
          $select: 'id,conversationId',
        },
        priority,
      },
      found,
    );
    return messages.map(copyOf);
  }

  /** Searches Sent Items for a message: by its Message-ID, and by its mark if that was replaced. */
  async findSent(account: ProviderAccount, messageIdHeader: string): Promise<StoredCopy[]> {
    const named = await this.find(account, 'sentitems', messageIdHeader, 'send');
    if (named.length > 0) return named;
    // An earlier build wrote the digest alone. Exchange allows one condition in such a filter.
    for (const mark of new Set([markOf(messageIdHeader), markDigest(messageIdHeader)])) {
      const marked = await this.#withMark(account, mark);
      if (marked.length > 0) return marked;
    }
    return [];
  }

  async #withMark(account: ProviderAccount, mark: string): Promise<StoredCopy[]> {
    const isMarked = `ep/id eq '${MARK_PROPERTY}' and ep/value eq '${mark}'`;
    const $filter = `singleValueExtendedProperties/Any(ep: ${isMarked})`;
    const query = { $filter, $select: 'id,conversationId' };
    const path = '/mailFolders/sentitems/messages';
    const request = { method: 'GET', path, query, priority: 'send' } as const;
    return (await this.graph.all(account, request, found)).map(copyOf);
  }

  /** The address in From of a message; `null` for a draft, of which nothing is decided yet. */
  async fromOf(account: ProviderAccount, id: string): Promise<string | null> {
    const path = `/messages/${encodeURIComponent(id)}`;
    const query = { $select: 'id,from,isDraft' };
    const request = { method: 'GET', path, query, priority: 'send' } as const;
    const { from, isDraft } = await this.graph.read(account, request, shownFrom);
    return isDraft ? null : (from?.emailAddress?.address?.toLowerCase() ?? null);
  }

  /** Whether a stored draft has all of its files: a crash may have left some out. */
  async isComplete(account: ProviderAccount, id: string, mime: Buffer): Promise<boolean> {
    if (mime.length <= MOST_MIME_BYTES) return true;
    const { files } = await messageParts(this.threads, account.accountId, mime);
    const path = `/messages/${encodeURIComponent(id)}/attachments`;
    const query = { $select: 'id' };
    const request = { method: 'GET', path, query, priority: 'interactive' } as const;
    return (await this.graph.all(account, request, named)).length >= files.length;
  }

  /** Deletes a message. One that does not exist is not an error. */
  async remove(account: ProviderAccount, id: string, priority: BudgetPriority): Promise<void> {
    const path = `/messages/${encodeURIComponent(id)}`;
    const deleting = this.graph.send(account, { method: 'DELETE', path, priority });
    await ignoreGone(unlessPassing(this.graph, account, { path, part: 'mail' }, deleting));
  }

  /** @param folder of a message that is no draft; `null` for a draft */
  async #createInParts(
    account: ProviderAccount,
    mime: Buffer,
    priority: BudgetPriority,
    folder: string | null,
  ): Promise<StoredCopy> {
    const parts = await messageParts(this.threads, account.accountId, mime);
    const path = folder === null ? '/messages' : `/mailFolders/${folder}/messages`;
    const json = jsonOf(parts, folder === null);
    const request = { method: 'POST', path, json, priority, ...REPEATABLE } as const;
    const copy = copyOf(await this.graph.read(account, request, made));
    try {
      for (const file of parts.files) await this.#attach(account, copy.providerId, file, priority);
    } catch (error) {
      await this.remove(account, copy.providerId, priority).catch(ignoreProviderError);
      throw error;
    }
    return copy;
  }

  async #attach(
    account: ProviderAccount,
    messageId: string,
    file: PartFile,
    priority: BudgetPriority,
  ): Promise<void> {
    const path = `/messages/${encodeURIComponent(messageId)}/attachments`;
    if (this.#upload.isNeeded(file)) return this.#upload.send(account, path, file, priority);
    const json = {
      '@odata.type': '#microsoft.graph.fileAttachment',
      ...attachmentOf(file),
      contentBytes: Buffer.from(file.bytes).toString('base64'),
    };
    // Repeated, a file would be there twice: after a lost response all begins again.
    const request = { method: 'POST', path, json, priority, ...REPEATABLE } as const;
    await this.graph.send(account, request);
  }
}

/** A lost response leaves a draft behind that the next attempt finds by its Message-ID. */
const REPEATABLE = { repeatable: true, deadlineMs: DEADLINE_MS } as const;

const asMime = (mime: Buffer) => ({
  headers: { 'content-type': 'text/plain' },
  body: Buffer.from(mime.toString('base64')),
});

const copyOf = ({ id, conversationId }: z.infer<typeof made>): StoredCopy => ({
  providerId: id,
  threadId: conversationId ?? null,
});

const recipient = ({ name, address }: PartAddress) => ({
  emailAddress: { ...(name === '' ? {} : { name }), address },
});

/** A message without its files. */
function jsonOf(parts: MessageParts, isDraft: boolean) {
  const properties = [
    ...(isDraft ? [] : [{ id: MESSAGE_FLAGS, value: '1' }]),
    ...(parts.inReplyTo ? [{ id: IN_REPLY_TO, value: parts.inReplyTo }] : []),
    ...(parts.references ? [{ id: REFERENCES, value: parts.references }] : []),
  ];
  const [from] = parts.from;
  const [sender] = parts.sender;
  // The mark is the first one.
  const own = parts.fields.filter(({ name }) => /^x-/i.test(name));
  return {
    subject: parts.subject,
    body:
      parts.html === null
        ? { contentType: 'text', content: parts.text ?? '' }
        : { contentType: 'html', content: parts.html },
    ...(from ? { from: recipient(from) } : {}),
    ...(sender ? { sender: recipient(sender) } : {}),
    toRecipients: parts.to.map(recipient),
    ccRecipients: parts.cc.map(recipient),
    bccRecipients: parts.bcc.map(recipient),
    replyTo: parts.replyTo.map(recipient),
    importance: parts.importance,
    ...(parts.messageId ? { internetMessageId: parts.messageId } : {}),
    ...(own.length > 0 ? { internetMessageHeaders: own.slice(0, MOST_HEADERS) } : {}),
    ...(properties.length > 0 ? { singleValueExtendedProperties: properties } : {}),
  };
}

function ignoreProviderError(error: unknown): void {
  if (!(error instanceof ProviderError)) throw error;
}
