import { setTimeout as delay } from 'node:timers/promises';
import type { ImapFlow } from 'imapflow';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { createAccount, createApplication } from './factories.ts';
import { type MailUser, MailServers } from './mail-servers/mail-servers.ts';
import type { ServerProcess } from './server-process.ts';
import type { AcceptedMessage } from './smtp-sink-protocol.ts';
import { type Judge, TcpProxy } from './tcp-proxy.ts';
import { openWorldDatabase, WorkerWorld, type WorldDatabase } from './worker-world.ts';

/** How long the program waits for the response to a message. */
const CONFIRMATION_MS = 1_500;
const IMPATIENT = new URL('./impatient-smtp.mjs', import.meta.url).href;
/** How long the mail server takes to file a copy: shorter than the 15 s before a look-up. */
const LAG_MS = 7_000;

/** Options of a `RealMailWorld`. */
export interface RealMailOptions {
  accounts: number;
  /** Makes the judge of each SMTP conversation. */
  judgeNext: () => Judge;
}

/**
 * Worker processes of the built program that send by Exim, and look for sent messages in Dovecot.
 * The mail server files a copy of each message itself, but late. All messages go to one recipient.
 */
export class RealMailWorld extends WorkerWorld {
  readonly #senders = new Map<string, MailUser>();
  readonly #stopping = new AbortController();
  #filing: Promise<void> = Promise.resolve();

  private constructor(
    database: WorldDatabase,
    private readonly servers: MailServers,
    /** Between the program and Exim. */
    readonly smtp: TcpProxy,
    /** Between the program and Dovecot. */
    readonly imap: TcpProxy,
    readonly recipient: MailUser,
  ) {
    super(database);
    // The program logs its address.
    this.environment['LOG_LEVEL'] = 'info';
    this.environment['SMTP_CONFIRMATION_MS'] = String(CONFIRMATION_MS);
  }

  static async start({ accounts, judgeNext }: RealMailOptions): Promise<RealMailWorld> {
    const [database, servers] = await Promise.all([openWorldDatabase(), MailServers.start()]);
    const smtp = await TcpProxy.start(servers.exim.port, judgeNext);
    const imap = await TcpProxy.start(servers.dovecot.ports.imap);
    const world = new RealMailWorld(database, servers, smtp, imap, await servers.addUser());
    await world.#seed(accounts);
    world.#filing = world.#fileLate();
    world.invariants.begin();
    return world;
  }

  async #seed(accounts: number): Promise<void> {
    const seed = await createApp(
      loadConfig({ ...this.environment, ROLES: 'api', LOG_LEVEL: 'silent' }),
    );
    await seed.init();
    const application = await createApplication(seed);
    for (let index = 0; index < accounts; index += 1) {
      const user = await this.servers.addUser();
      const client = await this.servers.client(user);
      await client.mailboxCreate('Sent').catch(() => undefined);
      await client.logout();
      this.#senders.set(user.email, user);
      const settings = this.servers.settingsOf(user, {
        smtp_files_sent: true,
        smtp_port: this.smtp.port,
        imap_port: this.imap.port,
      });
      const account = await createAccount(seed, application, {
        provider: 'imap',
        email: user.email,
        settings: { ...settings },
      });
      this.accounts.push({ ...account, hasSentFolder: true });
    }
    await seed.close();
  }

  override startServer(environment: Record<string, string> = {}): Promise<ServerProcess> {
    return super.startServer(environment, { nodeArguments: ['--import', IMPATIENT] });
  }

  /** The messages in the inbox of the recipient. */
  async accepted(): Promise<AcceptedMessage[]> {
    const client = await this.servers.client(this.recipient);
    const { exists } = await client.mailboxOpen('INBOX');
    const found = exists === 0 ? [] : await client.fetchAll('1:*', { envelope: true });
    await client.logout();
    return found.map(({ envelope }) => ({
      messageId: envelope?.messageId ?? '',
      from: envelope?.from?.[0]?.address ?? '',
      recipients: [this.recipient.email],
      subject: envelope?.subject ?? '',
      at: new Date(envelope?.date ?? 0).getTime(),
    }));
  }

  /** Files a copy of each message some time after it has arrived, as the mail server would. */
  async #fileLate(): Promise<void> {
    const clients = new Map<string, ImapFlow>();
    const clientOf = async (user: MailUser) => {
      const client = clients.get(user.email) ?? (await this.servers.client(user));
      clients.set(user.email, client);
      return client;
    };
    const waiting: { sender: MailUser; source: Buffer; fileAt: number }[] = [];
    let nextUid = 1;
    while (!this.#stopping.signal.aborted) {
      const inbox = await clientOf(this.recipient);
      await inbox.mailboxOpen('INBOX');
      const range = `${nextUid}:*`;
      for await (const { uid, envelope, source } of inbox.fetch(
        range,
        { envelope: true, source: true },
        { uid: true },
      )) {
        const sender = this.#senders.get(envelope?.from?.[0]?.address ?? '');
        // The last message is always in the range "n:*".
        if (uid < nextUid || !sender || !source) continue;
        nextUid = uid + 1;
        waiting.push({ sender, source, fileAt: performance.now() + LAG_MS });
      }
      const due = waiting.filter(({ fileAt }) => fileAt <= performance.now());
      for (const { sender, source } of waiting.splice(0, due.length))
        await (await clientOf(sender)).append('Sent', source, ['\\Seen']);
      await delay(200);
    }
    for (const client of clients.values()) await client.logout();
  }

  override async close(): Promise<void> {
    this.#stopping.abort();
    await this.#filing;
    await super.close();
    await Promise.all([this.smtp.stop(), this.imap.stop()]);
    await this.servers.stop();
  }
}
