import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import type { ImapFlow } from 'imapflow';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { ImapChanges } from '../../src/providers/imap/changes/imap-changes.ts';
import { ImapMailbox } from '../../src/providers/imap/messages/imap-mailbox.ts';
import { ImapSessions } from '../../src/providers/imap/sessions/imap-sessions.ts';
import { ImapProxy, type ImapProxyOptions } from './imap-proxy.ts';
import { ImapReplica } from './imap-replica.ts';
import { MailServers } from './mail-servers/mail-servers.ts';

/** A mailbox on a real server with two clients: the product, and another mail program. */
export interface Correspondent {
  account: ProviderAccount;
  changes: ImapChanges;
  mailbox: ImapMailbox;
  sessions: ImapSessions;
  /** Another mail program, logged in to the same mailbox. */
  other: ImapFlow;
  /** The proxy through which the product connects. */
  proxy: ImapProxy;
  deliver(...mimes: readonly (string | Buffer)[]): Promise<void>;
  replica(options?: ConstructorParameters<typeof ImapReplica>[2]): ImapReplica;
}

/** A real server for a suite, and mailboxes for its tests. */
export class ImapFixture {
  /** Worker threads that parse the messages of every mailbox. */
  readonly threads = new WorkThreads();
  readonly #closing: (() => Promise<void>)[] = [];

  private constructor(readonly servers: MailServers) {}

  static async start(): Promise<ImapFixture> {
    return new ImapFixture(await MailServers.start());
  }

  /** Creates an empty mailbox that no other test uses. */
  async correspondent(options: ImapProxyOptions = {}): Promise<Correspondent> {
    const user = await this.servers.addUser();
    const proxy = await ImapProxy.start(this.servers.dovecot.ports.imap, options);
    const sessions = new ImapSessions(new EgressPolicy(['127.0.0.0/8']));
    const other = await this.servers.client(user);
    this.#closing.push(async () => {
      await sessions.close();
      other.close();
      await proxy.stop();
    });
    const account: ProviderAccount = {
      accountId: user.email,
      applicationId: 'application',
      email: user.email,
      name: '',
      organizationUnit: 'folder',
      settings: { ...this.servers.settingsOf(user, { imap_port: proxy.port }) },
    };
    const changes = new ImapChanges(sessions, this.threads);
    return {
      account,
      changes,
      mailbox: new ImapMailbox(sessions),
      sessions,
      other,
      proxy,
      deliver: (...mimes) => this.servers.deliver(user, ...mimes),
      replica: (replicaOptions) => new ImapReplica(changes, account, replicaOptions),
    };
  }

  /** Closes everything that the tests have opened so far. */
  async closeAll(): Promise<void> {
    for (const close of this.#closing.splice(0)) await close();
  }

  async stop(): Promise<void> {
    await this.closeAll();
    await this.threads.close();
    await this.servers.stop();
  }
}
