import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ImapFlow } from 'imapflow';
import { openAttachment } from '../../formats/mime/open-attachment.ts';
import type { WorkThreads } from '../../platform/threads/work-threads.ts';
import { KeyedLimit } from '../../platform/base/concurrency/keyed-limit.ts';
import type { MailChanges, MailLook, ProviderAccount } from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { MailboxLook } from './imap-changes-look.ts';
import { answersWithin } from './imap-connection.ts';
import { parseMessageId } from './imap-cursor.ts';
import { CONTENT_BYTES } from './imap-input.ts';
import { hasSection } from './imap-parts.ts';
import { Suspects } from './imap-fetch-suspects.ts';
import type { ImapSessions } from './imap-sessions.ts';

const POSITION = /^#(\d+)$/;
/** A download may take as long as its reader does, within reason. */
const DOWNLOAD_LIMIT_MS = 30 * 60_000;

/**
 * What is in an IMAP mailbox, and what happens there.
 *
 * A message's `providerId` is its folder's path, UIDVALIDITY and UID; a folder's is its path.
 */
export class ImapChanges {
  /** Whoever reads slowly must leave the account a connection for work, beside the one that watches. */
  readonly #downloads: KeyedLimit;

  constructor(
    private readonly sessions: ImapSessions,
    private readonly threads: WorkThreads,
  ) {
    this.#downloads = new KeyedLimit(Math.max(1, sessions.limits.perAccount - 2));
  }

  /**
   * Changes since the cursor. The same cursor gives the same again, as far as it is still there, and nothing that
   * happens meanwhile is skipped.
   *
   * With CONDSTORE (RFC 7162) every change of a flag is found. Without it flags are read again: the newest 200 messages of
   * the inbox and of folders whose counts changed at each look, all others in turn, a look's worth of messages at a time.
   * @throws {ProviderError}
   */
  async listChanges(account: ProviderAccount, look: MailLook): Promise<MailChanges> {
    const suspects = new Suspects();
    for (;;) {
      let connection: ImapFlow | undefined;
      try {
        return await this.sessions.use(account, (client) => {
          connection = client;
          return new MailboxLook(client, look, suspects).run();
        });
      } catch (error) {
        if (!connection || connection.usable || !suspects.isWorthAnotherLook()) throw error;
      }
    }
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
   * @param section of the message's structure (RFC 9051 6.4.5); or `#` and a position among the attachments that
   *   postal-mime finds in it, for a message that was given whole
   * @throws {ProviderError} `not-found`
   * @throws {WorkLimitError} as `openAttachment`
   */
  async openFile(account: ProviderAccount, providerId: string, section: string): Promise<Readable> {
    const position = POSITION.exec(section)?.[1];
    if (position === undefined) return this.#download(account, providerId, section);
    const mime = await this.fetchRaw(account, providerId);
    const content = await openAttachment(this.threads, account.accountId, mime, Number(position));
    if (!content) throw notFound();
    return Readable.from([content]);
  }

  /** The connection is the stream's until it ends; others wait for their turn. */
  #download(account: ProviderAccount, providerId: string, section: string): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const open = () =>
        this.sessions.use(
          account,
          async (client) => {
            const uid = await openMessage(client, providerId);
            const query = { uid: true, bodyStructure: true };
            const message = await client.fetchOne(`${uid}`, query, { uid: true });
            // Servers give a part that is not there as an empty one.
            if (!message || !message.bodyStructure || !hasSection(message.bodyStructure, section))
              throw notFound();
            const { content } = await client.download(`${uid}`, section, {
              uid: true,
              chunkSize: 512 * 1024,
            });
            if (!content) throw notFound();
            resolve(content);
            // What it fails with is told to whoever reads it.
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
 * @returns its UID
 * @throws {ProviderError} `not-found` when the folder is gone, or another one
 */
async function openMessage(client: ImapFlow, providerId: string): Promise<number> {
  const place = parseMessageId(providerId);
  if (!place) throw notFound();
  try {
    const { uidValidity } = await client.mailboxOpen(place.path, { readOnly: true });
    if (uidValidity.toString() !== place.uidValidity) throw notFound();
  } catch (error) {
    throw (error as { mailboxMissing?: boolean }).mailboxMissing ? notFound() : error;
  }
  return place.uid;
}

const notFound = () =>
  new ProviderError('not-found', 'There is no such message, or part of one, in the mailbox');
