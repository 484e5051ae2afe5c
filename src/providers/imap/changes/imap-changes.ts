import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ImapFlow } from 'imapflow';
import { openAttachment } from '../../../formats/mime/open-attachment.ts';
import type { WorkThreads } from '../../../platform/threads/work-threads.ts';
import { KeyedLimit } from '../../../platform/base/concurrency/keyed-limit.ts';
import type { MailChanges, SyncPassRequest, ProviderAccount } from '../../port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { MailboxSyncPass } from './imap-sync-pass.ts';
import { answersWithin } from '../sessions/imap-connection.ts';
import { parseMessageId } from './imap-cursor.ts';
import { CONTENT_BYTES } from '../sessions/imap-input.ts';
import { decodedSection } from '../messages/imap-download.ts';
import { nodeAt } from '../messages/imap-parts.ts';
import { FatalMessages } from '../messages/imap-fatal-messages.ts';
import type { ImapSessions } from '../sessions/imap-sessions.ts';

const POSITION = /^#(\d+)$/;
/** A download lasts as long as its reader needs, up to this limit. */
const DOWNLOAD_LIMIT_MS = 30 * 60_000;

/**
 * Reads the content and the changes of an IMAP mailbox.
 *
 * The `providerId` of a message consists of its folder's path, UIDVALIDITY and UID. The
 * `providerId` of a folder is its path.
 */
export class ImapChanges {
  /**
   * Slow downloads must leave the account one connection for other work, besides the watching one.
   */
  readonly #downloads: KeyedLimit;

  constructor(
    private readonly sessions: ImapSessions,
    private readonly threads: WorkThreads,
  ) {
    this.#downloads = new KeyedLimit(Math.max(1, sessions.limits.perAccount - 2));
  }

  /**
   * Returns the changes since the cursor. The same cursor returns the same changes again, except
   * for messages that were deleted since. Changes made during the sync pass are never skipped.
   *
   * If the UIDVALIDITY of a folder has changed, its known messages are returned as removed, and its
   * current messages as new (RFC 9051 section 2.3.1.1). Those that the mirror recognises come
   * without their contents.
   *
   * With CONDSTORE (RFC 7162) every flag change is found. Without it, flags are re-read: in every
   * sync pass for the newest 200 messages of the inbox and of folders whose counts changed, and for
   * all other messages in rotation, one batch per sync pass.
   * @throws {ProviderError}
   */
  async listChanges(account: ProviderAccount, request: SyncPassRequest): Promise<MailChanges> {
    const fatal = new FatalMessages();
    return fatal.repeating(this.sessions, account, (client) =>
      new MailboxSyncPass(client, request, fatal).run(),
    );
  }

  /** @throws {ProviderError} `not-found` */
  async fetchRaw(account: ProviderAccount, providerId: string): Promise<Buffer> {
    return this.sessions.use(account, async (client) => {
      const uid = await openMessage(client, providerId);
      const message = await answersWithin(client, { literalBytes: CONTENT_BYTES }, () =>
        client.fetchOne(`${uid}`, { uid: true, source: true }, { uid: true }),
      );
      if (!message || !message.source) throw notFound();
      return message.source;
    });
  }

  /**
   * Streams the decoded bytes of an attachment.
   * @param section section of the message's structure (RFC 9051 section 6.4.5). For a message
   *   that was returned whole: `#` and the position of the file, as in `sortParts`
   * @throws {ProviderError} `not-found`
   * @throws {WorkLimitError} see `openAttachment`
   */
  async openFile(account: ProviderAccount, providerId: string, section: string): Promise<Readable> {
    const position = POSITION.exec(section)?.[1];
    if (position === undefined) return this.#download(account, providerId, section);
    const mime = await this.fetchRaw(account, providerId);
    const content = await openAttachment(this.threads, account.accountId, mime, Number(position));
    if (!content) throw notFound();
    return Readable.from([content]);
  }

  /**
   * Streams a section over a connection that stays in use until the stream ends. Further downloads
   * of the account wait.
   */
  #download(account: ProviderAccount, providerId: string, section: string): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const open = () =>
        this.sessions.use(
          account,
          async (client) => {
            const uid = await openMessage(client, providerId);
            const query = { uid: true, bodyStructure: true };
            const message = await client.fetchOne(`${uid}`, query, { uid: true });
            // Servers return a missing part as an empty one.
            const node = message && message.bodyStructure && nodeAt(message.bodyStructure, section);
            if (!node) throw notFound();
            const content = Readable.from(
              decodedSection(client, uid, section, node.encoding ?? ''),
            );
            resolve(content);
            // Failures are reported to the reader of the stream.
            await finished(content, { writable: false }).catch(() => undefined);
          },
          { limitMs: DOWNLOAD_LIMIT_MS },
        );
      this.#downloads.run(account.accountId, open).catch(reject);
    });
  }
}

/**
 * Opens the folder of a message for reading.
 * @returns the UID of the message
 * @throws {ProviderError} `not-found` if the folder was deleted or has another UIDVALIDITY
 */
async function openMessage(client: ImapFlow, providerId: string): Promise<number> {
  const location = parseMessageId(providerId);
  if (!location) throw notFound();
  try {
    const { uidValidity } = await client.mailboxOpen(location.path, { readOnly: true });
    if (uidValidity.toString() !== location.uidValidity) throw notFound();
  } catch (error) {
    throw (error as { mailboxMissing?: boolean }).mailboxMissing ? notFound() : error;
  }
  return location.uid;
}

const notFound = () =>
  new ProviderError(
    'not-found',
    'The mailbox has no such message, or the message has no such part',
  );
