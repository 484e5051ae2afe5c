import { expectDocumented } from '../../remote-stub/remote-stub.ts';
import { GoogleStub } from '../google-stub.ts';
import { type Any, mime, StubClient } from '../stub-client.ts';

const ANNA = 'anna@gmail.test';
const BERT = 'bert@gmail.test';

describe('the stub of Gmail', () => {
  let stub: GoogleStub;
  let anna: StubClient;
  let bert: StubClient;

  beforeEach(async () => {
    stub = await GoogleStub.start();
    stub.addUser(ANNA, 'Anna');
    stub.addUser(BERT, 'Bert');
    anna = new StubClient(stub, ANNA);
    bert = new StubClient(stub, BERT);
  });
  afterEach(async () => {
    await stub.stop();
    expectDocumented(stub);
  });

  const ids = async (client: StubClient, query = ''): Promise<string[]> => {
    const { body } = await client.mail('GET', `messages?${query}`);
    return (body.messages ?? []).map(({ id }: Any) => id as string);
  };
  const shown = async (client: StubClient, id: string) =>
    (await client.mail('GET', `messages/${id}`)).body;

  it('delivers to people of the stub, and keeps Bcc in the copy of the sender only', async () => {
    const to = `${BERT}, far@elsewhere.test`;
    const sent = await anna.send(
      mime({
        From: ANNA,
        To: to,
        Bcc: 'hidden@elsewhere.test',
        Subject: 'A',
        'Message-ID': '<1@a>',
      }),
    );
    expect(sent.body).toMatchObject({ labelIds: ['SENT'] });
    const [received = ''] = await ids(bert, 'q=rfc822msgid:1@a&labelIds=UNREAD');
    const copy = await shown(bert, received);
    const names = (message: Any) => message.payload.headers.map(({ name }: Any) => name);
    expect(copy.labelIds).toEqual(expect.arrayContaining(['INBOX', 'UNREAD']));
    expect(names(copy)).not.toContain('Bcc');
    expect(names(await shown(anna, sent.body.id))).toContain('Bcc');
    expect(stub.outgoing).toMatchObject([
      { from: ANNA, to: ['far@elsewhere.test', 'hidden@elsewhere.test'] },
    ]);
  });

  it('keeps one message for mail to oneself', async () => {
    const sent = await anna.send(mime({ From: ANNA, To: ANNA, Subject: 'A' }));
    expect(sent.body.labelIds.sort()).toEqual(['INBOX', 'SENT', 'UNREAD']);
    expect(await ids(anna)).toEqual([sent.body.id]);
  });

  it('puts replies into a thread by references, and by thread id only if the subject fits', async () => {
    const first = await anna.send(mime({ To: BERT, Subject: 'Plan', 'Message-ID': '<1@a>' }));
    const [{ threadId }] = (await bert.mail('GET', 'messages')).body.messages;
    const reply = { To: ANNA, Subject: 'Re: Plan', References: '<1@a>' };
    expect((await bert.send(mime(reply))).body.threadId).toBe(threadId);
    const other = await anna.send(mime({ To: BERT, Subject: 'Other' }), first.body.threadId);
    expect(other.body.threadId).not.toBe(first.body.threadId);
    const thread = await anna.mail('GET', `threads/${first.body.threadId}?format=minimal`);
    expect(thread.body.messages).toHaveLength(2);
  });

  it('reads a message in every form', async () => {
    const boundary = 'Content-Type: multipart/mixed; boundary=b\r\n';
    const text = '--b\r\nContent-Type: text/plain\r\n\r\nHi <you>\r\n';
    const file = 'Content-Type: image/png; name="a.png"\r\nContent-Transfer-Encoding: base64\r\n';
    const raw = `Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n${boundary}\r\n${text}--b\r\n${file}\r\nQUJD\r\n--b--\r\n`;
    const [message] = stub.deliver(raw, [ANNA]);
    const full = await shown(anna, message?.id ?? '');
    expect(full).toMatchObject({
      snippet: 'Hi &lt;you&gt;',
      payload: { parts: [{ partId: '0', mimeType: 'text/plain' }, { filename: 'a.png' }] },
    });
    const { attachmentId } = full.payload.parts[1].body;
    const attachment = await anna.mail('GET', `messages/${full.id}/attachments/${attachmentId}`);
    expect(attachment.body).toEqual({ size: 3, data: 'QUJD' });
    const only = 'format=metadata&metadataHeaders=Subject';
    const metadata = await anna.mail('GET', `messages/${full.id}?${only}`);
    expect(metadata.body.payload.headers).toEqual([{ name: 'Subject', value: 'Grüße' }]);
    const whole = await anna.mail('GET', `messages/${full.id}?format=raw`);
    expect(Buffer.from(whole.body.raw, 'base64url').toString()).toContain(raw);
  });

  it('lists pages, leaves out spam and trash, and searches', async () => {
    for (let number = 0; number < 5; number += 1)
      stub.deliver(mime({ From: `s${number}@b.test`, Subject: `N${number}` }), [ANNA]);
    const first = await anna.mail('GET', 'messages?maxResults=3');
    const second = await anna.mail(
      'GET',
      `messages?maxResults=3&pageToken=${first.body.nextPageToken}`,
    );
    const all = [...first.body.messages, ...second.body.messages].map(({ id }: Any) => id);
    expect([new Set(all).size, second.body.nextPageToken]).toEqual([5, undefined]);
    await anna.mail('POST', `messages/${all[0]}/trash`);
    expect(await ids(anna)).toHaveLength(4);
    expect(await ids(anna, 'includeSpamTrash=true')).toHaveLength(5);
    expect(await ids(anna, 'q=in:trash')).toEqual([all[0]]);
    expect(await ids(anna, 'q=from:s1@b.test -subject:N2 is:unread')).toHaveLength(1);
    expect(await ids(anna, 'q=after:4000000000')).toEqual([]);
  });

  it('records history, and forgets it when the test says so', async () => {
    const { historyId } = (await anna.mail('GET', 'profile')).body;
    const [message] = stub.deliver(mime({ Subject: 'A' }), [ANNA]);
    const id = message?.id ?? '';
    await anna.mail('POST', `messages/${id}/modify`, { addLabelIds: ['STARRED'] });
    await anna.mail('POST', `messages/${id}/modify`, { removeLabelIds: ['UNREAD'] });
    await anna.mail('DELETE', `messages/${id}`);
    const history = (query: string) =>
      anna.mail('GET', `history?startHistoryId=${historyId}${query}`);
    const { body } = await history('');
    expect(body.history).toMatchObject([
      { messagesAdded: [{ message: { id } }] },
      { labelsAdded: [{ message: { id }, labelIds: ['STARRED'] }] },
      { labelsRemoved: [{ message: { id }, labelIds: ['UNREAD'] }] },
      { messagesDeleted: [{ message: { id } }] },
    ]);
    const only = await history('&historyTypes=messageDeleted');
    expect(only.body.history).toHaveLength(1);
    stub.world.users.get(ANNA)?.mailbox.history.expire();
    expect((await history('')).status).toBe(404);
  });

  it("applies Gmail's rules for labels", async () => {
    const create = async (body: object) => (await anna.mail('POST', 'labels', body)).status;
    const label = await anna.mail('POST', 'labels', { name: 'Work/Plans' });
    expect(await create({ name: 'work/plans' })).toBe(409);
    expect(await create({ name: 'Inbox' })).toBe(400);
    const color = { textColor: '#123456', backgroundColor: '#ffffff' };
    expect(await create({ name: 'B', color })).toBe(400);
    expect((await anna.mail('PATCH', 'labels/INBOX', { name: 'In' })).status).toBe(400);
    expect((await anna.mail('DELETE', 'labels/SENT')).status).toBe(400);
    const [message] = stub.deliver(mime({ Subject: 'A' }), [ANNA]);
    const modify = (add: string) =>
      anna.mail('POST', 'messages/batchModify', { ids: [message?.id], addLabelIds: [add] });
    expect((await modify('SENT')).status).toBe(400);
    expect((await modify(label.body.id)).status).toBe(204);
    const numbers = await anna.mail('GET', `labels/${label.body.id}`);
    expect(numbers.body).toMatchObject({ messagesTotal: 1, messagesUnread: 1, name: 'Work/Plans' });
    await anna.mail('DELETE', `labels/${label.body.id}`);
    expect((await shown(anna, message?.id ?? '')).labelIds).not.toContain(label.body.id);
  });

  it('gives the message of a draft a new id at every change, and sends it', async () => {
    const raw = (subject: string) =>
      Buffer.from(mime({ To: BERT, Subject: subject })).toString('base64url');
    const made = await anna.mail('POST', 'drafts', { message: { raw: raw('A') } });
    const path = `drafts/${made.body.id}`;
    const changed = await anna.mail('PUT', path, { message: { raw: raw('B') } });
    expect(changed.body.id).toBe(made.body.id);
    expect(changed.body.message.id).not.toBe(made.body.message.id);
    const sent = await anna.mail('POST', 'drafts/send', { id: made.body.id });
    expect(sent.body.labelIds).toEqual(['SENT']);
    expect((await anna.mail('GET', path)).status).toBe(404);
    expect(await ids(bert, 'q=subject:B')).toHaveLength(1);
  });

  it('takes messages as media, with JSON, and in two steps', async () => {
    const path = '/upload/gmail/v1/users/me/messages/send';
    const text = mime({ To: BERT, Subject: 'A' });
    const type = (value: string) => ({ 'content-type': value });
    const media = await anna.call('POST', `${path}?uploadType=media`, text, type('message/rfc822'));
    const json = `--b\r\nContent-Type: application/json\r\n\r\n{"threadId":"${media.body.threadId}"}`;
    const both = `${json}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n${text}\r\n--b--\r\n`;
    const related = type('multipart/related; boundary=b');
    const second = await anna.call('POST', `${path}?uploadType=multipart`, both, related);
    expect([media.status, second.body.threadId]).toEqual([200, media.body.threadId]);
    const begun = await anna.call('POST', `${path}?uploadType=resumable`, '', {
      'x-upload-content-type': 'message/rfc822',
    });
    const { pathname, search } = new URL(begun.headers.get('location') ?? '');
    expect((await anna.call('PUT', pathname + search, text)).body.labelIds).toEqual(['SENT']);
    expect(await ids(bert)).toHaveLength(3);
  });

  it('answers the parts of a batch by themselves', async () => {
    const [message] = stub.deliver(mime({ Subject: 'A' }), [ANNA]);
    const part = (id: string) =>
      `--b\r\nContent-Type: application/http\r\nContent-ID: <${id}>\r\n\r\nGET /gmail/v1/users/me/messages/${id}?format=minimal HTTP/1.1\r\n\r\n`;
    const body = `${part(message?.id ?? '')}${part('18f0')}--b--\r\n`;
    const headers = { 'content-type': 'multipart/mixed; boundary=b' };
    const answer = await anna.call('POST', '/batch/gmail/v1', body, headers);
    expect(answer.body).toContain(`Content-ID: <response-${message?.id}>`);
    expect(answer.body.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  });

  it('charges units and refuses what exceeds a minute', async () => {
    stub.quotas.perUser.gmail.limit.units = 45;
    const [message] = stub.deliver(mime({ Subject: 'A' }), [ANNA]);
    const get = () => anna.mail('GET', `messages/${message?.id}`);
    expect([(await get()).status, (await get()).status, (await get()).status]).toEqual([
      200, 200, 429,
    ]);
    stub.quotas.refusal = { status: 403, hasRetryAfter: true };
    const refused = await get();
    expect(refused.body.error.errors[0].reason).toBe('userRateLimitExceeded');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([stub.quotas.perUser.gmail.highest(ANNA), stub.quotas.perUser.gmail.refusals()]).toEqual(
      [80, 2],
    );
  });

  it('publishes changes of a watched mailbox', async () => {
    const topicName = 'projects/p/topics/mail';
    const subscription = stub.pubsub.subscribe('projects/p/subscriptions/s', topicName);
    const { body } = await anna.mail('POST', 'watch', { topicName, labelIds: ['INBOX'] });
    expect(Number(body.expiration)).toBeGreaterThan(stub.now());
    stub.deliver(mime({ Subject: 'A' }), [ANNA]);
    const messages = stub.pubsub.pull(subscription, 10).map(({ message }) => message.data);
    const [, second] = messages.map((data) => JSON.parse(Buffer.from(data, 'base64').toString()));
    expect(second).toMatchObject({ emailAddress: ANNA, historyId: expect.any(Number) });
    await anna.mail('POST', 'stop');
    stub.deliver(mime({ Subject: 'B' }), [ANNA]);
    expect(stub.pubsub.pull(subscription, 10)).toEqual([]);
  });
});
