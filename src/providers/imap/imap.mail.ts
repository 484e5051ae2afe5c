import type {
  MessageIdsRequest,
  SyncPassRequest,
  MailPort,
  MailWatcher,
  OutgoingMessage,
  ProviderAccount,
  ReadRequest,
  SendControl,
  SentLookup,
  SentTraces,
} from '../port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { SmtpSender } from '../smtp/smtp-sender.ts';
import { settingsOf, smtpServerOf } from './imap.settings.ts';
import { ImapAudit } from './changes/imap-audit.ts';
import { fileAmongSent, isAmongSent, likeAmongSent } from './messages/imap-sent.ts';
import type { ImapSessions } from './sessions/imap-sessions.ts';
import { watchInbox } from './sessions/imap-watch.ts';

export type MailReader = Pick<MailPort, 'listChanges' | 'fetchRaw' | 'openFile'>;

/** Mail of accounts at any server: sent by SMTP, read by IMAP. */
export class ImapMail implements MailPort {
  readonly #audit: ImapAudit;

  constructor(
    private readonly sessions: ImapSessions,
    private readonly smtp: SmtpSender,
    private readonly reader: MailReader,
  ) {
    this.#audit = new ImapAudit(sessions);
  }

  sendsTo(account: ProviderAccount): string {
    const { host, port } = smtpServerOf(account);
    return `${host.toLowerCase()}:${port}`;
  }

  async send(account: ProviderAccount, message: OutgoingMessage, control: SendControl) {
    const server = smtpServerOf(account);
    if (server.login && 'accessToken' in server.login && server.login.accessToken === '')
      throw new ProviderError('temporary', 'There is no access token for this account', {
        phase: 'connect',
      });
    return this.smtp.send(account.accountId, server, message, control);
  }

  /**
   * Searches the Sent folder, the folder of all messages, and the inbox. Not finding the message is
   * conclusive only if the server files sent messages itself, and the account has one of the first
   * two folders. Also, no message there may have the same recipients and subject, because a server
   * may replace Message-IDs. If the server files nothing, `fileSent` does, and only after the send
   * is known to have succeeded.
   */
  async findSent(
    account: ProviderAccount,
    messageIdHeader: string,
    traces?: SentTraces,
  ): Promise<SentLookup> {
    const filesSent = settingsOf(account).smtp_files_sent === true;
    return this.sessions.use(account, async (client) => {
      const found = await isAmongSent(client, messageIdHeader);
      if (found === true) return { found, conclusive: true };
      if (found === null || !filesSent || !traces) return { found: false, conclusive: false };
      const like = await likeAmongSent(client, messageIdHeader, traces);
      if (like === 'itself') return { found: true, conclusive: true };
      if (like === 'another') return { found: false, conclusive: false, similar: true };
      return { found: false, conclusive: like === 'none' };
    });
  }

  /**
   * Does nothing if the server files sent messages itself. Creates a Sent folder if there is none.
   */
  async fileSent(account: ProviderAccount, messageIdHeader: string, mime: Buffer) {
    if (settingsOf(account).smtp_files_sent === true) return;
    await this.fileRelayed(account, messageIdHeader, mime);
  }

  async fileRelayed(account: ProviderAccount, messageIdHeader: string, mime: Buffer) {
    await this.sessions.use(account, (client) => fileAmongSent(client, messageIdHeader, mime));
  }

  listChanges(account: ProviderAccount, request: SyncPassRequest) {
    return this.reader.listChanges(account, request);
  }

  fetchRaw(account: ProviderAccount, providerId: string) {
    return this.reader.fetchRaw(account, providerId);
  }

  openFile(account: ProviderAccount, providerId: string, section: string) {
    return this.reader.openFile(account, providerId, section);
  }

  listIds(account: ProviderAccount, request: MessageIdsRequest) {
    return this.#audit.listIds(account, request);
  }

  listFolders(account: ProviderAccount) {
    return this.#audit.listFolders(account);
  }

  countMessages(account: ProviderAccount) {
    return this.#audit.countMessages(account);
  }

  readMessages(account: ProviderAccount, request: ReadRequest) {
    return this.#audit.readMessages(account, request);
  }

  watch(account: ProviderAccount, watcher: MailWatcher) {
    return watchInbox(this.sessions, account, watcher);
  }
}
