import { Readable } from 'node:stream';
import { z } from 'zod';
import { openAttachment } from '../../../formats/mime/open-attachment.ts';
import { forEachAtOnce } from '../../../platform/base/concurrency/for-each-at-once.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { BudgetExhaustedError } from '../../../platform/budgets/budget-exhausted-error.ts';
import type { BudgetPriority } from '../../../platform/budgets/budget-limit.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import type {
  FailedMessage,
  MessageContent,
  MessageParts,
  ProviderAccount,
  StoredPart,
} from '../../port/connector.ts';
import { nullIfGone } from '../../rest/gone.ts';
import { isOfOneObject, MessageReads } from '../../rest/message-failures.ts';
import { ResponseTooLargeError } from '../../rest/rest-client.ts';
import type { GraphApi } from '../graph-api.ts';
import { GraphError } from '../graph-error.ts';
import {
  type GraphMessage,
  graphMessage,
  headerBlock,
  headersOf,
  LIST_FIELDS,
  PLACE_FIELDS,
} from './graph-message.ts';
import { EXPAND_HEADERS, headersOfProperties, properties } from './graph-properties.ts';

/** Larger messages are fetched in parts. Bytes. */
const WHOLE_BYTES = 3 * 1024 * 1024;
/** Largest message or file that is fetched whole for a request: Exchange's highest limit. */
const RAW_BYTES = 160 * 1024 * 1024;
/** Requests of one call at the same time: one of the four of a mailbox stays free. */
const AT_ONCE = 3;
/** Only files have a content id: without the cast, Graph knows no such property of attachments. */
const CONTENT_ID = 'microsoft.graph.fileAttachment/contentId';
const POSITION = /^#(\d+)$/;
const MOST_FILES = 1_000;

const largeMessage = graphMessage.extend({
  internetMessageHeaders: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  singleValueExtendedProperties: properties,
  body: z.object({ contentType: z.string().nullish(), content: z.string().nullish() }).nullish(),
});
const attachment = z.object({
  id: z.string(),
  name: z.string().nullish(),
  contentType: z.string().nullish(),
  size: z.number().nullish(),
  isInline: z.boolean().nullish(),
  contentId: z.string().nullish(),
});

type GraphFile = z.infer<typeof attachment>;

/** What Graph has returned for some messages. */
export interface GraphReads<T> {
  /** By id; `null` for a message that is gone. */
  read: ReadonlyMap<string, T | null>;
  /** Messages on which Graph failed, although it answers other requests. */
  failed: readonly FailedMessage[];
}

/** Reads the contents of messages. */
export class GraphContents {
  constructor(
    private readonly graph: GraphApi,
    private readonly threads: WorkThreads,
  ) {}

  /**
   * Contents by id, as in `MailPort.readMessages`, until the quota is used up.
   * @throws {BudgetExhaustedError} if none was read for that reason
   * @throws {ProviderError} if Graph does not answer other requests either
   */
  readContents(
    account: ProviderAccount,
    ids: readonly string[],
    priority: BudgetPriority,
  ): Promise<GraphReads<MessageContent>> {
    return this.#each(account, ids, (id) => this.#content(account, id, priority));
  }

  /**
   * Where messages are now. `null` for a message that does not exist.
   * @throws as `readContents`, and {BudgetExhaustedError} if some were not read for that reason
   */
  async places(
    account: ProviderAccount,
    ids: readonly string[],
    priority: BudgetPriority,
  ): Promise<GraphReads<GraphMessage>> {
    const query = { $select: PLACE_FIELDS };
    return this.#each(
      account,
      ids,
      (id) => {
        const path = `/messages/${encodeURIComponent(id)}`;
        const request = { method: 'GET', path, query, priority } as const;
        return nullIfGone(this.graph.read(account, request, graphMessage));
      },
      true,
    );
  }

  /** @param all whether all messages are needed */
  async #each<T>(
    account: ProviderAccount,
    ids: readonly string[],
    readOne: (id: string) => Promise<T | null>,
    all = false,
  ): Promise<GraphReads<T>> {
    const reads = new MessageReads<T | null>(isOfOneMessage);
    let exhausted: BudgetExhaustedError | undefined;
    await forEachAtOnce(AT_ONCE, ids, async (id) => {
      try {
        if (!exhausted) await reads.add(id, readOne(id));
      } catch (error) {
        if (all || !(error instanceof BudgetExhaustedError)) throw error;
        exhausted = error;
      }
    });
    if (reads.isNothing) await this.assertAnswers(account);
    else if (reads.read.size === 0 && exhausted) throw exhausted;
    return reads;
  }

  /** @throws {ProviderError} if Graph does not answer a request for something else */
  async assertAnswers(account: ProviderAccount): Promise<void> {
    const query = { $select: 'id' };
    const path = '/mailFolders/inbox';
    await this.graph.send(account, { method: 'GET', path, query, priority: 'interactive' });
  }

  /** @returns `null` if the message is gone */
  async #content(
    account: ProviderAccount,
    id: string,
    priority: BudgetPriority,
  ): Promise<MessageContent | null> {
    try {
      return { kind: 'mime', mime: await this.#mime(account, id, priority, WHOLE_BYTES) };
    } catch (error) {
      if (error instanceof ResponseTooLargeError)
        return { kind: 'parts', parts: await this.#parts(account, id, priority) };
      if (error instanceof GraphError && error.code === 'not-found') return null;
      throw error;
    }
  }

  /** @throws {ProviderError} `not-found` */
  fetchRaw(account: ProviderAccount, id: string): Promise<Buffer> {
    return this.#mime(account, id, 'interactive', RAW_BYTES);
  }

  /**
   * @param section the id of an attachment, or `#` and the position of an attachment in a message
   *   that was read whole
   * @throws {ProviderError} `not-found`
   */
  async openFile(account: ProviderAccount, id: string, section: string): Promise<Readable> {
    const position = POSITION.exec(section)?.[1];
    const bytes =
      position === undefined
        ? await this.#file(account, id, section)
        : await openAttachment(
            this.threads,
            account.accountId,
            await this.fetchRaw(account, id),
            Number(position),
          );
    if (!bytes) throw new ProviderError('not-found', 'The message has no such part');
    return Readable.from([bytes]);
  }

  async #mime(
    account: ProviderAccount,
    id: string,
    priority: BudgetPriority,
    maxBodyBytes: number,
  ): Promise<Buffer> {
    const path = `/messages/${encodeURIComponent(id)}/$value`;
    const request = { method: 'GET', path, priority, maxBodyBytes, deadlineMs: 120_000 } as const;
    return (await this.graph.send(account, request)).body;
  }

  async #file(account: ProviderAccount, id: string, section: string): Promise<Buffer> {
    const [message, file] = [id, section].map(encodeURIComponent);
    const path = `/messages/${message}/attachments/${file}/$value`;
    const limits = { maxBodyBytes: RAW_BYTES, deadlineMs: 120_000 };
    const request = { method: 'GET', path, priority: 'interactive', ...limits } as const;
    return (await this.graph.send(account, request)).body;
  }

  /** The header, the text and the list of files of a large message. */
  async #parts(
    account: ProviderAccount,
    id: string,
    priority: BudgetPriority,
  ): Promise<MessageParts> {
    const path = `/messages/${encodeURIComponent(id)}`;
    const maxBodyBytes = 32 * 1024 * 1024;
    const query = {
      $select: `${LIST_FIELDS},internetMessageHeaders,body`,
      $expand: EXPAND_HEADERS,
    };
    const request = { method: 'GET', path, query, priority, maxBodyBytes } as const;
    const message = await this.graph.read(account, request, largeMessage);
    const files = await this.graph.all(
      account,
      {
        method: 'GET',
        path: `${path}/attachments`,
        query: { $select: `id,name,contentType,size,isInline,${CONTENT_ID}` },
        priority,
      },
      attachment,
    );
    const headers = headerOf(message);
    const children = [bodyPart(message.body), ...files.slice(0, MOST_FILES).map(filePart)];
    const header = headerBlock([{ name: 'Content-Type', value: 'multipart/mixed' }]);
    const root = { section: '', header, children, size: 0, content: null, isDecoded: true };
    return { headers, root };
  }
}

/** Whether Graph may answer requests for other messages. */
export const isOfOneMessage = (error: unknown): error is ProviderError =>
  isOfOneObject(error) && !(error instanceof GraphError && error.isWithoutConsent);

/** Graph gives one text and has decoded it. */
function bodyPart(body: z.infer<typeof largeMessage>['body']): StoredPart {
  const type = body?.contentType?.toLowerCase() === 'html' ? 'text/html' : 'text/plain';
  const content = Buffer.from(body?.content ?? '');
  const header = headerBlock([{ name: 'Content-Type', value: `${type}; charset=utf-8` }]);
  return { section: '', header, children: null, size: content.length, content, isDecoded: true };
}

function filePart({ id, name, contentType, size, isInline, contentId }: GraphFile): StoredPart {
  const type = contentType ?? 'application/octet-stream';
  // A text without a name that is shown inline would be part of the body, which Graph has given.
  const isInlineFile = isInline === true && (Boolean(name) || !/^text\//i.test(type));
  const disposition = isInlineFile ? 'inline' : 'attachment';
  const filename = name ? `; filename*=utf-8''${encodeURIComponent(name.toWellFormed())}` : '';
  const header = headerBlock([
    { name: 'Content-Type', value: type },
    { name: 'Content-Disposition', value: `${disposition}${filename}` },
    ...(contentId ? [{ name: 'Content-ID', value: contentId }] : []),
  ]);
  return { section: id, header, children: null, size: size ?? 0, content: null, isDecoded: true };
}

/**
 * The header of a message. Exchange keeps header fields of received messages only; for others, the
 * properties that it has instead are written as fields.
 */
function headerOf(message: z.infer<typeof largeMessage>): Buffer {
  const { internetMessageHeaders, singleValueExtendedProperties } = message;
  const given = internetMessageHeaders ?? [];
  const names = new Set(given.map(({ name }) => name.toLowerCase()));
  const others = [...headersOf(message), ...headersOfProperties(singleValueExtendedProperties)];
  return headerBlock([...given, ...others.filter(({ name }) => !names.has(name.toLowerCase()))]);
}
