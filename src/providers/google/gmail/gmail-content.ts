import { Readable } from 'node:stream';
import { TEXT_BYTES } from '../../../formats/mime/wanted-parts.ts';
import { openAttachment } from '../../../formats/mime/open-attachment.ts';
import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { BudgetExhaustedError } from '../../../platform/budgets/budget-exhausted-error.ts';
import type { BudgetPriority } from '../../../platform/budgets/budget-limit.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import type {
  FailedMessage,
  ListedContent,
  MessageContent,
  RemoteMessageState,
  ProviderAccount,
  ReadMessage,
  ReadRequest,
  StoredPart,
} from '../../port/connector.ts';
import { nullIfGone } from '../../rest/gone.ts';
import {
  failedContent,
  isOfOneObject,
  MessageReads,
  withFailed,
} from '../../rest/message-failures.ts';
import { ResponseTooLargeError } from '../../rest/rest-client.ts';
import type { GmailReader, MinimalMessage } from './gmail-api.ts';
import type { GoogleApi, GoogleCost } from '../google-api.ts';
import { placementOf } from './gmail-labels.ts';
import { partAt, readParts } from './gmail-parts.ts';
import { GoogleError } from '../google-error.ts';

/** Larger messages are fetched in parts. Bytes. */
const WHOLE_BYTES = 3 * 1024 * 1024;
/** Largest message that is fetched whole for a request. Gmail accepts up to 50 MB. */
const RAW_BYTES = 64 * 1024 * 1024;
/** Messages fetched at the same time. */
const AT_ONCE = 6;
/** Most messages of one `fetchAll`: their units are taken at once, of 1,500 that may be. */
export const MOST_NEW = 40;
const POSITION = /^#(\d+)$/;

/** A message with its labels and its content. */
export interface GmailMessage {
  labels: MinimalMessage;
  /** Listed content if Gmail failed on the content only. */
  content: MessageContent | ListedContent;
}

/** What Gmail has returned for some messages. */
export interface GmailMessages {
  /** By id; `null` for a message that is gone. */
  read: ReadonlyMap<string, GmailMessage | null>;
  /** Messages on which Gmail failed in every form, but not on all others. */
  failed: readonly FailedMessage[];
}

/** Reads the contents of messages. */
export class GmailContents {
  constructor(
    private readonly api: GoogleApi,
    private readonly gmail: GmailReader,
    private readonly threads: WorkThreads,
  ) {}

  /**
   * Fetches all of these messages with their content. The quota for all is taken first: if it ran
   * out in the middle, the first ones would be fetched again and again.
   * @param ids at most `MOST_NEW`
   * @throws {BudgetExhaustedError} nothing was fetched
   */
  async fetchAll(account: ProviderAccount, ids: readonly string[]): Promise<GmailMessages> {
    const cost = this.#read('interactive');
    await this.api.reserve(account, cost, Math.min(ids.length, MOST_NEW));
    const { read, failed } = await this.#each(account, ids, (id) =>
      this.#fetch(account, id, { ...cost, reserved: true }),
    );
    return { read, failed };
  }

  /** See `MailPort.readMessages`. A content is read together with its labels. */
  readMessages(
    account: ProviderAccount,
    { providerIds, content, priority }: ReadRequest,
  ): Promise<Map<string, ReadMessage | null>> {
    return content
      ? this.#readContents(account, providerIds, priority)
      : this.#readLabels(account, providerIds.slice(0, MOST_NEW), priority);
  }

  async #readLabels(
    account: ProviderAccount,
    ids: readonly string[],
    priority: BudgetPriority,
  ): Promise<Map<string, ReadMessage | null>> {
    const cost = this.#read(priority);
    await this.api.reserve(account, cost, ids.length);
    const reserved = { ...cost, reserved: true };
    const { read, failed } = await this.#each(account, ids, async (id) => {
      const labels = await nullIfGone(notFoundIfInvalid(this.gmail.minimal(account, id, reserved)));
      return labels && { state: stateOf(labels), content: null };
    });
    return withFailed(read, failed);
  }

  async #readContents(
    account: ProviderAccount,
    ids: readonly string[],
    priority: BudgetPriority,
  ): Promise<Map<string, ReadMessage | null>> {
    const cost = this.#read(priority);
    const { read, failed } = await this.#each(account, ids, async (id) => {
      const message = await this.#fetch(account, id, cost);
      return message && readMessageOf(message);
    });
    return withFailed(read, failed);
  }

  /**
   * Reads messages until the quota is used up. Gmail may fail on some of them.
   * @throws {ProviderError} if none was read and Gmail does not answer other requests either
   */
  async #each<T>(
    account: ProviderAccount,
    ids: readonly string[],
    readOne: (id: string) => Promise<T>,
  ): Promise<MessageReads<T>> {
    const reads = new MessageReads<T>(isOfOneMessage);
    let exhausted: BudgetExhaustedError | undefined;
    await forEachAtOnce(AT_ONCE, ids, async (id) => {
      try {
        if (!exhausted) await reads.add(id, readOne(id));
      } catch (error) {
        if (!(error instanceof BudgetExhaustedError)) throw error;
        exhausted = error;
      }
    });
    if (reads.isNothing) await this.gmail.profile(account, 'interactive');
    else if (reads.read.size === 0 && exhausted) throw exhausted;
    return reads;
  }

  /** @throws {ProviderError} `not-found` */
  async fetchRaw(account: ProviderAccount, id: string): Promise<Buffer> {
    return (
      await notFoundIfInvalid(this.gmail.raw(account, id, this.#read('interactive'), RAW_BYTES))
    ).mime;
  }

  /**
   * @param section as in `RemoteFile`, or `#` and the position of a file in a message that was
   *   read whole
   * @throws {ProviderError} `not-found`
   */
  async openFile(account: ProviderAccount, id: string, section: string): Promise<Readable> {
    const position = POSITION.exec(section)?.[1];
    const bytes =
      position === undefined
        ? await this.#partBytes(account, id, section)
        : await openAttachment(
            this.threads,
            account.accountId,
            await this.fetchRaw(account, id),
            Number(position),
          );
    if (!bytes) throw noFile();
    return Readable.from([bytes]);
  }

  async #partBytes(account: ProviderAccount, id: string, section: string): Promise<Buffer | null> {
    const { payload } = await notFoundIfInvalid(
      this.gmail.full(account, id, this.#read('interactive')),
    );
    const body = partAt(payload, section)?.body;
    if (!body) return null;
    return body.attachmentId === undefined
      ? Buffer.from(body.data ?? '', 'base64url')
      : this.gmail.attachment(account, id, body.attachmentId);
  }

  #read(priority: BudgetPriority): GoogleCost {
    return { units: this.gmail.costs['messages.get'], priority };
  }

  /** @returns `null` if the message is gone */
  async #fetch(
    account: ProviderAccount,
    id: string,
    cost: GoogleCost,
  ): Promise<GmailMessage | null> {
    try {
      return await this.#fetchWhole(account, id, cost).catch((error: unknown) => {
        if (!isServerError(error)) throw error;
        return this.#fetchWhole(account, id, cost);
      });
    } catch (error) {
      // Gmail refuses this content, or always fails on it. Other errors may soon be over.
      if (isServerError(error) || isRefused(error))
        return this.#withoutContent(account, id, cost, error);
      throw error;
    }
  }

  /** @returns `null` if the message is gone */
  async #fetchWhole(
    account: ProviderAccount,
    id: string,
    cost: GoogleCost,
  ): Promise<GmailMessage | null> {
    try {
      const { mime, ...labels } = await this.gmail.raw(account, id, cost, WHOLE_BYTES);
      return { labels, content: { kind: 'mime', mime } };
    } catch (error) {
      if (error instanceof ResponseTooLargeError) return this.#fetchParts(account, id, cost);
      if (error instanceof GoogleError && (error.code === 'not-found' || error.isInvalidId))
        return null;
      throw error;
    }
  }

  async #fetchParts(account: ProviderAccount, id: string, cost: GoogleCost): Promise<GmailMessage> {
    const { payload, ...labels } = await this.gmail.full(account, id, cost);
    const { headers, root, late } = readParts(payload);
    const fetched = new Map<StoredPart, Buffer>();
    for (const [part, attachmentId] of late)
      fetched.set(part, await this.gmail.attachment(account, id, attachmentId));
    return {
      labels,
      content: { kind: 'parts', parts: { headers, root: withTexts(root, fetched) } },
    };
  }

  /** @throws the error, if Gmail fails on this message in every form */
  async #withoutContent(
    account: ProviderAccount,
    id: string,
    cost: GoogleCost,
    error: GoogleError,
  ): Promise<GmailMessage> {
    try {
      const labels = await this.gmail.minimal(account, id, cost);
      return { labels, content: failedContent(error.message) };
    } catch (other) {
      throw isOfOneMessage(other) ? error : other;
    }
  }
}

/** The parts with the contents that were fetched. */
function withTexts(part: StoredPart, fetched: ReadonlyMap<StoredPart, Buffer>): StoredPart {
  const { children } = part;
  if (!children)
    return { ...part, content: fetched.get(part)?.subarray(0, TEXT_BYTES) ?? part.content };
  return { ...part, children: children.map((child) => withTexts(child, fetched)) };
}

/** Gmail itself failed on a request; it was not merely busy or out of reach. */
const isServerError = (error: unknown): error is GoogleError =>
  error instanceof GoogleError && error.status === 500;

/** Whether Gmail may answer requests for other messages. */
const isOfOneMessage = (error: unknown): error is ProviderError =>
  isOfOneObject(error) && !(error instanceof GoogleError && error.isWithoutConsent);

const isRefused = (error: unknown): error is GoogleError =>
  error instanceof GoogleError && error.code === 'rejected' && isOfOneMessage(error);

function readMessageOf({ labels, content }: GmailMessage): ReadMessage {
  const state = stateOf(labels);
  return content.kind === 'listed'
    ? { state, content: null, ...(content.failed === undefined ? {} : { failed: content.failed }) }
    : { state, content };
}

/** When Gmail received the message. */
export const dateOf = ({ internalDate }: Pick<MinimalMessage, 'internalDate'>): Date =>
  new Date(Number(internalDate));

/** What the mirror takes of a message, without its content. */
export const stateOf = (labels: MinimalMessage): RemoteMessageState => ({
  providerId: labels.id,
  threadId: labels.threadId,
  ...placementOf(labels.labelIds),
  receivedAt: dateOf(labels),
});

const noFile = () => new ProviderError('not-found', 'The message has no such part');

/** Gmail answers an id that cannot exist with 400: for callers there is no such message. */
export async function notFoundIfInvalid<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof GoogleError && error.isInvalidId)
      throw new ProviderError('not-found', error.message, { cause: error });
    throw error;
  }
}
