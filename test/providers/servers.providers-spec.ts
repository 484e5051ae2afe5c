import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ImapFlow } from 'imapflow';
import nodemailer from 'nodemailer';
import { startBrowser } from '../support/mail-servers/browser.ts';
import { startRadicale, startXandikos } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, mimeOf } from '../support/mail-servers/mail-servers.ts';
import { trustTestCertificate } from '../support/mail-servers/trust.ts';
import { until } from '../support/until.ts';

async function countIn(client: ImapFlow): Promise<number | undefined> {
  const status = await client.status('INBOX', { messages: true });
  return status ? status.messages : undefined;
}

/** Checks the servers that the other suites rely on. */
describeWith(['dovecot', 'exim4'], 'the mail servers of the tests', () => {
  trustTestCertificate();
  let servers: MailServers;
  beforeAll(async () => {
    servers = await MailServers.start({ oauth: true });
  });
  afterAll(() => servers.stop());

  it('carry a message from one mailbox to another', async () => {
    const [from, to] = [await servers.addUser(), await servers.addUser()];
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: servers.exim.port,
      ignoreTLS: true,
      auth: { user: from.email, pass: from.password },
    });
    await transport.sendMail({
      envelope: { from: from.email, to: [to.email] },
      raw: mimeOf({ From: from.email, To: to.email, Subject: 'Through Exim' }),
    });
    // No folder is opened, because the library reports remembered values for an open folder.
    const client = await servers.client(to);
    await until('the message', async () => (await countIn(client)) === 1);
    await client.logout();
  });

  it('keep delivered mail over a restart', async () => {
    const user = await servers.addUser();
    await servers.deliver(user, mimeOf({ Subject: 'one' }), mimeOf({ Subject: 'two' }));
    await servers.dovecot.end();
    await servers.dovecot.begin();
    const client = await servers.client(user);
    expect(await countIn(client)).toBe(2);
    await client.logout();
  });

  it("accept their issuer's tokens until they are revoked, over TLS with a verified certificate", async () => {
    const user = await servers.addUser();
    const tokens = await servers.issuer!.tokens(user.email);
    const login = async () => {
      const client = new ImapFlow({
        host: '127.0.0.1',
        port: servers.dovecot.ports.imaps,
        secure: true,
        auth: { user: user.email, accessToken: tokens.accessToken },
        logger: false,
      });
      client.on('error', () => undefined);
      await client.connect().finally(() => (client.usable ? undefined : client.close()));
      await client.logout();
    };
    await login();
    await servers.issuer!.revoke(tokens.accessToken);
    await expect(login()).rejects.toMatchObject({ authenticationFailed: true });
  });
});

describeWith(['radicale', 'xandikos', 'chromium'], 'the other servers of the tests', () => {
  it('answer requests', async () => {
    const [radicale, xandikos, browser] = await Promise.all([
      startRadicale(),
      startXandikos(),
      startBrowser(),
    ]);
    await radicale.addUser('alice', 'pw');
    const answer = await fetch(`${radicale.url}/alice/`, {
      method: 'PROPFIND',
      headers: { authorization: `Basic ${Buffer.from('alice:pw').toString('base64')}` },
    });
    expect(answer.status).toBe(207);
    expect((await fetch(`${xandikos.url}/alice/`, { method: 'PROPFIND' })).status).toBe(207);
    const page = await browser.newPage();
    await page.setContent('<h1>Good day</h1>');
    expect(await page.textContent('h1')).toBe('Good day');
    await Promise.all([radicale.stop(), xandikos.stop(), browser.close()]);
  });
});
