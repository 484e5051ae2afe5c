import type { INestApplicationContext } from '@nestjs/common';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type {
  Connector,
  FailedMessage,
  MailboxPort,
  MailChanges,
  MailPort,
  ProviderAccount,
  ReadMessage,
  RemoteFolder,
  RemoteMessage,
  Stall,
  SyncPassRequest,
} from '../../src/providers/port/connector.ts';

/** A message of a `ListingMailbox`. */
export interface ListingMessage {
  providerId: string;
  threadId: string;
  folderIds: string[];
  receivedAt: Date;
  unread: boolean;
  starred: boolean;
  mime: Buffer;
}

/** How a `ListingMailbox` reports its history. */
export interface ListingOptions {
  /** `complete`: with contents; `headers`: listed with headers; `ids`: listed without headers. */
  history: 'complete' | 'headers' | 'ids';
  /** Whether changes of flags name the time of receipt. Default: true. */
  dated?: boolean;
}

const FOLDERS: RemoteFolder[] = ['inbox', 'sent', 'drafts', 'trash', 'spam'].map((name) => {
  return { providerId: name.toUpperCase(), name, displayName: name };
});

/** Seconds by which a listing without headers is wrong about the time of receipt. */
const ESTIMATE_SECONDS = 30;

const failedMessage = (providerId: string): FailedMessage => ({
  providerId,
  reason: 'Provider: 500 Backend Error',
});

/**
 * A mailbox in memory whose provider reports history as listed messages, with threads of its own.
 * It takes the place of the sandbox.
 */
export class ListingMailbox {
  readonly messages = new Map<string, ListingMessage>();
  /** Ids of each call of `readMessages`, with its priority. */
  readonly fetches: { ids: readonly string[]; priority: string }[] = [];
  /** Ids of each call of `fetchRaw`. */
  readonly raws: string[] = [];
  /** Called before each `readMessages`; it may throw. */
  onFetch: (ids: readonly string[], priority: string) => void | Promise<void> = () => undefined;
  /** Messages on which the provider fails: on their content, or on every request. */
  readonly failing = new Map<string, 'content' | 'all'>();
  /** Ends each pass before the history that is left. */
  stalled: Stall | null = null;
  /** Most contents that a call of `readMessages` returns. */
  mostContents = Infinity;
  readonly #log: { message: string; isNew: boolean }[] = [];
  readonly #removed: { at: number; providerId: string }[] = [];
  #folders = FOLDERS;

  constructor(private readonly options: ListingOptions) {}

  /** Replaces the connector of the sandbox. */
  install(app: INestApplicationContext, more: Partial<Connector> = {}): void {
    const connector = { name: 'sandbox', mail: this.mail, mailbox: this.mailbox, ...more };
    app.get(ConnectorRegistry).replace(connector as unknown as Connector);
  }

  /** Adds a message. Messages that are added before the first sync pass are history. */
  add(message: ListingMessage): void {
    this.messages.set(message.providerId, message);
    this.#log.push({ message: message.providerId, isNew: true });
  }

  change(providerId: string, change: Partial<ListingMessage>): void {
    const message = this.messages.get(providerId);
    if (!message) throw new Error(`the mailbox has no message ${providerId}`);
    Object.assign(message, change);
    this.#log.push({ message: providerId, isNew: false });
  }

  remove(providerId: string): void {
    this.messages.delete(providerId);
    this.#removed.push({ at: this.#log.length, providerId });
    this.#log.push({ message: providerId, isNew: false });
  }

  /** Adds a message that the provider never reports as new. */
  addUnreported(message: ListingMessage): void {
    this.messages.set(message.providerId, message);
  }

  /** Renames a label: its messages keep their ids. */
  rename(from: string, to: string): void {
    this.#folders = this.#folders.map((folder) =>
      folder.providerId === from ? { ...folder, providerId: to, displayName: to } : folder,
    );
  }

  /** Cursor: the end of the log when the history was begun, how much of it was read, and news. */
  #listChanges(request: SyncPassRequest): MailChanges {
    const [log = this.#log.length, read = 0, seen = log] = (request.cursor?.split(':') ?? []).map(
      Number,
    );
    const history = [...new Set(this.#log.slice(0, log).map(({ message }) => message))]
      .flatMap((id) => this.messages.get(id) ?? [])
      .toSorted((a, b) => b.receivedAt.getTime() - a.receivedAt.getTime());
    const page = this.stalled ? [] : history.slice(read, read + request.limit);
    const fresh = this.#log.slice(seen);
    const next = read + page.length;
    const ids = new Set(page.map(({ providerId }) => providerId));
    const news = [...new Set(fresh.map(({ message }) => message))].filter((id) => !ids.has(id));
    const failed = news.filter((id) => this.failing.get(id) === 'all' && this.messages.has(id));
    return {
      cursor: `${log}:${next}:${this.#log.length}`,
      more: next < history.length,
      present: true,
      folders: request.cursor === null ? this.#folders : null,
      renamed: [],
      messages: [
        ...page.map((message) => this.#remote(message, true)),
        ...news
          .filter((id) => !failed.includes(id))
          .flatMap((id) => this.messages.get(id) ?? [])
          .map((message) => this.#remote(message, false, fresh)),
      ],
      removed: this.#removed.filter(({ at }) => at >= seen).map(({ providerId }) => providerId),
      ...(failed.length > 0 ? { failed: failed.map(failedMessage) } : {}),
      ...(this.stalled ? { stalled: this.stalled } : {}),
    };
  }

  #remote(
    message: ListingMessage,
    isHistory: boolean,
    fresh: readonly { message: string; isNew: boolean }[] = [],
  ): RemoteMessage {
    const { mime, ...remote } = message;
    const { providerId, receivedAt } = message;
    const complete = { ...remote, content: { kind: 'mime' as const, mime } };
    if (isHistory && this.options.history === 'complete') return complete;
    if (isHistory) {
      const known = this.options.history === 'headers';
      const estimate = new Date(receivedAt.getTime() + (known ? 0 : ESTIMATE_SECONDS * 1000));
      const headers = known ? mime.subarray(0, mime.indexOf('\r\n\r\n') + 4) : null;
      const snippet = known ? 'The beginning of the text' : null;
      return {
        ...remote,
        receivedAt: estimate,
        content: { kind: 'listed', headers: headers && Buffer.from(headers), snippet },
      };
    }
    const isNew = fresh.some((one) => one.message === providerId && one.isNew);
    const dated = this.options.dated === false ? { receivedAt: new Date(0) } : {};
    const reason = this.failing.has(providerId) ? failedMessage(providerId).reason : undefined;
    if (isNew && reason !== undefined)
      return {
        ...remote,
        content: { kind: 'listed', headers: null, snippet: null, failed: reason },
      };
    return isNew ? complete : { ...remote, ...dated, content: null };
  }

  #message(providerId: string): ListingMessage {
    const message = this.messages.get(providerId);
    if (!message) throw new ProviderError('not-found', `no message ${providerId}`);
    return message;
  }

  readonly mail: Partial<MailPort> = {
    listChanges: (_: ProviderAccount, request) => Promise.resolve(this.#listChanges(request)),
    readMessages: async (_: ProviderAccount, { providerIds: ids, priority, content }) => {
      this.fetches.push({ ids, priority });
      await this.onFetch(ids, priority);
      const contents = ids.slice(0, this.mostContents).map((id): [string, ReadMessage | null] => {
        const message = this.messages.get(id);
        if (!message) return [id, null];
        const { mime, ...state } = message;
        const failing = this.failing.get(id);
        if (failing === 'all' || (failing && content))
          return [id, { content: null, state: null, failed: failedMessage(id).reason }];
        return [id, { content: content ? { kind: 'mime', mime } : null, state }];
      });
      return new Map(contents);
    },
    fetchRaw: (_: ProviderAccount, providerId) => {
      this.raws.push(providerId);
      return Promise.resolve(this.#message(providerId).mime);
    },
  };

  readonly mailbox: Partial<MailboxPort> = {
    setFlags: (_: ProviderAccount, providerId, flags) => {
      this.#message(providerId);
      this.change(providerId, flags);
      return Promise.resolve();
    },
    setFolders: (_: ProviderAccount, providerId, folderIds) => {
      this.#message(providerId);
      this.change(providerId, { folderIds: [...folderIds] });
      return Promise.resolve({ providerId });
    },
  };
}
