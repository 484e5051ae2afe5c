import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { ImapFlow } from 'imapflow';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import type {
  OutgoingMessage,
  ProviderAccount,
  SendControl,
  SentTraces,
} from '../../src/providers/port/connector.ts';
import type { ImapLimits } from '../../src/providers/imap/sessions/imap-limits.ts';
import { ImapSessions } from '../../src/providers/imap/sessions/imap-sessions.ts';
import { ImapMail, type MailReader } from '../../src/providers/imap/imap.mail.ts';
import type { ImapSettings } from '../../src/providers/imap/imap.settings.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { SmtpSender } from '../../src/providers/smtp/smtp-sender.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, type MailUser, mimeOf } from '../support/mail-servers/mail-servers.ts';
import { type Judge, TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

/** Not used, because these tests read no mail. */
const NO_READER = {} as MailReader;
const POLICY = new EgressPolicy(['127.0.0.0/8']);

describeWith(['dovecot', 'exim4'], 'mail of IMAP accounts', () => {
  let servers: MailServers;
  const open: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    servers = await MailServers.start();
  });
  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close();
  });
  afterAll(() => servers.stop());

  const portOf = (limits: Partial<ImapLimits> = {}) => {
    const sessions = new ImapSessions(POLICY, limits);
    const smtp = new SmtpSender(POLICY);
    open.push(
      () => sessions.close(),
      () => smtp.close(),
    );
    return { mail: new ImapMail(sessions, smtp, NO_READER), sessions };
  };
  const accountOf = (user: MailUser, overrides: Partial<ImapSettings> = {}): ProviderAccount => ({
    accountId: user.email,
    applicationId: 'app',
    email: user.email,
    name: '',
    organizationUnit: 'folder',
    settings: servers.settingsOf(user, overrides),
  });
  const clientOf = async (user: MailUser) => {
    const client = await servers.client(user);
    open.push(async () => client.close());
    return client;
  };

  describe('a message that is sent', () => {
    it('arrives, and leaves no copy at a server that files none', async () => {
      const [from, to] = [await servers.addUser(), await servers.addUser()];
      const { mail } = portOf();
      const message = letter(from, to);
      const receipt = await mail.send(accountOf(from), message, control());
      expect(receipt.accepted).toEqual([to.email]);
      const client = await clientOf(to);
      await until('the message to arrive', async () =>
        (await idsIn(client, 'INBOX')).includes(message.messageIdHeader),
      );
      expect(await idsIn(await clientOf(from), 'Sent')).toEqual([]);
    });

    it('is refused if the password for sending is wrong, without a verdict on the password for reading', async () => {
      const user = await servers.addUser();
      const { mail } = portOf();
      const account = accountOf(user, { smtp_password: 'wrong-1' });
      const error = await failureOf(mail.send(account, letter(user, user), control()));
      expect(error).toMatchObject({ code: 'auth-invalid', phase: 'login' });
      await expect(mail.findSent(account, '<x@here.test>')).resolves.toMatchObject({
        found: false,
      });
    });

    it('is not attempted without a token', async () => {
      const user = await servers.addUser();
      const account = accountOf(user, { imap_password: undefined, smtp_password: undefined });
      const error = await failureOf(portOf().mail.send(account, letter(user, user), control()));
      expect(error.code).toBe('temporary');
    });
  });

  describe('a message with an unknown outcome', () => {
    it('is found in the Sent folder, or in the inbox of its sender', async () => {
      const user = await servers.addUser();
      const { mail } = portOf();
      const [filed, returned] = [letter(user, user), letter(user, user)];
      await mail.fileSent(accountOf(user), filed.messageIdHeader, filed.mime);
      await servers.deliver(user, returned.mime);
      for (const { messageIdHeader } of [filed, returned])
        expect(await mail.findSent(accountOf(user), messageIdHeader)).toEqual({
          found: true,
          conclusive: true,
        });
    });

    it('counts as not sent only if it is missing at a server that files what it sends', async () => {
      const user = await servers.addUser();
      const { mail } = portOf();
      const filing = accountOf(user, { smtp_files_sent: true });
      const id = '<never@here.test>';
      const traces = { recipients: ['bo@here.test'], subject: 'Never', since: new Date() };
      const unknown = { found: false, conclusive: false };
      expect(await mail.findSent(accountOf(user), id, traces)).toEqual(unknown);
      expect(await mail.findSent(filing, id)).toEqual(unknown);
      expect(await mail.findSent(filing, id, traces)).toEqual({ found: false, conclusive: true });
      // Without a Sent folder nothing can prove that the message was not sent.
      const client = await clientOf(user);
      for (const { path } of await client.list()) {
        if (path === 'Sent') await client.mailboxRename('Sent', 'Elsewhere');
      }
      const hasSent = (await client.list()).some(({ specialUse }) => specialUse === '\\Sent');
      expect(await mail.findSent(filing, id, traces)).toEqual({
        found: false,
        conclusive: hasSent,
      });
    });

    it('may be one with the same recipients and subject, but not another message of ours', async () => {
      const user = await servers.addUser();
      const { mail } = portOf();
      const filing = accountOf(user, { smtp_files_sent: true });
      const since = new Date();
      const ours = letter(user, user);
      await mail.fileSent(accountOf(user), ours.messageIdHeader, ours.mime);
      const ownIdsAmong = async () => new Set([ours.messageIdHeader]);
      const subject = /^Subject: (.*)$/m.exec(ours.mime.toString())?.[1]?.trim() ?? null;
      const traces = { recipients: [user.email], subject, since };
      const look = (known: SentTraces) => mail.findSent(filing, '<lost@here.test>', known);
      expect(await look(traces)).toEqual({ found: false, conclusive: false, similar: true });
      expect(await look({ ...traces, ownIdsAmong })).toEqual({ found: false, conclusive: true });
      const theirs = letter(user, user);
      await mail.fileSent(accountOf(user), theirs.messageIdHeader, theirs.mime);
      expect(await look({ ...traces, ownIdsAmong })).toMatchObject({ similar: true });
    });

    it('cannot be looked up while the mailbox cannot be reached', async () => {
      const user = await servers.addUser();
      const error = await failureOf(
        portOf().mail.findSent(accountOf(user, { imap_port: 1 }), '<x@here.test>'),
      );
      expect(error.code).toBe('temporary');
    });
  });

  describe('the copy of a sent message', () => {
    it('is stored once and marked as read, however often it is filed', async () => {
      const user = await servers.addUser();
      const { mail } = portOf();
      const { messageIdHeader, mime } = letter(user, user);
      for (let n = 0; n < 3; n++) await mail.fileSent(accountOf(user), messageIdHeader, mime);
      const client = await clientOf(user);
      expect(await idsIn(client, 'Sent')).toEqual([messageIdHeader]);
      await client.mailboxOpen('Sent');
      const one = await client.fetchOne('1', { flags: true, source: true });
      expect(one && [...(one.flags ?? [])]).toContain('\\Seen');
      expect(one && one.source?.equals(mime)).toBe(true);
    });

    it('is left to a server that files copies itself', async () => {
      const user = await servers.addUser();
      const { messageIdHeader, mime } = letter(user, user);
      await portOf().mail.fileSent(
        accountOf(user, { smtp_files_sent: true }),
        messageIdHeader,
        mime,
      );
      expect(await idsIn(await clientOf(user), 'Sent')).toEqual([]);
    });

    it('is stored once even if the response to filing it was lost', async () => {
      const user = await servers.addUser();
      const { messageIdHeader, mime } = letter(user, user);
      let isLost = false;
      const proxy = await TcpProxy.start(servers.dovecot.ports.imap, () => ({ from, bytes }) => {
        if (from !== 'server' || isLost || !bytes.includes('APPENDUID')) return 'pass';
        isLost = true;
        return 'reset';
      });
      open.push(() => proxy.stop());
      const { mail } = portOf();
      const account = accountOf(user, { imap_port: proxy.port });
      expect((await failureOf(mail.fileSent(account, messageIdHeader, mime))).code).toBe(
        'temporary',
      );
      await mail.fileSent(account, messageIdHeader, mime);
      expect(isLost).toBe(true);
      expect(await idsIn(await clientOf(user), 'Sent')).toEqual([messageIdHeader]);
    });
  });

  describe('a watch on a mailbox', () => {
    const watch = async (mail: ImapMail, account: ProviderAccount) => {
      const reported = { changes: 0, ends: [] as (ProviderError | null)[] };
      const watched = await mail.watch(account, {
        onChange: () => void reported.changes++,
        onEnd: (error) => void reported.ends.push(error),
      });
      open.push(() => watched.stop());
      // Earlier changes are reported once.
      await until('the first call', async () => reported.changes === 1);
      return { reported, watched };
    };

    it('reports new messages, changed flags and deletions', async () => {
      const user = await servers.addUser();
      const { mail, sessions } = portOf();
      const { reported, watched } = await watch(mail, accountOf(user));
      await servers.deliver(user, mimeOf({ Subject: 'one' }));
      await until('the new message to be reported', async () => reported.changes >= 2);
      const client = await clientOf(user);
      await client.mailboxOpen('INBOX');
      let before = reported.changes;
      await client.messageFlagsAdd('1', ['\\Flagged']);
      await until('the flag to be reported', async () => reported.changes > before);
      before = reported.changes;
      await client.messageDelete('1');
      await until('the deletion to be reported', async () => reported.changes > before);
      await watched.stop();
      expect([sessions.size, reported.ends]).toEqual([0, []]);
    });

    it('continues after it was renewed and after a check that it is alive', async () => {
      const user = await servers.addUser();
      // The login must also finish within `watchSilenceMs`, and an IDLE of less than a second
      // counts as broken off.
      for (const limits of [{ watchRenewMs: 200 }, { watchSilenceMs: 3_000 }]) {
        const proxy = await TcpProxy.start(servers.dovecot.ports.imap, () => ({ from, bytes }) => {
          if (from === 'client' && bytes.includes('IDLE')) idles++;
          return 'pass';
        });
        open.push(() => proxy.stop());
        let idles = 0;
        const { reported } = await watch(
          portOf(limits).mail,
          accountOf(user, { imap_port: proxy.port }),
        );
        await until('IDLE to begin again', async () => idles >= 2);
        await servers.deliver(user, mimeOf({ Subject: 'one' }));
        await until('the message to be reported', async () => reported.changes >= 2);
        expect(reported.ends).toEqual([]);
      }
    });

    it('ends once, with a reason, when the connection breaks', async () => {
      const user = await servers.addUser();
      const proxy = await TcpProxy.start(servers.dovecot.ports.imap);
      open.push(() => proxy.stop());
      const { mail, sessions } = portOf();
      const { reported, watched } = await watch(mail, accountOf(user, { imap_port: proxy.port }));
      proxy.reset();
      await until('the end', async () => reported.ends.length > 0);
      expect(reported.ends).toEqual([expect.objectContaining({ code: 'temporary' })]);
      expect(sessions.size).toBe(0);
      await watched.stop();
      expect(reported.ends).toHaveLength(1);
    });

    it('ends when the server falls silent', async () => {
      const user = await servers.addUser();
      const proxy = await TcpProxy.start(servers.dovecot.ports.imap);
      open.push(() => proxy.stop());
      const { reported } = await watch(
        portOf({ watchSilenceMs: 3_000 }).mail,
        accountOf(user, { imap_port: proxy.port }),
      );
      proxy.block();
      await until('the end', async () => reported.ends.length > 0);
      expect(reported.ends).toEqual([expect.objectContaining({ code: 'temporary' })]);
    });

    it('ends when the server falls silent before it confirms IDLE', async () => {
      const user = await servers.addUser();
      let isIdle = false;
      const judge: Judge = ({ from, bytes }) => {
        isIdle ||= from === 'client' && bytes.toString('latin1').endsWith(' IDLE\r\n');
        return isIdle && from === 'server' ? 'swallow' : 'pass';
      };
      const proxy = await TcpProxy.start(servers.dovecot.ports.imap, () => judge);
      open.push(() => proxy.stop());
      const { reported } = await watch(
        portOf({ watchSilenceMs: 1_000 }).mail,
        accountOf(user, { imap_port: proxy.port }),
      );
      await until('the end', async () => reported.ends.length > 0, 15_000);
      expect(isIdle).toBe(true);
      expect(reported.ends).toEqual([expect.objectContaining({ code: 'temporary' })]);
    });

    it('ends when the server says BYE', async () => {
      const user = await servers.addUser();
      const { reported } = await watch(portOf().mail, accountOf(user));
      await servers.dovecot.doveadm('kick', user.email);
      await until('the end', async () => reported.ends.length > 0);
      expect(reported.ends).toHaveLength(1);
    });

    it('leaves connections of the account for other work', async () => {
      const user = await servers.addUser();
      const { mail, sessions } = portOf({ perAccount: 2, queueMs: 200 });
      await watch(mail, accountOf(user));
      await expect(mail.findSent(accountOf(user), '<x@here.test>')).resolves.toMatchObject({
        found: false,
      });
      const second = mail.watch(accountOf(user), {
        onChange: () => undefined,
        onEnd: () => undefined,
      });
      expect((await failureOf(second)).code).toBe('rate-limited');
      expect(sessions.size).toBe(2);
      const none = portOf({ perAccount: 1 }).mail.watch(accountOf(user), {
        onChange: () => undefined,
        onEnd: () => undefined,
      });
      expect((await failureOf(none)).code).toBe('unsupported');
    });

    it('is refused with a wrong password', async () => {
      const user = await servers.addUser();
      const account = accountOf(user, { imap_password: 'wrong-1' });
      const watched = portOf().mail.watch(account, {
        onChange: () => undefined,
        onEnd: () => undefined,
      });
      expect((await failureOf(watched)).code).toBe('auth-invalid');
    });
  });
});

describeWith(['dovecot', 'exim4'], 'a server without IDLE', () => {
  it('cannot be watched', async () => {
    const servers = await MailServers.start({
      dovecot: 'imap_capability = IMAP4rev1 LITERAL+ UIDPLUS',
    });
    const sessions = new ImapSessions(POLICY);
    try {
      const user = await servers.addUser();
      const account: ProviderAccount = {
        accountId: 'a',
        applicationId: 'app',
        email: user.email,
        name: '',
        organizationUnit: 'folder',
        settings: servers.settingsOf(user),
      };
      const mail = new ImapMail(sessions, new SmtpSender(POLICY), NO_READER);
      const watched = mail.watch(account, { onChange: () => undefined, onEnd: () => undefined });
      expect((await failureOf(watched)).code).toBe('unsupported');
      expect(sessions.size).toBe(0);
    } finally {
      await sessions.close();
      await servers.stop();
    }
  });
});

function letter(from: MailUser, to: MailUser): OutgoingMessage {
  const messageIdHeader = `<${randomUUID()}@here.test>`;
  const mime = Buffer.from(
    mimeOf({ From: from.email, To: to.email, 'Message-ID': messageIdHeader }),
  );
  return { messageIdHeader, mime, envelope: { from: from.email, recipients: [to.email] }, bcc: [] };
}

const control = (): SendControl => ({
  signal: new AbortController().signal,
  onPhase: () => undefined,
});

async function idsIn(client: ImapFlow, path: string): Promise<(string | undefined)[]> {
  const { exists } = await client.mailboxOpen(path);
  if (exists === 0) return [];
  const all = await client.fetchAll('1:*', { envelope: true });
  return all.map(({ envelope }) => envelope?.messageId);
}

async function failureOf(promise: Promise<unknown>): Promise<ProviderError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!('error' in outcome))
    throw new Error(`It did not fail, but returned ${JSON.stringify(outcome.value)}`);
  expect(outcome.error).toBeInstanceOf(ProviderError);
  return outcome.error as ProviderError;
}
