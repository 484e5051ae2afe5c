import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { openAttachment } from '../../formats/mime/open-attachment.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type {
  MailPort,
  MessageIds,
  MessageIdsRequest,
  RemoteMessageState,
  OutgoingMessage,
  ProviderAccount,
  ReadMessage,
  ReadRequest,
  RemoteMessage,
  SendControl,
  SyncPassRequest,
} from '../port/connector.ts';
import {
  ProviderError,
  type RefusedRecipient,
  type SendPhase,
} from '../../platform/base/errors/provider-error.ts';
import type { SandboxFaults } from './sandbox.faults.ts';
import { type SandboxFolders, standardFolders } from './sandbox.folders.ts';
import type { Mailbox } from './sandbox.ids.ts';
import type { NewCopy, SandboxMailStore, StoredCopy } from './sandbox.mail-store.ts';
import { type Magic, magicOf } from './sandbox.magic.ts';
import { SAMPLES } from './sandbox.samples.ts';
import { login } from './sandbox.settings.ts';

/** Labels whose messages are not in "All Mail". */
const OUTSIDE_ALL = ['trash', 'spam'];

interface MagicRecipient {
  email: string;
  magic: Magic;
}

/**
 * Mail of the sandbox: one mailbox per address of an application. Mailboxes of an application
 * deliver to each other.
 */
export class SandboxMail implements MailPort {
  readonly #log = new Logger(SandboxMail.name);
  readonly #listeners = new Set<(mailbox: Mailbox) => void>();

  constructor(
    private readonly store: SandboxMailStore,
    private readonly folders: SandboxFolders,
    private readonly faults: SandboxFaults,
    private readonly clock: Clock,
    private readonly threads: WorkThreads,
  ) {}

  /**
   * Goes through the phases of an SMTP exchange. Magic recipients fail in the phase in which a real
   * server would.
   */
  async send(account: ProviderAccount, message: OutgoingMessage, { signal, onPhase }: SendControl) {
    const recipients = [
      ...new Set(message.envelope.recipients.map((email) => email.toLowerCase())),
    ];
    const magic = recipients.flatMap((email) => {
      const found = magicOf(email);
      return found ? [{ email, magic: found }] : [];
    });
    const enter = async (phase: SendPhase) => {
      onPhase(phase);
      await this.#fail(account, message, phase, magic);
    };
    await enter('connect');
    onPhase('login');
    const settings = login(account);
    await this.#fail(account, message, 'login', magic);
    await enter('envelope');
    const refused: RefusedRecipient[] = magic.flatMap(({ email, magic }) =>
      magic.kind === 'refuse' ? [{ email, reason: magic.reason }] : [],
    );
    const accepted = recipients.filter((email) => !refused.some((other) => other.email === email));
    if (accepted.length === 0) {
      const reason = refused[0]?.reason ?? '554 5.5.1 No valid recipients';
      throw new ProviderError('rejected', reason, { phase: 'envelope', refused });
    }
    await hold(magic, signal);
    await enter('content');
    const lost = await this.#lostAnswer(account, message, magic);
    onPhase('confirmation');
    if (!lost || lost.delivered) {
      await this.#deliver(account, message, accepted, settings.sent_copies !== false);
    }
    if (lost) {
      throw new ProviderError(
        'outcome-unknown',
        'The connection closed before the server confirmed',
        {
          phase: 'confirmation',
        },
      );
    }
    return {
      accepted,
      refused,
      deferred: [],
      response: `250 2.0.0 Ok: queued as ${message.messageIdHeader}`,
    };
  }

  async findSent(account: ProviderAccount, messageIdHeader: string) {
    const settings = login(account);
    const found = await this.store.hasSent(account, messageIdHeader);
    return { found, conclusive: found || settings.sent_copies !== false };
  }

  async fileRelayed(account: ProviderAccount, messageIdHeader: string, mime: Buffer) {
    login(account);
    const { applicationId, email } = account;
    const changed = await this.store.store(applicationId, messageIdHeader, mime, this.clock.now(), [
      { email, folder: 'sent', unread: false, extraHeaders: '' },
    ]);
    if (changed.length > 0) this.notify({ applicationId, email });
  }

  /**
   * The cursor is the mailbox's change counter. The first sync pass creates the sample messages, if
   * the settings ask for them.
   */
  async listChanges(account: ProviderAccount, { cursor, limit }: SyncPassRequest) {
    const settings = login(account);
    if (cursor === null && settings.sample_messages === true) await this.#addSamples(account);
    const since = Number(cursor ?? 0);
    // Folders are read first: the messages read afterwards then include every change up to the
    // folders' number.
    const { modseq, folders } = await this.folders.list(account);
    const { copies, more } = await this.store.changes(account, since, limit);
    const reached = copies.at(-1)?.modseq ?? since;
    return {
      cursor: String(more ? reached : Math.max(reached, modseq)),
      more,
      // Changes come oldest first here, so recent changes are complete only when nothing is left.
      present: !more,
      folders: cursor === null || modseq > since ? [...standardFolders(account), ...folders] : null,
      renamed: [],
      messages: copies.filter(({ deleted }) => !deleted).map((copy) => remoteOf(account, copy)),
      removed: copies.filter(({ deleted }) => deleted).map(({ id }) => id),
    };
  }

  async listIds(account: ProviderAccount, request: MessageIdsRequest): Promise<MessageIds> {
    login(account);
    const { folderId, cursor, limit } = request;
    const { folders } = await this.folders.list(account);
    if (![...standardFolders(account), ...folders].some((one) => one.providerId === folderId))
      throw new ProviderError('not-found', 'NO [NONEXISTENT] The mailbox does not exist');
    const ids = await this.store.ids(
      account,
      folderId === 'all' ? null : folderId,
      request,
      cursor,
      limit,
    );
    return { ids, cursor: ids.length < limit ? null : (ids.at(-1) ?? null) };
  }

  async listFolders(account: ProviderAccount) {
    login(account);
    const { folders } = await this.folders.list(account);
    return [...standardFolders(account), ...folders];
  }

  /** "All Mail" is left out. */
  async countMessages(account: ProviderAccount) {
    login(account);
    const { folders } = await this.folders.list(account);
    const counts = await this.store.counts(account);
    const ids = [...standardFolders(account), ...folders].map(({ providerId }) => providerId);
    return new Map(ids.filter((id) => id !== 'all').map((id) => [id, counts.get(id) ?? 0]));
  }

  async readMessages(
    account: ProviderAccount,
    { providerIds, content }: ReadRequest,
  ): Promise<Map<string, ReadMessage | null>> {
    login(account);
    const copies = await this.store.read(account, providerIds.filter(isId), content);
    const read = new Map<string, ReadMessage | null>(providerIds.map((id) => [id, null]));
    for (const copy of copies) {
      const { mime } = copy;
      const state = stateOf(account, copy);
      read.set(copy.id, { state, content: mime && { kind: 'mime', mime } });
    }
    return read;
  }

  async fetchRaw(account: ProviderAccount, providerId: string) {
    login(account);
    const mime = isId(providerId) ? await this.store.mime(account, providerId) : undefined;
    if (!mime) throw new ProviderError('not-found', 'The mailbox has no such message');
    return mime;
  }

  /**
   * `section` is `#` and the position among the attachments, as for every message that was fetched
   * whole.
   */
  async openFile(account: ProviderAccount, providerId: string, section: string) {
    const mime = await this.fetchRaw(account, providerId);
    const position = Number(section.replace(/^#/, ''));
    const content = await openAttachment(this.threads, account.accountId, mime, position);
    if (!content) throw new ProviderError('not-found', 'The message has no such attachment');
    return Readable.from([content]);
  }

  onChange(listener: (mailbox: Mailbox) => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #fail(
    account: ProviderAccount,
    message: OutgoingMessage,
    phase: SendPhase,
    recipients: readonly MagicRecipient[],
  ): Promise<void> {
    for (const { email, magic } of recipients) {
      if (magic.kind !== 'fail' || magic.phase !== phase) continue;
      if (await this.#strikes(magic.times, account, message, email)) throw magic.error();
    }
  }

  /** The reply is lost only once per message. Otherwise no later attempt would ever succeed. */
  async #lostAnswer(
    account: ProviderAccount,
    message: OutgoingMessage,
    recipients: readonly MagicRecipient[],
  ): Promise<{ delivered: boolean } | undefined> {
    for (const { email, magic } of recipients) {
      if (magic.kind === 'lose-answer' && (await this.#strikes(1, account, message, email)))
        return magic;
    }
    return undefined;
  }

  #strikes(
    times: number,
    account: ProviderAccount,
    message: OutgoingMessage,
    email: string,
  ): Promise<boolean> {
    return this.faults.strikes(
      times,
      account.applicationId,
      account.email,
      message.messageIdHeader,
      email,
    );
  }

  async #deliver(
    account: ProviderAccount,
    { messageIdHeader, mime, bcc }: OutgoingMessage,
    recipients: readonly string[],
    sentCopy: boolean,
  ): Promise<void> {
    const copies: NewCopy[] = recipients.map((email) => ({
      email,
      folder: 'inbox',
      unread: true,
      extraHeaders: '',
    }));
    if (sentCopy) {
      const extraHeaders =
        bcc.length > 0 ? `Bcc: ${bcc.map(({ email }) => `<${email}>`).join(',\r\n ')}\r\n` : '';
      copies.push({ email: account.email, folder: 'sent', unread: false, extraHeaders });
    }
    const { applicationId } = account;
    const changed = await this.store.store(
      applicationId,
      messageIdHeader,
      mime,
      this.clock.now(),
      copies,
    );
    for (const email of changed) this.notify({ applicationId, email });
  }

  async #addSamples(account: ProviderAccount): Promise<void> {
    const now = this.clock.now();
    for (const sample of SAMPLES) {
      const { messageIdHeader, mime, receivedAt } = sample(account, now);
      await this.store.store(account.applicationId, messageIdHeader, mime, receivedAt, [
        { email: account.email, folder: 'inbox', unread: true, extraHeaders: '' },
      ]);
    }
  }

  /** Notifies the listeners that a mailbox has changed. */
  notify({ applicationId, email }: Mailbox): void {
    const mailbox = { applicationId, email };
    for (const listener of this.#listeners) {
      try {
        listener(mailbox);
      } catch (error) {
        this.#log.error(error);
      }
    }
  }
}

function remoteOf(account: ProviderAccount, copy: StoredCopy): RemoteMessage {
  const { mime } = copy;
  return { ...stateOf(account, copy), content: mime && { kind: 'mime', mime } };
}

function stateOf(account: ProviderAccount, copy: StoredCopy): RemoteMessageState {
  const { id, folders, receivedAt, unread, starred } = copy;
  return { providerId: id, folderIds: foldersFor(account, folders), receivedAt, unread, starred };
}

function foldersFor(
  { organizationUnit }: ProviderAccount,
  folders: readonly string[],
): readonly string[] {
  if (organizationUnit === 'folder' || folders.some((name) => OUTSIDE_ALL.includes(name)))
    return folders;
  return [...new Set([...folders, 'all'])];
}

/**
 * Waits as long as magic recipients request. This is the last point at which the send can be
 * aborted without a trace.
 * @throws {ProviderError} `temporary` if it was aborted
 */
async function hold(recipients: readonly MagicRecipient[], signal: AbortSignal): Promise<void> {
  const seconds = Math.max(
    0,
    ...recipients.map(({ magic }) => (magic.kind === 'delay' ? magic.seconds : 0)),
  );
  try {
    if (seconds > 0) await delay(seconds * 1000, undefined, { signal });
    signal.throwIfAborted();
  } catch (cause) {
    throw new ProviderError('temporary', 'The send was aborted before the content was sent', {
      phase: 'envelope',
      cause,
    });
  }
}
