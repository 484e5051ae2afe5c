import { randomUUID } from 'node:crypto';
import { ImapFlow } from 'imapflow';
import nodemailer from 'nodemailer';
import type { ImapSettings } from '../../../src/providers/imap/imap.settings.ts';
import { Dovecot } from './dovecot.ts';
import { Exim } from './exim.ts';
import { Issuer } from './issuer.ts';

/** A user with a mailbox. */
export interface MailUser {
  email: string;
  password: string;
}

/** Options of `MailServers`. */
export interface MailServersOptions {
  /** Whether there is an OAuth issuer whose tokens Dovecot accepts; default: false. */
  oauth?: boolean;
  /** More lines for Dovecot's configuration. */
  dovecot?: string;
}

/**
 * Real mail servers. Dovecot offers IMAP, LMTP and submission. Exim accepts mail for `example.test`
 * from users who log in, and delivers it to Dovecot. Both use the test certificate; see `trust.ts`
 * for connections that check certificates.
 */
export class MailServers {
  readonly dovecot: Dovecot;
  readonly exim: Exim;
  readonly issuer: Issuer | null;

  private constructor(dovecot: Dovecot, exim: Exim, issuer: Issuer | null) {
    this.dovecot = dovecot;
    this.exim = exim;
    this.issuer = issuer;
  }

  static async start(options: MailServersOptions = {}): Promise<MailServers> {
    const issuer = options.oauth ? await Issuer.start() : null;
    const relayPort = await Exim.freePort();
    const dovecot = await Dovecot.start({
      relayPort,
      ...(issuer ? { issuerUrl: issuer.url } : {}),
      extra: options.dovecot ?? '',
    });
    const exim = await Exim.start(relayPort, () => dovecot.ports.lmtp);
    const servers = new MailServers(dovecot, exim, issuer);
    // When root starts Dovecot, its first login takes five seconds.
    const first = await servers.addUser();
    const client = await servers.client(first);
    await client.logout();
    return servers;
  }

  /**
   * Adds a user with a new mailbox.
   * @param name must be unique among the users of these servers
   */
  async addUser(name = `user-${randomUUID().slice(0, 13)}`): Promise<MailUser> {
    const user = { email: `${name}@example.test`, password: `pw-${randomUUID()}` };
    await this.setPassword(user.email, user.password);
    return user;
  }

  async setPassword(email: string, password: string): Promise<void> {
    await this.dovecot.setUser(email, password);
    await this.exim.setUser(email, password);
  }

  /** Account settings for the user, without TLS (the tests' allow-list contains loopback). */
  settingsOf({ email, password }: MailUser, overrides: Partial<ImapSettings> = {}): ImapSettings {
    return {
      imap_host: '127.0.0.1',
      imap_port: this.dovecot.ports.imap,
      imap_security: 'none',
      imap_username: email,
      imap_password: password,
      smtp_host: '127.0.0.1',
      smtp_port: this.exim.port,
      smtp_security: 'none',
      smtp_username: email,
      smtp_password: password,
      ...overrides,
    };
  }

  /** Another mail program: a plain IMAP client, logged in. The caller closes it. */
  async client({ email, password }: MailUser, port = this.dovecot.ports.imap): Promise<ImapFlow> {
    const client = new ImapFlow({
      host: '127.0.0.1',
      port,
      secure: false,
      doSTARTTLS: false,
      auth: { user: email, pass: password },
      logger: false,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      client.close();
      throw error;
    }
    return client;
  }

  /** Delivers messages to an inbox by LMTP, byte for byte. */
  async deliver({ email }: MailUser, ...mimes: readonly (string | Buffer)[]): Promise<void> {
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: this.dovecot.ports.lmtp,
      lmtp: true,
      pool: true,
      maxConnections: 1,
      maxMessages: Infinity,
      ignoreTLS: true,
    } as Parameters<typeof nodemailer.createTransport>[0]);
    try {
      for (const raw of mimes) {
        await transport.sendMail({
          envelope: { from: 'somebody@elsewhere.test', to: [email] },
          raw,
        });
      }
    } finally {
      transport.close();
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.dovecot.stop(), this.exim.stop(), this.issuer?.stop()]);
  }
}

/** A small message. */
export function mimeOf(
  headers: Record<string, string>,
  body = 'Good day.',
  contentType = 'text/plain; charset=utf-8',
): string {
  const all = {
    From: 'Somebody <somebody@elsewhere.test>',
    'Message-ID': `<${randomUUID()}@elsewhere.test>`,
    Date: new Date().toUTCString().replace('GMT', '+0000'),
    'MIME-Version': '1.0',
    'Content-Type': contentType,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [...lines, '', body, ''].join('\r\n');
}
