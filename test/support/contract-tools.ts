import { randomUUID } from 'node:crypto';
import type {
  MailChanges,
  SyncPassRequest,
  MailPort,
  MessagePrefix,
  OutgoingMessage,
  ProviderAccount,
  ReadMessage,
  RemoteFolder,
  RemoteMessage,
  Stall,
} from '../../src/providers/port/connector.ts';
import type {
  ProviderErrorCode,
  SendPhase,
} from '../../src/platform/base/errors/provider-error.ts';
import { until } from './until.ts';

/**
 * A small message sent by an account. Its text contains its Message-ID, which providers may replace
 * in the header.
 */
export function outgoing(
  from: ProviderAccount,
  recipients: readonly string[],
  options: { bcc?: readonly string[]; messageIdHeader?: string; subject?: string } = {},
): OutgoingMessage {
  const messageIdHeader = options.messageIdHeader ?? `<${randomUUID()}@contract.test>`;
  const { bcc = [], subject = 'Contract' } = options;
  const mime = Buffer.from(
    [
      `From: <${from.email}>`,
      `To: ${recipients.map((email) => `<${email}>`).join(', ')}`,
      `Subject: ${subject}`,
      `Message-ID: ${messageIdHeader}`,
      'Date: Tue, 14 Nov 2023 22:13:20 +0000',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      `Good day, ${messageIdHeader}.`,
      '',
    ].join('\r\n'),
  );
  return {
    messageIdHeader,
    mime,
    envelope: { from: from.email, recipients: [...recipients, ...bcc] },
    bcc: bcc.map((email) => ({ email, name: '' })),
  };
}

/** A message with files of these sizes in bytes. */
export function withFiles(
  from: ProviderAccount,
  to: string,
  sizes: readonly number[],
): OutgoingMessage {
  const message = outgoing(from, [to]);
  const header = message.mime.toString().split('Content-Type:', 1)[0];
  const parts = sizes.map((size, index) => {
    const encoded = Buffer.alloc(size, `file ${index} `).toString('base64');
    const name = `file-${index}.bin`;
    return `Content-Type: application/octet-stream; name="${name}"\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="${name}"\r\n\r\n${encoded.replace(/.{76}/g, '$&\r\n')}`;
  });
  const body = ['Content-Type: text/plain\r\n\r\nSee the files.', ...parts]
    .map((part) => `--files\r\n${part}\r\n`)
    .join('');
  const mime = `${header}Content-Type: multipart/mixed; boundary=files\r\n\r\n${body}--files--\r\n`;
  return { ...message, mime: Buffer.from(mime) };
}

/**
 * Control of a send that is not interrupted. `phases` lists the phases that the provider reported.
 */
export function sendControl(signal: AbortSignal = new AbortController().signal) {
  const phases: SendPhase[] = [];
  return { phases, signal, onPhase: (phase: SendPhase) => void phases.push(phase) };
}

/** Most repetitions of a call. */
const MOST_TRIES = 5;

/** A port whose calls are repeated after passing errors, as the callers of ports do. */
export function patient<T extends object>(port: T): T {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...given: unknown[]) => unknown;
      return (...given: unknown[]) => {
        const result = method(...given);
        return result instanceof Promise ? repeated(result, () => method(...given)) : result;
      };
    },
  });
}

async function repeated(first: Promise<unknown>, call: () => unknown): Promise<unknown> {
  let result: unknown = first;
  for (let tries = 1; ; tries++) {
    try {
      return await result;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'temporary' || tries === MOST_TRIES) throw error;
      result = call();
    }
  }
}

/** A request for changes from a caller that has no messages yet and wants all of them. */
export function changesRequest(cursor: string | null, limit: number): SyncPassRequest {
  return { cursor, limit, since: null, known: () => Promise.resolve([]) };
}

/** The complete MIME text of a message, if the message came with it. */
export function mimeOf(message: RemoteMessage | undefined): Buffer | undefined {
  return message?.content?.kind === 'mime' ? message.content.mime : undefined;
}

/** A message's provider id after its folder was renamed. */
export function renamedMessage(providerId: string, prefix: MessagePrefix | null): string {
  return prefix && providerId.startsWith(prefix.from)
    ? prefix.to + providerId.slice(prefix.from.length)
    : providerId;
}

/** Reads all changes since the cursor, page by page. */
export async function allChanges(
  mail: MailPort,
  account: ProviderAccount,
  cursor: string | null = null,
  limit = 100,
): Promise<{
  cursor: string;
  messages: RemoteMessage[];
  pages: number;
  folders: readonly RemoteFolder[];
}> {
  const messages: RemoteMessage[] = [];
  let folders: readonly RemoteFolder[] = [];
  for (let pages = 1; ; pages++) {
    const changes: MailChanges = await mail.listChanges(account, changesRequest(cursor, limit));
    messages.push(...changes.messages);
    folders = changes.folders ?? folders;
    cursor = changes.cursor;
    if (!changes.more) return { cursor, messages, pages, folders };
  }
}

/** The error's code, or `succeeded` if the work did not fail. */
export async function codeOf(work: Promise<unknown>): Promise<ProviderErrorCode | 'succeeded'> {
  try {
    await work;
    return 'succeeded';
  } catch (error) {
    return (error as { code: ProviderErrorCode }).code;
  }
}

const hasContent = ({ content }: RemoteMessage): boolean =>
  content !== null && content.kind !== 'listed';
const UNREAD = { kind: 'listed', headers: null, snippet: null } as const;

/**
 * A copy of a mailbox, built from `listChanges` alone: what a mirror does, without a database. It
 * answers `known` and continues at the cursor of the last call.
 */
export class Replica {
  #cursor: string | null = null;
  folders: readonly RemoteFolder[] = [];
  /** Why the last `follow` ended early; `null` if it did not. */
  stall: Stall | null = null;
  /**
   * By `providerId`. A message keeps the content that an earlier call brought, unless it may have
   * been edited since.
   */
  readonly messages = new Map<string, RemoteMessage>();
  /** Why the provider failed on messages, by `providerId`, as it was last reported. */
  readonly failures = new Map<string, string>();
  /** Messages that came with their content, in order of arrival. */
  readonly arrivals: RemoteMessage[] = [];

  constructor(
    private readonly mail: MailPort,
    private readonly account: ProviderAccount,
  ) {}

  /** Reads all changes that there are. @returns how many calls that took */
  async follow(limit = 100): Promise<number> {
    for (let looks = 1; ; looks++) {
      const changes = await this.mail.listChanges(this.account, {
        cursor: this.#cursor,
        limit,
        since: null,
        known: (folderId) =>
          Promise.resolve(
            [...this.messages.values()]
              .filter(({ folderIds }) => folderIds.includes(folderId))
              .map(({ providerId }) => providerId),
          ),
      });
      this.#apply(changes);
      this.stall = changes.stalled ?? null;
      if (this.stall) return looks;
      if (changes.more) continue;
      await this.#complete();
      if (!changes.present)
        throw new Error('all changes were listed, but the mailbox is not up to date');
      return looks;
    }
  }

  /**
   * Reads changes until `probe` returns a value. Messages on which the provider failed are read
   * again, as the mirror does.
   */
  until<T>(
    what: string,
    probe: (replica: this) => T | undefined | null | false,
    limitMs = 60_000,
  ): Promise<T> {
    return until(
      what,
      async () => {
        await this.follow();
        const found = probe(this);
        if (!found) await this.#retry();
        return found;
      },
      limitMs,
    );
  }

  /** The standard folder of that name. @throws if the mailbox has none */
  standard(name: string): RemoteFolder {
    const folder = this.folders.find((one) => one.name === name);
    if (!folder) throw new Error(`the mailbox has no ${name}`);
    return folder;
  }

  named(displayName: string): RemoteFolder | undefined {
    return this.folders.find((folder) => folder.displayName === displayName);
  }

  /** Messages whose MIME text contains `text`. */
  withText(text: string): RemoteMessage[] {
    return [...this.messages.values()].filter((message) => mimeOf(message)?.includes(text));
  }

  inFolder(folderId: string): RemoteMessage[] {
    return [...this.messages.values()].filter(({ folderIds }) => folderIds.includes(folderId));
  }

  /** Requests the contents again on which the provider failed. */
  async #retry(): Promise<void> {
    for (const message of this.messages.values())
      if (message.content?.kind === 'listed')
        this.messages.set(message.providerId, { ...message, content: UNREAD });
    await this.#complete();
  }

  /** Fetches the contents of listed messages, as the mirror does after each run. */
  async #complete(): Promise<void> {
    for (;;) {
      const listed = [...this.messages.values()].filter(
        ({ content }) => content?.kind === 'listed' && content.failed === undefined,
      );
      if (listed.length === 0) return;
      const providerIds = listed.slice(0, 50).map(({ providerId }) => providerId);
      const request = { providerIds, content: true, priority: 'history' } as const;
      const fetched = await this.mail.readMessages?.(this.account, request);
      if (!fetched || fetched.size === 0) throw new Error('listed messages cannot be completed');
      for (const message of listed) {
        const got = fetched.get(message.providerId);
        if (got === null) this.messages.delete(message.providerId);
        if (!got) continue;
        this.messages.set(message.providerId, this.#completed(message, got));
      }
    }
  }

  #completed(message: RemoteMessage, { state, content, failed }: ReadMessage): RemoteMessage {
    const complete = { ...message, ...state };
    if (failed !== undefined) {
      this.failures.set(message.providerId, failed);
      return { ...complete, content: { kind: 'listed', headers: null, snippet: null, failed } };
    }
    this.arrivals.push({ ...complete, content });
    return { ...complete, content };
  }

  #apply({ cursor, folders, renamed, messages, removed, failed = [] }: MailChanges): void {
    for (const { providerId, reason } of failed) this.failures.set(providerId, reason);
    for (const { from, to, messagePrefix } of renamed) {
      for (const message of this.inFolder(from)) {
        this.messages.delete(message.providerId);
        const { providerId } = message;
        const moved = renamedMessage(providerId, messagePrefix);
        const folderIds = message.folderIds.map((id) => (id === from ? to : id));
        this.messages.set(moved, { ...message, providerId: moved, folderIds });
      }
    }
    this.folders = folders ?? this.folders;
    for (const message of messages) {
      const before = this.messages.get(message.providerId);
      if (message.content?.kind === 'listed' && message.content.failed !== undefined)
        this.failures.set(message.providerId, message.content.failed);
      if (hasContent(message) && !(before && hasContent(before))) this.arrivals.push(message);
      this.messages.set(message.providerId, {
        ...message,
        content: (message.mayBeEdited ? null : before?.content) ?? message.content,
      });
    }
    for (const id of removed) this.messages.delete(id);
    this.#cursor = cursor;
  }
}
