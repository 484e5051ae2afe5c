import { parseParts } from '../../src/mail/parsing/mime-parser.ts';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { OutgoingMessage, ProviderAccount } from '../../src/providers/port/connector.ts';
import {
  codeOf,
  mimeOf,
  outgoing,
  patient,
  Replica,
  sendControl,
} from '../support/contract-tools.ts';
import { GoogleFixture } from '../support/google-account.ts';
import type { StubRequest } from '../support/remote-stub/messages.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { until as eventually } from '../support/until.ts';

const MB = 2 ** 20;

const mimeTo = (email: string, subject: string) =>
  `From: bo@elsewhere.test\r\nTo: ${email}\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@elsewhere.test>\r\n\r\nHi\r\n`;

/** A message with a file of 5 MB. */
function large(from: ProviderAccount, to: string): OutgoingMessage {
  const message = outgoing(from, [to]);
  const header = message.mime.toString().split('Content-Type:', 1)[0];
  const encoded = Buffer.alloc(5 * MB, 'large ')
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n');
  const parts = [
    'Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße',
    `Content-Type: application/octet-stream; name="a.bin"\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="a.bin"\r\n\r\n${encoded}`,
  ];
  const body = parts.map((part) => `--large\r\n${part}\r\n`).join('');
  const mime = `${header}Content-Type: multipart/mixed; boundary=large\r\n\r\n${body}--large--\r\n`;
  return { ...message, mime: Buffer.from(mime) };
}

/** Whether a message is this one behind the header with Carillon's mark. */
const isWith = (raw: Buffer, mime: Buffer) =>
  raw.indexOf('X-Message-Mark: ') === 0 && raw.subarray(raw.indexOf('\n') + 1).equals(mime);

const isHistory = ({ path }: StubRequest) => path.endsWith('/history');
const isSend = ({ path }: StubRequest) => path.endsWith('/messages/send');
const errorOf = (code: number, reason: string) => ({
  status: code,
  body: {
    error: {
      code,
      message: 'Not now.',
      errors: [{ message: 'Not now.', domain: 'global', reason }],
    },
  },
});

describe('mail of Google accounts', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  beforeEach(() => fixture.stub.habits.worst());
  afterAll(() => fixture.stop());
  afterEach(() => {
    fixture.stub.faults.clear();
    expectDocumented(fixture.stub);
  });

  const userOf = ({ email }: ProviderAccount) => {
    const user = fixture.stub.world.users.get(email);
    if (!user) throw new Error(`the stub has no ${email}`);
    return user;
  };
  const mailboxOf = (account: ProviderAccount) => userOf(account).mailbox;
  function put({ email }: ProviderAccount, subject: string) {
    const [message] = fixture.stub.deliver(mimeTo(email, subject), [email]);
    if (!message) throw new Error('the message was not delivered');
    return message;
  }
  async function followed(account: ProviderAccount): Promise<Replica> {
    const replica = new Replica(fixture.connector.mail, account);
    await replica.follow();
    return replica;
  }
  const idsIn = (replica: Replica) => [...replica.messages.keys()].toSorted();

  describe('the mirror', () => {
    it('lists everything again if Gmail no longer knows the changes, and finds news and deletions', async () => {
      const account = fixture.account();
      const kept = [1, 2, 3].map((n) => put(account, `kept-${n}`));
      const [relabelled] = kept;
      const deleted = put(account, 'deleted');
      const replica = await followed(account);
      const mailbox = mailboxOf(account);
      mailbox.remove(deleted);
      if (relabelled) mailbox.relabel(relabelled, ['STARRED'], ['UNREAD']);
      const added = put(account, 'added');
      mailbox.history.expire();
      await replica.follow();
      expect(idsIn(replica)).toEqual([...kept, added].map(({ id }) => id).toSorted());
      expect(replica.messages.get(relabelled?.id ?? '')).toMatchObject({
        starred: true,
        unread: false,
      });
      expect(String(mimeOf(replica.messages.get(added.id)))).toContain('Subject: added');
      const next = put(account, 'next');
      await replica.follow();
      expect(replica.messages.has(next.id)).toBe(true);
    });

    it('reports all deletions, however many there are, if Gmail no longer knows the changes', async () => {
      const account = fixture.account();
      const messages = Array.from({ length: 100 }, (_, n) => put(account, `many-${n}`));
      const replica = await followed(account);
      const mailbox = mailboxOf(account);
      for (const message of messages.slice(5)) mailbox.remove(message);
      mailbox.history.expire();
      await replica.until('the whole list', ({ stall }) => stall === null);
      expect(idsIn(replica)).toEqual(
        messages
          .slice(0, 5)
          .map(({ id }) => id)
          .toSorted(),
      );
    });

    it.each([400, 500])(
      'reads the other messages if Gmail answers %i for the content of one',
      async (status) => {
        const account = fixture.account();
        const replica = await followed(account);
        const [poison, other] = [put(account, 'poison'), put(account, 'other')];
        const isPoison = ({ path, query }: StubRequest) =>
          path.endsWith(poison.id) && query.get('format') !== 'minimal';
        const answer = errorOf(status, 'unknown');
        fixture.stub.faults.add({ match: isPoison, times: Infinity, answer });
        await replica.follow();
        expect(String(mimeOf(replica.messages.get(other.id)))).toContain('Subject: other');
        expect(replica.messages.get(poison.id)).toMatchObject({
          unread: true,
          threadId: poison.threadId,
          content: { kind: 'listed', failed: expect.stringContaining(`Google: ${status}`) },
        });
      },
    );

    it.each([
      ['500', errorOf(500, 'backendError')],
      ['503', errorOf(503, 'backendError')],
      ['nothing', 'drop'],
      ['no date', { status: 200, body: { id: '1', threadId: '1' } }],
    ] as const)(
      'does not wait for a message for which Gmail always answers %s',
      async (_, answer) => {
        const account = fixture.account();
        const replica = await followed(account);
        const [poison, other] = [put(account, 'poison'), put(account, 'other')];
        const isPoison = ({ path }: StubRequest) => path.endsWith(poison.id);
        fixture.stub.faults.add({ match: isPoison, times: Infinity, answer });
        await replica.follow();
        expect(idsIn(replica)).toEqual([other.id]);
        expect([...replica.failures.keys()]).toEqual([poison.id]);
        const { mail } = fixture.connector;
        const providerIds = [poison.id, other.id];
        for (const content of [true, false]) {
          const request = { providerIds, content, priority: 'interactive' } as const;
          const read = await mail.readMessages(account, request);
          expect(read.get(other.id)?.failed).toBeUndefined();
          expect(read.get(poison.id)).toMatchObject({
            content: null,
            failed: expect.stringMatching(/^Google: /),
          });
        }
      },
    );

    it('fails if Gmail answers nothing at all', async () => {
      const account = fixture.account();
      const replica = await followed(account);
      put(account, 'news');
      const match = ({ path }: StubRequest) => /\/(messages|profile)/.test(path);
      fixture.stub.faults.add({ match, times: Infinity, answer: errorOf(503, 'backendError') });
      expect(await codeOf(replica.follow())).toBe('temporary');
      expect([...replica.failures]).toEqual([]);
    });

    it('has no history for a while, and then lists everything again, if Gmail fails on an entry of it', async () => {
      const account = fixture.account();
      const old = put(account, 'old');
      const replica = await followed(account);
      const news = put(account, 'news');
      mailboxOf(account).remove(old);
      const answer = errorOf(500, 'backendError');
      // What is pinned later is behind the entry.
      const { lastId } = mailboxOf(account).history;
      const match = (one: StubRequest) =>
        isHistory(one) && Number(one.query.get('startHistoryId')) < lastId;
      fixture.stub.faults.add({ match, times: Infinity, answer });
      await replica.follow();
      expect(replica.stall?.reason).toContain('the changes of the mailbox cannot be read: Google');
      fixture.advance(14 * 60_000);
      await replica.follow();
      expect(replica.stall).not.toBeNull();
      fixture.advance(2 * 60_000);
      await replica.until('the whole list', ({ stall }) => stall === null);
      expect(idsIn(replica)).toEqual([news.id]);
    });

    it.each([
      ['always fails on the list', 500, Infinity],
      ['no longer knows a page token', 400, 1],
    ])('reports news if Gmail %s, and lists the rest later', async (_, status, times) => {
      const account = fixture.account();
      const all = Array.from({ length: 60 }, (__, n) => put(account, `old-${n}`));
      const match = ({ path, query }: StubRequest) =>
        path.endsWith('/messages') && query.has('pageToken');
      // The first pass reads the newest messages, which are on the second page. No other request
      // may be refused, because this one would be made once more.
      fixture.stub.habits.refusesEvery = null;
      fixture.stub.faults.add({ match, after: 1, times, answer: errorOf(status, 'invalid') });
      const replica = new Replica(fixture.connector.mail, account);
      await replica.follow(25);
      expect(replica.stall?.reason).toContain('the list of messages cannot be read: Google');
      expect(replica.messages.size).toBeLessThan(all.length);
      const news = put(account, 'news');
      await replica.follow(25);
      expect(replica.messages.has(news.id)).toBe(true);
      fixture.stub.faults.clear();
      await replica.until('the whole list', ({ stall }) => stall === null);
      expect(idsIn(replica)).toEqual([...all, news].map(({ id }) => id).toSorted());
    });

    it('repeats a request that failed once, and does not take the message for unreadable', async () => {
      const account = fixture.account();
      // The first request for the message is the only one that fails.
      Object.assign(fixture.stub.habits, { refusesEvery: null, pages: 'full' });
      const message = put(account, 'fine');
      const isMessage = ({ path }: StubRequest) => path.endsWith(message.id);
      fixture.stub.faults.add({ match: isMessage, answer: errorOf(500, 'backendError') });
      const replica = await followed(account);
      expect(String(mimeOf(replica.messages.get(message.id)))).toContain('Subject: fine');
    });

    it('shows Gmail’s own labels only if they are places, and "/" in names as it is', async () => {
      const account = fixture.account();
      const message = put(account, 'labelled');
      const mailbox = mailboxOf(account);
      const label = mailbox.labels.create({ name: 'Work/Plans' });
      mailbox.relabel(message, ['IMPORTANT', 'STARRED', label.id], []);
      const replica = await followed(account);
      const ids = replica.folders.map(({ providerId }) => providerId);
      for (const hidden of ['UNREAD', 'STARRED', 'IMPORTANT', 'CHAT', 'CATEGORY_PERSONAL'])
        expect(ids).not.toContain(hidden);
      expect(replica.named('Work/Plans')).toEqual({
        providerId: label.id,
        name: null,
        displayName: 'Work/Plans',
      });
      expect(new Set(replica.messages.get(message.id)?.folderIds)).toEqual(
        new Set(['INBOX', 'ALL', label.id]),
      );
      await fixture.connector.mailbox.setFolders(account, message.id, [label.id]);
      expect([...message.labels].toSorted()).toEqual(
        ['CATEGORY_PERSONAL', 'IMPORTANT', 'STARRED', 'UNREAD', label.id].toSorted(),
      );
    });

    it('renames the labels below a label with it', async () => {
      const account = fixture.account();
      const { labels } = mailboxOf(account);
      const [above, below, beside] = ['A', 'A/B', 'AB'].map((name) => labels.create({ name }));
      await fixture.connector.mailbox.renameFolder(account, above?.id ?? '', 'C/D');
      expect([above, below, beside].map((label) => label?.name)).toEqual(['C/D', 'C/D/B', 'AB']);
    });
  });

  describe('limits and refusals', () => {
    it.each([
      [
        '429 with Retry-After',
        { ...errorOf(429, 'rateLimitExceeded'), headers: { 'retry-after': '30' } },
        30,
      ],
      ['429 without Retry-After', errorOf(429, 'rateLimitExceeded'), 5],
      ['403 userRateLimitExceeded', errorOf(403, 'userRateLimitExceeded'), 5],
    ])('asks Gmail nothing for a while after %s', async (_, answer, seconds) => {
      const account = fixture.account();
      const replica = await followed(account);
      fixture.stub.faults.add({ match: isHistory, answer });
      expect(await codeOf(replica.follow())).toBe('rate-limited');
      const asked = fixture.stub.requests.length;
      const error: unknown = await replica.follow().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'rate-limited', name: 'BudgetExhaustedError' });
      expect(fixture.stub.requests.length).toBe(asked);
      const { retryAfterSeconds } = error as { retryAfterSeconds: number };
      expect(retryAfterSeconds).toBeGreaterThan(seconds - 5);
      // Another account is not held up.
      await followed(fixture.account());
    });

    it('asks Gmail for no more messages of a batch after a 429 to another request', async () => {
      const account = fixture.account();
      // Requests are counted.
      fixture.stub.habits.refusesEvery = null;
      const providerIds = Array.from({ length: 20 }, (_, n) => put(account, `batch-${n}`).id);
      const { mail } = fixture.connector;
      const { promise: until, resolve } = Promise.withResolvers<void>();
      const isRead = ({ path }: StubRequest) => providerIds.some((id) => path.endsWith(id));
      const reads = () => fixture.stub.requests.filter(isRead).length;
      fixture.stub.faults.add({ match: isRead, times: Infinity, answer: 'none', until });
      const request = { providerIds, content: false, priority: 'history' } as const;
      const reading = mail.readMessages(account, request);
      await eventually('the requests that run at the same time', async () => reads() === 6);
      fixture.stub.faults.add({ match: isSend, answer: errorOf(429, 'rateLimitExceeded') });
      const message = outgoing(account, ['bo@elsewhere.test']);
      expect(await codeOf(mail.send(account, message, sendControl()))).toBe('rate-limited');
      const before = reads();
      resolve();
      expect((await reading).size).toBe(before);
      expect(reads()).toBe(before);
      expect(before).toBeLessThan(providerIds.length);
    });

    it('reports a token that is no longer valid', async () => {
      const account = fixture.account();
      const replica = await followed(account);
      fixture.stub.faults.add({ match: isHistory, answer: errorOf(401, 'authError') });
      expect(await codeOf(replica.follow())).toBe('auth-invalid');
    });
  });

  describe('a passing "Precondition check failed"', () => {
    const passing = {
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'Precondition check failed.',
          errors: [
            {
              message: 'Precondition check failed.',
              domain: 'global',
              reason: 'failedPrecondition',
            },
          ],
          status: 'FAILED_PRECONDITION',
        },
      },
    };
    const refuse = (path: RegExp, times: number) =>
      fixture.stub.faults.add({ match: (one) => path.test(one.path), times, answer: passing });
    const states = (account: ProviderAccount, ...providerIds: string[]) =>
      fixture.connector.mail.readMessages(account, {
        providerIds,
        content: false,
        priority: 'history',
      });

    it('does not end a message, which was not sent', async () => {
      const account = fixture.account();
      const message = outgoing(account, ['bo@elsewhere.test']);
      refuse(/send$/, 1);
      const { mail } = fixture.connector;
      expect(await codeOf(mail.send(account, message, sendControl()))).toBe('temporary');
      expect(await codeOf(mail.send(account, message, sendControl()))).toBe('succeeded');
    });

    it('goes unnoticed unless the request is a send', async () => {
      const account = fixture.account();
      const message = put(account, 'there');
      refuse(new RegExp(message.id), 1);
      expect((await states(account, message.id)).get(message.id)?.state).toMatchObject({
        unread: true,
      });
      refuse(/labels$/, 1);
      await fixture.connector.mailbox.createFolder(account, 'Made');
    });

    it('never makes a message or a label count as deleted, however long it lasts', async () => {
      const account = fixture.account();
      const [one, other] = [put(account, 'one'), put(account, 'other')];
      const label = mailboxOf(account).labels.create({ name: 'Kept' });
      refuse(new RegExp(`${one.id}|${label.id}`), Infinity);
      const read = await states(account, one.id, other.id);
      expect(read.get(one.id)).toMatchObject({ state: null, failed: expect.any(String) });
      expect(read.get(other.id)?.state).toMatchObject({ providerId: other.id });
      const { mail, mailbox } = fixture.connector;
      const works = [
        () => mail.fetchRaw(account, one.id),
        () => mail.openFile(account, one.id, '#0'),
        () => mailbox.setFlags(account, one.id, { starred: true }),
        () => mailbox.setFolders(account, one.id, ['INBOX']),
        () => mailbox.deleteFolder(account, label.id),
      ];
      for (const work of works) expect(await codeOf(work())).toBe('temporary');
      refuse(/messages$/, 2);
      const request = { since: null, until: null, cursor: null, limit: 10, folderId: 'INBOX' };
      expect(await codeOf(mail.listIds(account, request))).toBe('temporary');
    });

    it('is an error of the account if Gmail answers nothing else', async () => {
      const account = fixture.account();
      refuse(/gmail/, Infinity);
      const error: unknown = await followed(account).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'temporary',
        message: expect.stringContaining('Precondition check failed'),
      });
    });
  });

  describe('one answer is no proof of a deletion', () => {
    it('does not report a label as deleted that is still there', async () => {
      const account = fixture.account();
      const label = mailboxOf(account).labels.create({ name: 'Stays' });
      const match = ({ method }: StubRequest) => method === 'DELETE';
      fixture.stub.faults.add({ match, answer: errorOf(404, 'notFound') });
      const { mailbox } = fixture.connector;
      expect(await codeOf(mailbox.deleteFolder(account, label.id))).toBe('temporary');
      await mailbox.deleteFolder(account, label.id);
      await mailbox.deleteFolder(account, label.id);
    });

    it.each([
      ['a list of labels without the inbox', { status: 200, body: {} }, /labels$/],
      ['a 404 that is not Gmail’s', { status: 404, raw: '<html>Not Found</html>' }, /history$/],
    ])('takes %s for a passing failure', async (_, answer, path) => {
      const account = fixture.account();
      mailboxOf(account).labels.create({ name: 'Kept' });
      const message = put(account, 'kept');
      const replica = await followed(account);
      fixture.stub.faults.add({ match: (one) => path.test(one.path), answer });
      await replica.follow();
      expect(replica.stall).not.toBeNull();
      await replica.follow();
      expect(replica.named('Kept')).toBeDefined();
      expect(idsIn(replica)).toEqual([message.id]);
    });
  });

  it('names what to ask of an administrator who has blocked the application', async () => {
    const account = fixture.account();
    const answer = errorOf(403, 'domainPolicy');
    fixture.stub.faults.add({ times: Infinity, answer });
    await expect(followed(account)).rejects.toMatchObject({
      code: 'temporary',
      message: expect.stringContaining('Please allow our application in the Google Admin console'),
    });
  });

  describe('sending', () => {
    const sentBy = (account: ProviderAccount) =>
      mailboxOf(account)
        .messages()
        .filter(({ labels }) => labels.has('SENT'));

    it.each(['drop-after-done', '504-after-done'] as const)(
      'does not know the outcome when the response is lost (%s), and finds the message in Sent',
      async (answer) => {
        const account = fixture.account();
        const message = outgoing(account, ['bo@elsewhere.test']);
        fixture.stub.faults.add({ match: isSend, answer });
        const { mail } = fixture.connector;
        expect(await codeOf(mail.send(account, message, sendControl()))).toBe('outcome-unknown');
        expect(await mail.findSent(account, message.messageIdHeader)).toEqual({
          found: true,
          conclusive: true,
        });
        expect(sentBy(account)).toHaveLength(1);
      },
    );

    it('knows that a message was not sent if its connection broke before', async () => {
      const account = fixture.account();
      const { mail } = fixture.connector;
      await mail.send(account, outgoing(account, ['bo@elsewhere.test']), sendControl());
      const message = outgoing(account, ['bo@elsewhere.test']);
      fixture.stub.faults.add({ match: isSend, answer: 'drop' });
      expect(await codeOf(mail.send(account, message, sendControl()))).toBe('outcome-unknown');
      expect(await mail.findSent(account, message.messageIdHeader)).toEqual({
        found: false,
        conclusive: true,
      });
    });

    it('finds a message that the search does not find yet', async () => {
      const account = fixture.account();
      const { mail } = fixture.connector;
      const message = outgoing(account, ['bo@elsewhere.test']);
      await mail.send(account, message, sendControl());
      const match = ({ query }: StubRequest) => /rfc822msgid/.test(query.get('q') ?? '');
      const answer = { status: 200, body: { resultSizeEstimate: 0 } };
      fixture.stub.faults.add({ match, answer });
      expect(await mail.findSent(account, message.messageIdHeader)).toMatchObject({ found: true });
    });

    describe.each(['short', 'empty first'] as const)('when pages of lists are %s', (pages) => {
      beforeEach(() => {
        fixture.stub.habits.pages = pages;
      });

      /** What a look-up says of the first of `count` messages that were sent. */
      async function lookedUp(count: number, isSent: boolean) {
        const account = fixture.account();
        const mail = patient(fixture.connector.mail);
        const next = () => outgoing(account, ['bo@elsewhere.test']);
        const [first, ...others] = Array.from({ length: count }, next);
        if (!first) throw new Error('there is no first message');
        for (const message of isSent ? [first, ...others] : others)
          await mail.send(account, message, sendControl());
        return mail.findSent(account, first.messageIdHeader);
      }

      it('finds a message behind the first page', async () => {
        expect(await lookedUp(6, true)).toEqual({ found: true, conclusive: true });
      });

      it('knows that a message was not sent after the last page', async () => {
        expect(await lookedUp(6, false)).toEqual({ found: false, conclusive: true });
      });

      it('saves a draft once if the response to the first request is lost', async () => {
        const account = fixture.account();
        const { mime, messageIdHeader } = outgoing(account, ['bo@elsewhere.test']);
        const save = () =>
          fixture.connector.mailbox.saveDraft(account, { mime, messageIdHeader }, null);
        const match = ({ method, path }: StubRequest) =>
          method === 'POST' && path.endsWith('/drafts');
        fixture.stub.faults.add({ match, answer: 'drop-after-done' });
        expect(await codeOf(save())).toBe('outcome-unknown');
        await save();
        expect(mailboxOf(account).drafts.size).toBe(1);
      });

      it('does not claim that a message was not sent if too many were sent since', async () => {
        expect(await lookedUp(24, false)).toMatchObject({ found: false, conclusive: false });
      });
    });

    it('answers in the thread, and sends and saves drafts without it if it was deleted', async () => {
      const account = fixture.account();
      const { mail, mailbox } = fixture.connector;
      const asked = put(account, 'asked');
      const reply = (subject: string) => ({
        ...outgoing(account, ['bo@elsewhere.test'], { subject }),
        threadId: asked.threadId,
      });
      const { stored } = await mail.send(account, reply('Re: asked'), sendControl());
      expect(stored?.threadId).toBe(asked.threadId);
      for (const one of mailboxOf(account).messages()) mailboxOf(account).remove(one);
      const later = await mail.send(account, reply('Re: asked'), sendControl());
      expect(sentBy(account).map(({ id }) => id)).toEqual([later.stored?.providerId]);
      const { mime, threadId } = reply('Re: asked');
      const draft = { mime, messageIdHeader: '<other@x.test>', threadId };
      const { providerId } = await mailbox.saveDraft(account, draft, null);
      expect(mailboxOf(account).get(providerId).labels).toEqual(new Set(['DRAFT']));
    });

    it('sends a large message, which is read in parts', async () => {
      // Bytes are compared.
      fixture.stub.habits.messageIds = 'kept';
      const [from, to] = [fixture.account(), fixture.account()];
      const message = large(from, to.email);
      const { mail } = fixture.connector;
      const replica = await followed(to);
      const { stored } = await mail.send(from, message, sendControl());
      expect(sentBy(from).map(({ id, raw }) => [id, isWith(raw, message.mime)])).toEqual([
        [stored?.providerId, true],
      ]);
      await replica.follow();
      const [copy] = [...replica.messages.values()];
      if (copy?.content?.kind !== 'parts') throw new Error('the message is not read in parts');
      const { body, files } = parseParts(copy.content.parts);
      expect(body).toBe('Grüße');
      expect(files).toMatchObject([{ filename: 'a.bin', size: 5 * MB }]);
      const stream = await mail.openFile(to, copy.providerId, files[0]?.section ?? '');
      expect((await buffer(stream)).equals(Buffer.alloc(5 * MB, 'large '))).toBe(true);
      expect(await codeOf(mail.openFile(to, copy.providerId, '9'))).toBe('not-found');
      const draft = { mime: message.mime, messageIdHeader: '<draft@x.test>' };
      const { providerId } = await fixture.connector.mailbox.saveDraft(from, draft, null);
      expect(isWith(mailboxOf(from).get(providerId).raw, message.mime)).toBe(true);
    });
  });
});
