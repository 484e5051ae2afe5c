import { expectDocumented } from '../remote-stub/remote-stub.ts';
import { GraphClient } from './graph-client.ts';
import type { Json } from './http/types.ts';
import { MicrosoftStub } from './microsoft-stub.ts';

const SCOPES = ['Mail.ReadWrite', 'Mail.ReadWrite.Shared', 'Mail.Send', 'User.Read'];
const mime = (subject: string, headers = '') =>
  `From: Bea <bea@contoso.test>\r\nTo: Ann <ann@contoso.test>\r\n${headers}Subject: ${subject}\r\n` +
  `Message-ID: <${subject}@contoso.test>\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\n\r\nHello ${subject}\r\n`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('mail of the stub of Microsoft', () => {
  let stub: MicrosoftStub;
  let ann: GraphClient;
  let bea: GraphClient;
  const client = (email: string, headers?: Record<string, string>) =>
    new GraphClient(stub, stub.tokensFor(email, SCOPES).accessToken, headers);

  beforeEach(async () => {
    stub = await MicrosoftStub.start();
    stub.addUser('ann@contoso.test', { displayName: 'Ann' });
    stub.addUser('bea@contoso.test', { displayName: 'Bea' });
    ann = client('ann@contoso.test');
    bea = client('bea@contoso.test');
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  it('keeps the id of a moved message only for requests that ask for immutable ids', async () => {
    await stub.put('ann@contoso.test', mime('one'));
    const other = client('ann@contoso.test', {});
    const [before] = await ann.list('me/mailFolders/inbox/messages');
    const [otherBefore] = await other.list('me/mailFolders/inbox/messages');
    const moved = await ann.send('POST', `me/messages/${String(before?.['id'])}/move`, {
      destinationId: 'archive',
    });
    expect([moved.status, moved.body['id']]).toEqual([201, before?.['id']]);
    const [otherAfter] = await other.list('me/mailFolders/archive/messages');
    expect(otherAfter?.['id']).not.toBe(otherBefore?.['id']);
    const gone = await other.send('GET', `me/messages/${String(otherBefore?.['id'])}`);
    expect([gone.status, (gone.body['error'] as Json)['code']]).toEqual([404, 'ErrorItemNotFound']);
    expect((await other.send('GET', 'me/messages/abc')).body['error']).toMatchObject({
      code: 'ErrorInvalidIdMalformed',
    });
  });

  it('refuses every request without the preference for immutable ids, if tests require it', async () => {
    stub.settings.requiresImmutableIds = true;
    const other = client('ann@contoso.test', { prefer: 'outlook.body-content-type="text"' });
    const paths = ['me', 'me/mailFolders', 'me/messages', 'subscriptions'];
    for (const path of paths) {
      expect((await ann.send('GET', path)).status).toBe(200);
      expect((await other.send('GET', path)).status).toBe(400);
    }
    expect(stub.violations.splice(0)).toEqual(
      paths.map((path) => `Request GET /v1.0/${path}: Prefer: IdType="ImmutableId" is missing`),
    );
  });

  it('sends MIME with its Message-ID, delivers it without Bcc and keeps it in Sent Items', async () => {
    const text = mime('sent', 'Bcc: bea@contoso.test, out@elsewhere.test\r\n').replace(
      'From: Bea <bea@contoso.test>',
      'From: Ann <ann@contoso.test>',
    );
    const sent = await ann.send('POST', 'me/sendMail', base64(text));
    expect([sent.status, sent.body]).toEqual([202, { text: '' }]);
    const filter = encodeURIComponent("internetMessageId eq '<sent@contoso.test>'");
    const [copy] = await ann.list(`me/mailFolders/sentitems/messages?$filter=${filter}`);
    expect(copy).toMatchObject({ isDraft: false, isRead: true, subject: 'sent' });
    expect(copy?.['bccRecipients']).toHaveLength(2);
    const [received] = await bea.list(
      'me/mailFolders/inbox/messages?$select=subject,bccRecipients',
    );
    expect(received).toMatchObject({ subject: 'sent', bccRecipients: [] });
    const raw = await bea.send('GET', `me/messages/${String(received?.['id'])}/$value`);
    expect(String(raw.body['text'])).not.toMatch(/^bcc/im);
    expect(stub.world.sent).toMatchObject([{ outside: ['out@elsewhere.test'] }]);
  });

  it('makes drafts from JSON and MIME and keeps their id when they are sent', async () => {
    const draft = await ann.send('POST', 'me/messages', {
      subject: 'plan',
      body: { contentType: 'html', content: '<p>Hi</p>' },
      toRecipients: [{ emailAddress: { address: 'bea@contoso.test' } }],
    });
    expect(draft.body).toMatchObject({ isDraft: true, from: { emailAddress: { name: 'Ann' } } });
    const id = String(draft.body['id']);
    const added = await ann.send('POST', `me/messages/${id}/attachments`, {
      '@odata.type': '#microsoft.graph.fileAttachment',
      name: 'a.txt',
      contentType: 'text/plain',
      contentBytes: base64('abc'),
    });
    expect(added.status).toBe(201);
    const bytes = `me/messages/${id}/attachments/${String(added.body['id'])}/$value`;
    expect((await ann.send('GET', bytes)).body).toEqual({ text: 'abc' });
    await ann.send('PATCH', `me/messages/${id}`, { subject: 'new plan', importance: 'high' });
    expect((await ann.send('POST', `me/messages/${id}/send`)).status).toBe(202);
    const [received] = await bea.list('me/messages?$expand=attachments');
    expect(received).toMatchObject({ subject: 'new plan', hasAttachments: true, isDraft: false });
    expect(received?.['attachments']).toMatchObject([
      { name: 'a.txt', contentBytes: base64('abc') },
    ]);
    expect(await ann.get(`me/messages/${id}`)).toMatchObject({ isDraft: false });
    const fromMime = await ann.send('POST', 'me/messages', base64(mime('raw')));
    expect(fromMime.body).toMatchObject({ internetMessageId: '<raw@contoso.test>', isDraft: true });
  });

  it('keeps deleted messages for recovery, but not those that are deleted for good', async () => {
    const [first, second] = [
      await stub.put('ann@contoso.test', mime('a')),
      await stub.put('ann@contoso.test', mime('b')),
    ];
    await ann.send('DELETE', `me/messages/${first.immutableId}`);
    await ann.send('POST', `me/messages/${second.immutableId}/permanentDelete`);
    expect(await ann.list('me/messages')).toEqual([]);
    const recoverable = await ann.list('me/mailFolders/recoverableitemsdeletions/messages');
    expect(recoverable).toMatchObject([{ subject: 'a' }]);
  });

  it('refuses new messages while the mailbox is full', async () => {
    stub.user('ann@contoso.test').mailbox.isFull = true;
    const refused = await ann.send('POST', 'me/messages', { subject: 'x' });
    expect([refused.status, refused.body['error']]).toMatchObject([
      507,
      { code: 'ErrorQuotaExceeded' },
    ]);
  });

  it('refuses requests over 4 MB', async () => {
    const big = base64(mime('big') + 'x'.repeat(4 * 1024 * 1024));
    expect((await ann.send('POST', 'me/sendMail', big)).status).toBe(413);
  });

  it('refuses another author unless the user may send as it', async () => {
    const message = {
      subject: 'x',
      from: { emailAddress: { address: 'bea@contoso.test' } },
      toRecipients: [{ emailAddress: { address: 'ann@contoso.test' } }],
    };
    const refused = await ann.send('POST', 'me/sendMail', { message });
    expect([refused.status, refused.body['error']]).toMatchObject([
      403,
      { code: 'ErrorSendAsDenied' },
    ]);
    stub.user('ann@contoso.test').sendAs.add('bea@contoso.test');
    expect((await ann.send('POST', 'me/sendMail', { message })).status).toBe(202);
  });

  it('opens a shared mailbox to its members only', async () => {
    const shared = stub.addUser('desk@contoso.test', { kind: 'shared' });
    const path = 'users/desk@contoso.test/messages';
    expect((await ann.send('GET', path)).status).toBe(403);
    shared.members.add('ann@contoso.test');
    expect((await ann.send('GET', path)).status).toBe(200);
  });

  it('threads replies and filters, sorts, pages and searches lists', async () => {
    for (const name of ['a', 'b', 'c']) await stub.put('ann@contoso.test', mime(name));
    await stub.put('ann@contoso.test', mime('re', 'In-Reply-To: <a@contoso.test>\r\n'), {
      isRead: true,
    });
    const [first] = await ann.list(`me/messages?$filter=${encodeURIComponent("subject eq 'a'")}`);
    const thread = encodeURIComponent(`conversationId eq '${String(first?.['conversationId'])}'`);
    expect(await ann.list(`me/messages?$filter=${thread}`)).toHaveLength(2);
    const page = await ann.get('me/messages?$top=3&$count=true&$select=subject');
    expect([page['@odata.count'], (page['value'] as Json[]).length]).toEqual([4, 3]);
    expect(await ann.list(String(page['@odata.nextLink']))).toHaveLength(1);
    expect(await ann.list('me/messages?$search="subject:b"')).toMatchObject([{ subject: 'b' }]);
    const unread = encodeURIComponent(
      'isRead eq false and receivedDateTime ge 2020-01-01T00:00:00Z',
    );
    expect(await ann.list(`me/messages?$filter=${unread}`)).toHaveLength(3);
    const counted = await ann.send('GET', `me/mailFolders/inbox/messages/$count?$filter=${unread}`);
    expect(counted.body).toEqual({ text: '3' });
    const slow = await ann.send('GET', `me/messages?$filter=${unread}&$orderby=receivedDateTime`);
    expect(slow.body['error']).toMatchObject({ code: 'InefficientFilter' });
  });

  it('creates, renames and deletes folders', async () => {
    const made = await ann.send('POST', 'me/mailFolders', { displayName: 'Work' });
    expect(made.status).toBe(201);
    const again = await ann.send('POST', 'me/mailFolders', { displayName: 'work' });
    expect([again.status, again.body['error']]).toMatchObject([409, { code: 'ErrorFolderExists' }]);
    const id = String(made.body['id']);
    await ann.send('POST', `me/mailFolders/${id}/childFolders`, { displayName: 'Old' });
    const round = await ann.delta('me/mailFolders/delta');
    await ann.send('PATCH', `me/mailFolders/${id}`, { displayName: 'Works' });
    const renamed = await ann.delta(round.link);
    expect(renamed.items).toMatchObject([{ id, displayName: 'Works', childFolderCount: 1 }]);
    await ann.send('DELETE', `me/mailFolders/${id}`);
    await ann.send('DELETE', `me/mailFolders/${id}`);
    const removed = await ann.delta(renamed.link);
    expect(removed.items.map((item) => item['@removed'])).toContainEqual({ reason: 'deleted' });
    const names = (await ann.list('me/mailFolders?$top=50')).map((item) => item['displayName']);
    expect(names).toEqual(expect.arrayContaining(['Inbox', 'Sent Items']));
    expect(names).not.toContain('Works');
  });
});
