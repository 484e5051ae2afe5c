import { parseParts } from '../../src/mail/parsing/mime-parser.ts';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageIds, ProviderAccount } from '../../src/providers/port/connector.ts';
import {
  codeOf,
  mimeOf,
  outgoing,
  Replica,
  sendControl,
  withFiles,
} from '../support/contract-tools.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import type { StubRequest } from '../support/remote-stub/messages.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { until } from '../support/until.ts';

const MB = 2 ** 20;
const YEAR = 365 * 86_400_000;

const mimeTo = (email: string, subject: string) =>
  `From: bo@elsewhere.test\r\nTo: ${email}\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@elsewhere.test>\r\n\r\nHi\r\n`;

const LOST_LINKS = [
  'syncStateNotFound',
  'resyncRequired',
  'UnknownError',
  'ErrorInvalidSyncStateData',
] as const;

const isFolderList = ({ path }: StubRequest) => path.endsWith('/mailFolders/delta');
const isSendMail = ({ path }: StubRequest) => path.endsWith('/sendMail');
const isPiece = ({ method, path }: StubRequest) =>
  method === 'PUT' && path.includes('/upload-sessions/');

describe('mail of Microsoft accounts', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterAll(() => fixture.stop());
  afterEach(() => {
    fixture.stub.faults.clear();
    expectDocumented(fixture.stub);
  });

  const mailboxOf = ({ email }: ProviderAccount) => fixture.stub.user(email).mailbox;
  const put = ({ email }: ProviderAccount, subject: string, options = {}) =>
    fixture.stub.put(email, mimeTo(email, subject), options);
  async function followed(account: ProviderAccount): Promise<Replica> {
    const replica = new Replica(fixture.connector.mail, account);
    await replica.follow();
    return replica;
  }
  const idsIn = (replica: Replica, name: string) =>
    replica.inFolder(replica.standard(name).providerId).map(({ providerId }) => providerId);

  describe('the mirror', () => {
    it('lists history with its headers and fetches contents on request', async () => {
      const account = fixture.account();
      const received = new Date(Date.now() - YEAR);
      const created = fixture.stub.now;
      fixture.stub.now = () => received.getTime();
      for (let n = 0; n < 60; n++) await put(account, `old-${n}`, { received });
      fixture.stub.now = created;
      const { mail } = fixture.connector;
      const replica = new Replica(mail, account);
      const listed: string[] = [];
      let cursor: string | null = null;
      for (let more = true; more;) {
        const request = { cursor, limit: 100, since: null, known: async () => [] };
        const changes = await mail.listChanges(account, request);
        for (const { providerId, content } of changes.messages) {
          if (content?.kind !== 'listed') continue;
          listed.push(providerId);
          expect(String(content.headers)).toContain('From: <bo@elsewhere.test>');
          expect(String(content.headers)).toMatch(/Subject: old-\d+\r\n/);
          expect(content.snippet).toBe('Hi');
        }
        ({ cursor, more } = changes);
      }
      expect(listed).toHaveLength(60);
      const some = { providerIds: listed.slice(0, 5), content: true, priority: 'history' } as const;
      const fetched = await mail.readMessages(account, some);
      for (const id of some.providerIds)
        expect(fetched.get(id)?.content).toMatchObject({ kind: 'mime' });
      await replica.follow();
      expect(replica.messages.size).toBe(60);
    });

    it('keeps the star and the date of a message that is only reported as read', async () => {
      const account = fixture.account();
      const message = await put(account, 'starred');
      mailboxOf(account).update(message, { flag: { flagStatus: 'flagged' } });
      const replica = await followed(account);
      const before = replica.messages.get(message.immutableId);
      mailboxOf(account).update(message, { isRead: true });
      await replica.follow();
      expect(before).toMatchObject({ unread: true, starred: true });
      expect(replica.messages.get(message.immutableId)).toEqual({ ...before, unread: false });
    });

    it('reads a draft again that was edited in Outlook, with its hidden recipients, until it is sent', async () => {
      const account = fixture.account();
      const draft = await put(account, 'plan', { folder: 'drafts', isDraft: true });
      const replica = await followed(account);
      const mailbox = mailboxOf(account);
      const text = () => String(mimeOf(replica.messages.get(draft.immutableId)));
      const edit = (content: string, bcc: readonly string[] = []) =>
        mailbox.update(draft, {
          body: { contentType: 'text', content },
          bcc: bcc.map((address) => ({ name: '', address })),
          mime: null,
        });
      edit('Dinner at eight', ['eve@elsewhere.test']);
      await replica.follow();
      expect(text()).toContain('Dinner at eight');
      expect(text()).toMatch(/^Bcc: .*eve@elsewhere\.test/m);
      edit('Dinner at nine');
      mailbox.update(draft, { isDraft: false, sent: new Date(fixture.stub.now()) });
      mailbox.move(draft, mailbox.folderId('sentitems'));
      await replica.follow();
      expect(text()).toContain('Dinner at nine');
      expect(idsIn(replica, 'sent')).toEqual([draft.immutableId]);
    });

    it.each(LOST_LINKS)(
      'lists a folder again and finds what changed when Graph answers %s to an old link',
      async (code) => {
        const account = fixture.account();
        const [kept, deleted] = [await put(account, `kept-${code}`), await put(account, 'deleted')];
        const replica = await followed(account);
        mailboxOf(account).remove(deleted);
        const added = await put(account, `added-${code}`);
        fixture.stub.expireDeltaLinks(code);
        await replica.follow();
        expect(new Set(idsIn(replica, 'inbox'))).toEqual(
          new Set([kept.immutableId, added.immutableId]),
        );
        expect(String(mimeOf(replica.messages.get(added.immutableId)))).toContain('Hi');
      },
    );

    it('shows a move that Graph does not report, and the audit finds a deletion that it hides', async () => {
      const account = fixture.account();
      const [moved, deleted] = [await put(account, 'moved'), await put(account, 'hidden')];
      const replica = await followed(account);
      const mailbox = mailboxOf(account);
      mailbox.movesVanish = true;
      mailbox.move(moved, mailbox.folderId('archive'));
      mailbox.move(deleted, mailbox.folderId('recoverableitemsdeletions'));
      await replica.follow();
      expect(idsIn(replica, 'archive')).toEqual([moved.immutableId]);
      expect(idsIn(replica, 'inbox')).toEqual([deleted.immutableId]);
      const { mail } = fixture.connector;
      const folderId = replica.standard('inbox').providerId;
      const window = { folderId, since: null, until: null, cursor: null, limit: 10 };
      expect(await mail.listIds(account, window)).toEqual({ ids: [], cursor: null });
      const id = deleted.immutableId;
      const asked = { providerIds: [id], content: false, priority: 'history' } as const;
      expect(await mail.readMessages(account, asked)).toEqual(new Map([[id, null]]));
    });

    it('lists all ids of a folder although Graph returns shorter pages than requested', async () => {
      const account = fixture.account();
      const ids: string[] = [];
      for (const subject of ['one', 'two', 'three', 'four', 'five'])
        ids.push((await put(account, subject)).immutableId);
      const replica = await followed(account);
      const { settings } = fixture.stub;
      settings.messagesPerPage = 2;
      const { mail } = fixture.connector;
      const folder = { folderId: replica.standard('inbox').providerId, since: null, until: null };
      const listed: string[] = [];
      let cursor: string | null = null;
      do {
        const page: MessageIds = await mail.listIds(account, { ...folder, cursor, limit: 1_000 });
        listed.push(...page.ids);
        ({ cursor } = page);
      } while (cursor !== null);
      settings.messagesPerPage = 1_000;
      expect(new Set(listed)).toEqual(new Set(ids));
    });

    it('removes a message that Outlook deleted for good', async () => {
      const account = fixture.account();
      const message = await put(account, 'deleted');
      const replica = await followed(account);
      const mailbox = mailboxOf(account);
      mailbox.move(message, mailbox.folderId('recoverableitemsdeletions'));
      await replica.follow();
      expect(replica.messages.size).toBe(0);
    });

    it('follows folders that are created, filled, renamed, moved and deleted in Outlook', async () => {
      const account = fixture.account();
      const message = await put(account, 'filed');
      const replica = await followed(account);
      const mailbox = mailboxOf(account);
      const above = mailbox.createFolder('Projects');
      const folder = mailbox.createFolder('Plans', above.id);
      mailbox.move(message, folder.id);
      await replica.follow();
      expect(replica.named('Projects/Plans')?.providerId).toBe(folder.id);
      expect(replica.inFolder(folder.id).map(({ providerId }) => providerId)).toEqual([
        message.immutableId,
      ]);
      mailbox.updateFolder(folder, {
        displayName: 'Old plans',
        parentId: mailbox.folderId('archive'),
      });
      await replica.follow();
      expect(replica.named('Archive/Old plans')?.providerId).toBe(folder.id);
      expect(replica.inFolder(folder.id)).toHaveLength(1);
      mailbox.deleteFolder(folder);
      await replica.follow();
      expect(replica.named('Archive/Old plans')).toBeUndefined();
      expect(replica.messages.size).toBe(0);
    });

    it('goes on after errors of the server', async () => {
      const account = fixture.account();
      await put(account, 'patient');
      for (const status of [500, 503, 429]) {
        const answer = { status, headers: { 'retry-after': '1' } };
        fixture.stub.faults.add({ match: isFolderList, answer });
      }
      const replica = new Replica(fixture.connector.mail, account);
      const follow = () => codeOf(replica.follow());
      expect([await follow(), await follow(), await follow()]).toEqual([
        'temporary',
        'temporary',
        'rate-limited',
      ]);
      await until('the pause to end', async () => (await follow()) === 'succeeded');
      expect(replica.messages.size).toBe(1);
    });

    it.each([
      ['403', { status: 403, body: { error: { code: 'ErrorCorruptData', message: 'No' } } }],
      ['500', { status: 500 }],
      ['nothing', 'drop'],
    ] as const)(
      'does not wait for a message for which Graph always answers %s',
      async (_, answer) => {
        const account = fixture.account();
        const moved = await put(account, 'moved');
        const replica = await followed(account);
        const [poison, other] = [await put(account, 'poison'), await put(account, 'other')];
        const mailbox = mailboxOf(account);
        mailbox.move(moved, mailbox.folderId('archive'));
        const ids = [poison.immutableId, moved.immutableId];
        const match = ({ path }: StubRequest) =>
          ids.some((id) => decodeURIComponent(path).includes(`/messages/${id}`));
        fixture.stub.faults.add({ match, times: Infinity, answer });
        await replica.follow();
        expect(String(mimeOf(replica.messages.get(other.immutableId)))).toContain('Subject: other');
        const { content } = replica.messages.get(poison.immutableId) ?? {};
        expect(content).toMatchObject({ failed: expect.stringMatching(/^Microsoft: /) });
        expect(content?.kind === 'listed' && String(content.headers)).toContain('Subject: poison');
        expect([...replica.failures.keys()].toSorted()).toEqual(ids.toSorted());
        const providerIds = [poison.immutableId, other.immutableId];
        for (const content of [true, false]) {
          const request = { providerIds, content, priority: 'interactive' } as const;
          const read = await fixture.connector.mail.readMessages(account, request);
          expect(read.get(other.immutableId)?.failed).toBeUndefined();
          expect(read.get(poison.immutableId)).toMatchObject({
            content: null,
            failed: expect.stringMatching(/^Microsoft: /),
          });
        }
      },
    );

    it('fails if Graph answers nothing at all', async () => {
      const account = fixture.account();
      const replica = await followed(account);
      await put(account, 'news');
      const match = ({ path }: StubRequest) => /\/\$value$|\/mailFolders\/inbox$/.test(path);
      fixture.stub.faults.add({ match, times: Infinity, answer: { status: 503 } });
      expect(await codeOf(replica.follow())).toBe('temporary');
      expect([...replica.failures]).toEqual([]);
    });

    it('waits after a 429 that names no pause', async () => {
      const account = fixture.account();
      fixture.stub.faults.add({ match: isFolderList, answer: { status: 429 } });
      const replica = new Replica(fixture.connector.mail, account);
      expect(await codeOf(replica.follow())).toBe('rate-limited');
      const asked = fixture.stub.requests.length;
      expect(await codeOf(replica.follow())).toBe('rate-limited');
      expect(fixture.stub.requests.length).toBe(asked);
    });

    it('makes at most four requests for one mailbox at the same time', async () => {
      const account = fixture.account();
      const ids: string[] = [];
      for (let n = 0; n < 12; n++) ids.push((await put(account, `many-${n}`)).immutableId);
      fixture.stub.settings.latencyMs = 20;
      const { mail } = fixture.connector;
      await Promise.all([
        mail.readMessages(account, { providerIds: ids, content: true, priority: 'history' }),
        mail.readMessages(account, { providerIds: ids, content: true, priority: 'interactive' }),
        followed(account),
      ]);
      fixture.stub.settings.latencyMs = 0;
      const { mostConcurrent, refusals } = fixture.stub.world.quotas.useOf(account.email);
      expect([mostConcurrent, refusals]).toEqual([4, 0]);
    });
  });

  describe('sending', () => {
    const sentBy = ({ email }: ProviderAccount) =>
      fixture.stub.world.sent.filter(({ sender }) => sender === email);

    it.each(['drop-after-done', '504-after-done'] as const)(
      'does not know the outcome when the response is lost (%s), and finds the message in Sent Items',
      async (answer) => {
        const account = fixture.account();
        const message = outgoing(account, ['bo@elsewhere.test']);
        fixture.stub.faults.add({ match: isSendMail, answer });
        const { mail } = fixture.connector;
        expect(await codeOf(mail.send(account, message, sendControl()))).toBe('outcome-unknown');
        expect(await mail.findSent(account, message.messageIdHeader)).toMatchObject({
          found: true,
        });
        expect(sentBy(account)).toHaveLength(1);
      },
    );

    it('does not take a copy that is still missing in Sent Items as proof', async () => {
      const account = fixture.account();
      const message = outgoing(account, ['bo@elsewhere.test']);
      fixture.stub.settings.sentDelayMs = 60_000;
      await fixture.connector.mail.send(account, message, sendControl());
      fixture.stub.settings.sentDelayMs = 0;
      expect(await fixture.connector.mail.findSent(account, message.messageIdHeader)).toEqual({
        found: false,
        conclusive: false,
      });
    });

    it('keeps a calendar invitation as it was composed', async () => {
      const [from, to] = [fixture.account(), fixture.account()];
      const message = outgoing(from, [to.email]);
      const calendar = 'Content-Type: text/calendar; method=REQUEST; charset=utf-8';
      const mime = message.mime
        .toString()
        .replace(/Content-Type: [^\r]*\r\n\r\n[^]*$/, `${calendar}\r\n\r\nBEGIN:VCALENDAR\r\n`);
      await fixture.connector.mail.send(
        from,
        { ...message, mime: Buffer.from(mime) },
        sendControl(),
      );
      const [sent] = sentBy(from);
      expect(String(sent?.mime)).toContain(calendar);
    });

    it('sends large messages with small and large files, and names the copy in Sent Items', async () => {
      const [from, to] = [fixture.account(), fixture.account()];
      const message = withFiles(from, to.email, [1_000, 2 * MB, 7 * MB]);
      const asked = await put(from, 'asked');
      const references = '<asked@elsewhere.test>';
      const reply = Buffer.from(
        `In-Reply-To: ${references}\r\nReferences: ${references}\r\n${message.mime}`,
      );
      const bcc = [{ email: 'hidden@elsewhere.test', name: '' }];
      const hidden = { ...message, mime: reply, bcc };
      const control = sendControl();
      const { stored } = await fixture.connector.mail.send(from, hidden, control);
      expect(control.phases).toEqual(['connect', 'login', 'envelope', 'content', 'confirmation']);
      const [sent] = sentBy(from);
      const { replacedIds } = fixture.stub.world;
      expect(replacedIds.get(sent?.internetMessageId ?? '')).toBe(message.messageIdHeader);
      expect(sent).toMatchObject({
        to: [to.email],
        bcc: ['hidden@elsewhere.test'],
      });
      const mailbox = mailboxOf(from);
      expect(stored?.threadId).toBe(asked.conversationId);
      expect(mailbox.message(stored?.providerId ?? '')?.folderId).toBe(
        mailbox.folderId('sentitems'),
      );
      const replica = await followed(to);
      const [copy] = replica.inFolder(replica.standard('inbox').providerId);
      if (copy?.content?.kind !== 'parts') throw new Error('the message is not read in parts');
      const { files } = parseParts(copy.content.parts);
      const sizes = files.map(({ size }) => size);
      expect(sizes).toEqual([1_000, 2 * MB, 7 * MB]);
      const section = files[2]?.section ?? '';
      const stream = await fixture.connector.mail.openFile(to, copy.providerId, section);
      expect((await buffer(stream)).equals(Buffer.alloc(7 * MB, 'file 2 '))).toBe(true);
    });

    it.each(['drop', 'drop-after-done', '504-after-done'] as const)(
      'continues an upload at the piece that is expected (%s)',
      async (answer) => {
        const account = fixture.account();
        const message = withFiles(account, 'bo@elsewhere.test', [8 * MB]);
        fixture.stub.faults.add({ match: isPiece, answer });
        await fixture.connector.mail.send(account, message, sendControl());
        const [sent] = sentBy(account);
        expect(sent?.mime.length).toBeGreaterThan(8 * MB);
        expect(mailboxOf(account).messagesIn(mailboxOf(account).folderId('drafts')).size).toBe(0);
      },
    );

    it('sends a large message once, although a crash left a part of it in the drafts', async () => {
      const account = fixture.account();
      const message = withFiles(account, 'bo@elsewhere.test', [4 * MB]);
      const half = withFiles(account, 'bo@elsewhere.test', []);
      const left = half.mime.toString().replace(half.messageIdHeader, message.messageIdHeader);
      await fixture.stub.put(account.email, left, { folder: 'drafts', isDraft: true });
      await fixture.connector.mail.send(account, message, sendControl());
      const mailbox = mailboxOf(account);
      expect(mailbox.messagesIn(mailbox.folderId('drafts')).size).toBe(0);
      expect(sentBy(account)).toHaveLength(1);
      expect(sentBy(account)[0]?.mime.length).toBeGreaterThan(4 * MB);
    });

    it('leaves no draft behind when a large message is stopped or refused', async () => {
      const account = fixture.account();
      const mailbox = mailboxOf(account);
      const drafts = () => mailbox.messagesIn(mailbox.folderId('drafts')).size;
      const message = withFiles(account, 'bo@elsewhere.test', [4 * MB]);
      const stopped = {
        ...sendControl(),
        onPhase(phase: string) {
          if (phase === 'confirmation') throw new Error('stopped');
        },
      };
      await expect(fixture.connector.mail.send(account, message, stopped)).rejects.toThrow(
        'stopped',
      );
      expect(drafts()).toBe(0);
      fixture.stub.faults.add({
        match: ({ path }) => path.endsWith('/send'),
        answer: { status: 403, body: { error: { code: 'ErrorSendAsDenied', message: 'No' } } },
      });
      expect(await codeOf(fixture.connector.mail.send(account, message, sendControl()))).toBe(
        'rejected',
      );
      expect([drafts(), sentBy(account)]).toEqual([0, []]);
    });

    it.each([0, 4 * MB])(
      'names the field `from` if Microsoft refuses the sender (a file of %i bytes)',
      async (bytes) => {
        const account = fixture.account();
        const { mail } = fixture.connector;
        const message = withFiles(account, 'bo@elsewhere.test', bytes > 0 ? [bytes] : []);
        const from = 'chief@contoso.test';
        const mime = Buffer.from(message.mime.toString().replace(account.email, from));
        const envelope = { ...message.envelope, from };
        await expect(
          mail.send(account, { ...message, mime, envelope }, sendControl()),
        ).rejects.toMatchObject({
          code: 'rejected',
          message: expect.stringContaining(`from: ${from} is not an address`),
        });
        expect(sentBy(account)).toEqual([]);
      },
    );

    it('sends from another address with the field `from`, and an invitation as it was composed', async () => {
      const account = fixture.account();
      const from = 'chief@contoso.test';
      fixture.stub.user(account.email).sendAs.add(from);
      const { requests } = fixture.stub;
      const before = requests.length;
      const send = async (change: (mime: string) => string) => {
        const message = withFiles(account, 'bo@elsewhere.test', []);
        const mime = Buffer.from(change(message.mime.toString().replace(account.email, from)));
        const envelope = { ...message.envelope, from };
        return fixture.connector.mail.send(account, { ...message, mime, envelope }, sendControl());
      };
      const { stored } = await send((mime) => mime);
      const mailbox = mailboxOf(account);
      expect(mailbox.message(stored?.providerId ?? '')).toMatchObject({
        isDraft: false,
        folderId: mailbox.folderId('sentitems'),
        from: { address: from },
      });
      expect(requests.slice(before).some(isSendMail)).toBe(false);
      await send((mime) => mime.replace('text/plain', 'text/calendar; method=REQUEST'));
      expect(requests.slice(before).filter(isSendMail)).toHaveLength(1);
    });

    it('files the copy of a message that a mailing service has sent, and not as a draft', async () => {
      const account = fixture.account();
      const { mime, messageIdHeader } = withFiles(account, 'bo@elsewhere.test', [1_000]);
      await fixture.connector.mail.fileRelayed(account, messageIdHeader, mime);
      const mailbox = mailboxOf(account);
      const [copy] = mailbox.messagesIn(mailbox.folderId('sentitems')).values();
      expect(copy).toMatchObject({ isDraft: false, internetMessageId: messageIdHeader });
      expect(copy?.attachments).toMatchObject([{ name: 'file-0.bin' }]);
    });

    it('stores a large draft once, and again if a crash left files out', async () => {
      const account = fixture.account();
      const { mailbox } = fixture.connector;
      const { mime, messageIdHeader } = withFiles(account, 'bo@elsewhere.test', [1_000, 4 * MB]);
      const draft = { mime, messageIdHeader };
      fixture.stub.faults.add({ match: isPiece, answer: { status: 403 }, times: 1 });
      expect(await codeOf(mailbox.saveDraft(account, draft, null))).toBe('rejected');
      const first = await mailbox.saveDraft(account, draft, null);
      expect(await mailbox.saveDraft(account, draft, null)).toEqual(first);
      const stored = mailboxOf(account).message(first.providerId);
      stored?.attachments.pop();
      const second = await mailbox.saveDraft(account, draft, null);
      expect(second).not.toEqual(first);
      expect(mailboxOf(account).message(second.providerId)?.attachments).toHaveLength(2);
    });
  });

  describe('other mailboxes', () => {
    it('opens a shared mailbox by its address, with the permissions for shared mailboxes', async () => {
      const { stub, connector } = fixture;
      const member = fixture.account();
      const email = `team-${member.email}`;
      stub.addUser(email, { kind: 'shared' }).members.add(member.email);
      const { accessToken } = stub.tokensFor(member.email, [
        'User.Read',
        'Mail.ReadWrite.Shared',
        'Mail.Send.Shared',
      ]);
      const shared = { ...member, email, accessToken, settings: { shared_mailbox: true } };
      expect(await connector.verify(shared)).toMatchObject({ email });
      const message = await stub.put(email, mimeTo(email, 'shared'));
      expect([...(await followed(shared)).messages.keys()]).toEqual([message.immutableId]);
      await connector.mail.send(shared, outgoing(shared, ['bo@elsewhere.test']), sendControl());
      expect(stub.world.sent.at(-1)).toMatchObject({ from: email });
    });

    it('refuses a mailbox that the user may not open, and an address of somebody else', async () => {
      const { stub, connector } = fixture;
      const [one, other] = [fixture.account(), fixture.account()];
      const shared = { ...one, email: other.email, settings: { shared_mailbox: true } };
      expect(await codeOf(connector.verify(shared))).toBe('auth-invalid');
      expect(await codeOf(connector.verify({ ...one, email: other.email }))).toBe('auth-invalid');
      expect(stub.user(other.email).mailbox.size).toBe(0);
    });

    it('refuses an address that has no mailbox at once', async () => {
      const one = fixture.account();
      const missing = { ...one, email: `no-${one.email}`, settings: { shared_mailbox: true } };
      expect(await codeOf(fixture.connector.verify(missing))).toBe('auth-invalid');
    });
  });
});

describe('quotas of Microsoft accounts', () => {
  it('sends no more messages in a minute than Exchange allows', async () => {
    const fixture = await MicrosoftFixture.start({ messages: { units: 30, seconds: 60 } });
    fixture.stub.settings.sendsPerMinute = 30;
    try {
      const account = fixture.account();
      const codes = new Set<string>();
      for (let n = 0; n < 40 && !codes.has('rate-limited'); n++) {
        const message = outgoing(account, ['bo@elsewhere.test']);
        codes.add(await codeOf(fixture.connector.mail.send(account, message, sendControl())));
      }
      expect(codes).toEqual(new Set(['succeeded', 'rate-limited']));
      expect(fixture.stub.world.quotas.useOf(account.email)).toMatchObject({ refusals: 0 });
      // Reading goes on.
      await new Replica(fixture.connector.mail, account).follow();
    } finally {
      await fixture.stop();
    }
  });
});
