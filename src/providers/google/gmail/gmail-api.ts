import { z } from 'zod';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { BudgetPriority } from '../../../platform/budgets/budget-limit.ts';
import type { GmailCosts } from '../../../platform/config/sections/gmail-costs.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type { QueryValue } from '../../rest/rest-client.ts';
import { isOfOneObject } from '../../rest/message-failures.ts';
import { type GoogleApi, type GoogleCost, googlePages } from '../google-api.ts';

/** Most ids on one page of a list. */
export const LIST_PAGE = 500;

const profile = z.object({ emailAddress: z.string(), historyId: z.string() });

/** A label, as Gmail answers. */
export const gmailLabel = z.object({ id: z.string(), name: z.string() });
export type GmailLabel = z.infer<typeof gmailLabel>;
const labelList = z.object({ labels: z.array(gmailLabel).default([]) });

/** The ids of a message and of its thread, as Gmail answers. */
export const messageRef = z.object({ id: z.string(), threadId: z.string() });
export type MessageRef = z.infer<typeof messageRef>;
const messageList = z.object({
  messages: z.array(messageRef).default([]),
  nextPageToken: z.string().optional(),
});
export type MessageList = z.infer<typeof messageList>;

const labelledRef = messageRef.extend({ labelIds: z.array(z.string()).optional() });
/** An entry that names no message must not hide the others. */
const entries = z
  .array(z.object({ message: labelledRef }).nullable().catch(null))
  .default([])
  .transform((all) => all.flatMap((one) => one ?? []));
const historyRecord = z.object({
  id: z.string(),
  messagesAdded: entries,
  messagesDeleted: entries,
  labelsAdded: entries,
  labelsRemoved: entries,
});
export type HistoryRecord = z.infer<typeof historyRecord>;
const historyList = z.object({
  history: z.array(historyRecord).default([]),
  nextPageToken: z.string().optional(),
  historyId: z.string(),
});

const minimalMessage = messageRef.extend({
  labelIds: z.array(z.string()).default([]),
  internalDate: z.string().regex(/^-?\d{1,15}$/),
});
export type MinimalMessage = z.infer<typeof minimalMessage>;

const headerField = z.object({ name: z.string(), value: z.string() });
/** A part of a message, as `format=full` gives it. */
export interface GmailPart {
  partId: string;
  mimeType: string;
  filename: string;
  headers: z.infer<typeof headerField>[];
  body: { attachmentId?: string | undefined; size: number; data?: string | undefined };
  parts: GmailPart[];
}
const part: z.ZodType<GmailPart> = z.lazy(() =>
  z.object({
    partId: z.string().default(''),
    mimeType: z.string().default(''),
    filename: z.string().default(''),
    headers: z.array(headerField).default([]),
    body: z
      .object({
        attachmentId: z.string().optional(),
        size: z.number().default(0),
        data: z.string().optional(),
      })
      .default({ size: 0 }),
    parts: z.array(part).default([]),
  }),
);
const fullMessage = minimalMessage.extend({ payload: part });
/** A message with some of its headers, in `payload`. */
export type GmailMetadata = z.infer<typeof fullMessage>;

/** A draft, as Gmail answers. */
export const gmailDraft = z.object({ id: z.string(), message: messageRef });
export type GmailDraft = z.infer<typeof gmailDraft>;
const draftList = z.object({
  drafts: z.array(gmailDraft).default([]),
  nextPageToken: z.string().optional(),
});

const sendAs = z.object({ sendAsEmail: z.string(), verificationStatus: z.string().optional() });
/** An address from which an account may send, as Gmail answers. */
export type SendAs = z.infer<typeof sendAs>;
const sendAsList = z.object({ sendAs: z.array(sendAs).default([]) });

/** Which messages a list contains. */
export interface ListQuery {
  labelId?: string;
  /** In Gmail's search syntax. */
  q?: string;
  pageToken?: string | null;
  maxResults?: number;
}

/** Path of everything that belongs to the account's user. */
export const ME = '/gmail/v1/users/me';
const id = encodeURIComponent;

/** The methods of the Gmail API that Carillon reads with. */
export class GmailReader {
  constructor(
    protected readonly api: GoogleApi,
    /** Units of each method. */
    readonly costs: GmailCosts,
  ) {}

  profile(account: ProviderAccount, priority: BudgetPriority) {
    const request = {
      method: 'GET',
      path: `${ME}/profile`,
      units: this.costs.getProfile,
      priority,
    } as const;
    return this.api.read(account, request, profile);
  }

  /** @throws {ProviderError} `temporary` for a list without the inbox, which every mailbox has */
  async labels(account: ProviderAccount, priority: BudgetPriority): Promise<GmailLabel[]> {
    const request = {
      method: 'GET',
      path: `${ME}/labels`,
      units: this.costs['labels.list'],
      priority,
    } as const;
    const { labels } = await this.api.read(account, request, labelList);
    if (!labels.some(({ id: labelId }) => labelId === 'INBOX'))
      throw new ProviderError('temporary', 'Google: the list of labels is not complete');
    return labels;
  }

  /** The addresses from which the account may send, its own among them. */
  async sendAs(account: ProviderAccount): Promise<SendAs[]> {
    const request = {
      method: 'GET',
      path: `${ME}/settings/sendAs`,
      units: this.costs['settings.sendAs.list'],
      priority: 'send',
    } as const;
    return (await this.api.read(account, request, sendAsList)).sendAs;
  }

  /**
   * Lists messages, newest first; spam and trash included.
   * @param cost default: the units of a list, for somebody who waits
   */
  list(
    account: ProviderAccount,
    query: ListQuery,
    cost: GoogleCost = { units: this.costs['messages.list'], priority: 'interactive' },
  ): Promise<MessageList> {
    const { labelId, q, pageToken, maxResults = LIST_PAGE } = query;
    return this.api.read(
      account,
      {
        method: 'GET',
        path: `${ME}/messages`,
        query: {
          includeSpamTrash: true,
          maxResults,
          labelIds: labelId,
          q,
          pageToken: pageToken ?? undefined,
        },
        ...cost,
      },
      messageList,
    );
  }

  /**
   * The newest messages, as `list`. A page may be empty although others follow.
   * @returns the first page with a message, or the last one; an empty page that is not the last
   *   one if Gmail fails on the page after it
   */
  async newest(
    account: ProviderAccount,
    query: Omit<ListQuery, 'pageToken'>,
  ): Promise<MessageList> {
    let last: MessageList = { messages: [] };
    try {
      for await (last of googlePages((pageToken) =>
        this.list(account, { ...query, pageToken: pageToken ?? null }),
      ))
        if (last.messages.length > 0) break;
    } catch (error) {
      if (last.nextPageToken === undefined || !isOfOneObject(error)) throw error;
    }
    return last;
  }

  /**
   * The next records of the history. A page may be empty although others follow.
   * @returns the first page with a record, or the last one
   * @throws {GoogleError} `not-found` if Gmail no longer knows changes since then
   */
  async history(account: ProviderAccount, startHistoryId: string, maxResults: number) {
    const path = `${ME}/history`;
    const cost = { units: this.costs['history.list'], priority: 'interactive' } as const;
    const read = (pageToken: string | undefined) => {
      const query = { startHistoryId, maxResults, pageToken };
      return this.api.read(account, { method: 'GET', path, query, ...cost }, historyList);
    };
    for await (const page of googlePages(read))
      if (page.history.length > 0 || !page.nextPageToken) return page;
    throw new ProviderError('temporary', 'Google: the history does not end');
  }

  /** The labels and the date of a message. */
  minimal(account: ProviderAccount, messageId: string, cost: GoogleCost) {
    return this.#get(account, messageId, { format: 'minimal' }, cost, minimalMessage);
  }

  /** A message whose parts are listed, without the bytes of large ones. */
  full(account: ProviderAccount, messageId: string, cost: GoogleCost) {
    return this.#get(account, messageId, { format: 'full' }, cost, fullMessage);
  }

  /** The values of some headers, in `payload`. */
  metadata(
    account: ProviderAccount,
    messageId: string,
    metadataHeaders: readonly string[],
    priority: BudgetPriority,
  ) {
    const cost = { units: this.costs['messages.get'], priority };
    const query = { format: 'metadata', metadataHeaders };
    return this.#get(account, messageId, query, cost, fullMessage);
  }

  /**
   * The complete message.
   * @param maxBytes largest message to read
   * @throws {ResponseTooLargeError}
   */
  async raw(
    account: ProviderAccount,
    messageId: string,
    cost: GoogleCost,
    maxBytes: number,
  ): Promise<MinimalMessage & { mime: Buffer }> {
    const { body } = await this.api.send(account, {
      method: 'GET',
      path: `${ME}/messages/${id(messageId)}`,
      query: { format: 'raw', fields: 'id,threadId,labelIds,internalDate,raw' },
      ...cost,
      // Base64 has four characters for three bytes.
      maxBodyBytes: Math.ceil((maxBytes * 4) / 3) + 16 * 1024,
      deadlineMs: 60_000,
    });
    const { rest, text } = cutOut(body, 'raw');
    return { ...this.api.parse(rest, minimalMessage), mime: Buffer.from(text, 'base64url') };
  }

  /** The bytes of an attachment. */
  async attachment(account: ProviderAccount, messageId: string, attachmentId: string) {
    const { body } = await this.api.send(account, {
      method: 'GET',
      path: `${ME}/messages/${id(messageId)}/attachments/${id(attachmentId)}`,
      units: this.costs['messages.attachments.get'],
      priority: 'interactive',
      maxBodyBytes: 96 * 1024 * 1024,
      deadlineMs: 120_000,
    });
    return Buffer.from(cutOut(body, 'data').text, 'base64url');
  }

  /** @param q in Gmail's search syntax */
  drafts(account: ProviderAccount, q: string | undefined, pageToken: string | undefined) {
    return this.api.read(
      account,
      {
        method: 'GET',
        path: `${ME}/drafts`,
        query: { includeSpamTrash: true, maxResults: LIST_PAGE, q, pageToken },
        units: this.costs['drafts.list'],
        priority: 'interactive',
      },
      draftList,
    );
  }

  #get<T>(
    account: ProviderAccount,
    messageId: string,
    query: Readonly<Record<string, QueryValue>>,
    cost: GoogleCost,
    shape: z.ZodType<T>,
  ): Promise<T> {
    const path = `${ME}/messages/${id(messageId)}`;
    const maxBodyBytes = 32 * 1024 * 1024;
    return this.api.read(account, { method: 'GET', path, query, maxBodyBytes, ...cost }, shape);
  }
}

/**
 * Cuts a base64url text out of a JSON object, so that it need not be parsed: it may have tens of
 * megabytes.
 * @returns the object with an empty text, and the text
 */
function cutOut(body: Buffer, field: string): { rest: Buffer; text: string } {
  const at = body.indexOf(`"${field}"`);
  const from = at < 0 ? -1 : body.indexOf('"', at + field.length + 2) + 1;
  const to = from < 1 ? -1 : body.indexOf('"', from);
  if (to < 0) return { rest: body, text: '' };
  return {
    rest: Buffer.concat([body.subarray(0, from), body.subarray(to)]),
    text: body.toString('latin1', from, to),
  };
}
