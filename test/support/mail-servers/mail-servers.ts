import { randomUUID } from 'node:crypto';
import { ImapFlow } from 'imapflow';
import nodemailer from 'nodemailer';
import type { ImapSettings } from '../../../src/providers/imap/imap.settings.ts';
import { Dovecot } from './dovecot.ts';
import { Exim } from './exim.ts';
import { Issuer } from './issuer.ts';

/** Somebody with a mailbox. */
export interface MailUser {
  email: string;
  password: string;
}

/** How the servers are set up. */
export interface MailServersOptions {
  /** Whether there is an OAuth issuer whose tokens Dovecot accepts. Default false. */
  oauth?: boolean;
  /** Further lines of Dovecot's configuration. */
  dovecot?: string;
}

/**
 * Real servers: Dovecot (IMAP, LMTP, submission) and Exim, which takes mail for `example.test` from whoever logs in and
 * delivers it to Dovecot. Both use the certificate of the tests: see `trust.ts` for connections that check.
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
    // Started by root, Dovecot takes five seconds for its first login.
    const first = await servers.addUser();
    const client = await servers.client(first);
    await client.logout();
    return servers;
  }

  /** A new mailbox; a name of one's own is told apart by nobody but the caller. */
  async addUser(name = `user-${randomUUID().slice(0, 13)}`): Promise<MailUser> {
    const user = { email: `${name}@example.test`, password: `pw-${randomUUID()}` };
    await this.setPassword(user.email, user.password);
    return user;
  }

  async setPassword(email: string, password: string): Promise<void> {
    await this.dovecot.setUser(email, password);
    await this.exim.setUser(email, password);
  }

  /** Settings with which the account is connected, without TLS (the loopback is on the allow-list of the tests). */
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

  /** Another mail program: a plain client, logged in. The caller closes it. */
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

  /** Puts messages into an inbox by LMTP, as they are. */
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
