import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { recordChanges } from '../../src/platform/changes/change-log.ts';
import { Hits } from '../../src/mail/tracking/hits.ts';
import { notificationsOf } from '../../src/mail/tracking/mirrored-mail.ts';
import { pruneTrackedMessages } from '../../src/mail/tracking/prune-tracked-messages.ts';
import { TrackingTokens } from '../../src/mail/tracking/tracking-tokens.ts';
import { deliver } from '../support/deliver.ts';
import { eventsAt, undocumented } from '../support/delivered-events.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

interface Notification {
  type: string;
  object: string;
  object_data: {
    id: string;
    account_id: string;
    object: string;
    attributes: unknown;
    metadata: Record<string, unknown>;
  };
}
interface Message {
  id: string;
  thread_id: string;
  body: string;
  subject: string;
}

const READ_RECEIPT =
  'Content-Type: multipart/report; report-type=disposition-notification; boundary="r"';
const some = <T>(list: T[]): T[] | false => list.length > 0 && list;
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const TRACKING = { opens: true, links: true, thread_replies: true, payload: 'campaign 7' };
const BODY =
  '<html><body><p>See <a href="https://example.test/?a=1&amp;b=2">this</a></p></body></html>';

describe('tracking', () => {
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;
  let ada: TestAccount;
  let bo: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ BASE_URL: 'https://mail.example.test/base' });
    application = await createApplication(server.app);
    receiver = await Receiver.start();
    await createWebhook(server.app, application, `${receiver.origin}/hooks`, {
      triggers: ['message.opened', 'message.link_clicked', 'thread.replied', 'message.bounced'],
    });
    ada = await createAccount(server.app, application, { mirrored: true });
    bo = await createAccount(server.app, application, { mirrored: true });
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const received = (type: string, messageId?: string): Notification[] =>
    receiver.posted
      .flatMap(({ body }) => (JSON.parse(body.toString()) as { deltas: Notification[] }).deltas)
      .filter(
        (delta) =>
          delta.type === type &&
          (!messageId || delta.object_data.metadata['message_id'] === messageId),
      );
  const list = async (account: TestAccount, query: object): Promise<Message[]> =>
    (await request(server.url).get('/messages').set(account.bearer).query(query)).body;
  const post = (body: object, account = ada) =>
    request(server.url).post('/v2/outbox').set(account.bearer).send(body);

  async function arrived(
    account: TestAccount,
    subject: string,
    folder = 'inbox',
  ): Promise<Message> {
    return until(
      `${subject} in ${folder}`,
      async () => (await list(account, { subject, in: folder }))[0],
    );
  }
  /** Sends a message. @returns the received message, the sender's copy and the response */
  async function sent(subject: string, extra: object = {}) {
    const response = await post({
      to: [{ email: bo.email }],
      subject,
      body: BODY,
      tracking: TRACKING,
      ...extra,
    });
    expect(response.status).toBe(202);
    const message = await arrived(bo, subject);
    const copy = await arrived(ada, subject, 'sent');
    return { message, copy, job: response.body };
  }
  /** The paths and queries of the tracking addresses in the HTML. */
  const marksOf = ({ body }: Message) => ({
    pixel: /src="https:\/\/mail\.example\.test\/base(\/t\/o\?i=[\w-]+)"/.exec(body)?.[1] ?? '',
    link: /href="https:\/\/mail\.example\.test\/base(\/t\/c\?l=[\w-]+)"/.exec(body)?.[1] ?? '',
  });
  const visit = (path: string) =>
    request(server.url)
      .get(path)
      .set('user-agent', `Mail 1.0 ${'x'.repeat(1_000)}`)
      .redirects(0);

  it('uses the tracking of a draft, unless the request that sends it names another one', async () => {
    const draft = async (subject: string): Promise<string> => {
      const tracking = { opens: 'true', links: 'true', payload: 'draft' };
      const message = { to: [{ email: bo.email }], subject, body: BODY, tracking };
      return (await request(server.url).post('/drafts').set(ada.bearer).send(message)).body.id;
    };
    const sendDraft = (draft_id: string, rest: object = {}) =>
      request(server.url)
        .post('/send')
        .set(ada.bearer)
        .send({ draft_id, version: 0, ...rest })
        .expect(200);
    await sendDraft(await draft('as drafted'), { tracking: {} });
    const asDrafted = marksOf(await arrived(bo, 'as drafted'));
    expect([asDrafted.pixel, asDrafted.link]).not.toContain('');
    await visit(asDrafted.pixel);
    const [copy] = await list(ada, { subject: 'as drafted' });
    const [opened] = await until('message.opened', async () =>
      some(received('message.opened', copy?.id)),
    );
    expect(opened?.object_data.metadata).toMatchObject({ payload: 'draft' });
    await sendDraft(await draft('as sent'), { tracking: { links: true } });
    const asSent = marksOf(await arrived(bo, 'as sent'));
    expect([asSent.pixel, asSent.link]).toEqual(['', expect.stringContaining('/t/c')]);
  });

  it("reports the first opening and each click, and redirects to the link's target", async () => {
    const { message, copy, job } = await sent('first');
    expect(job.original_data).toMatchObject({ body: BODY, tracking: TRACKING });
    const { pixel, link } = marksOf(message);
    expect(message.body).toMatch(
      /this<\/a><\/p><img src="[^"]+" width="1" height="1" alt="" style="[^"]+"><\/body>/,
    );

    const head = await request(server.url).head(pixel);
    const ahead = await visit(link).set('sec-purpose', 'prefetch;prerender');
    expect([head.status, ahead.status]).toEqual([200, 302]);
    const image = await visit(pixel);
    expect(image.headers).toMatchObject({
      'content-type': 'image/gif',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'cross-origin',
    });
    expect([...(image.body as Buffer).subarray(0, 10)]).toEqual([
      ...Buffer.from('GIF89a'),
      1,
      0,
      1,
      0,
    ]);
    const [opened] = await until('the notification', async () => {
      const all = received('message.opened', copy.id);
      return all.length > 0 && all;
    });
    const recent = {
      id: 0,
      ip: '127.0.0.1',
      user_agent: `Mail 1.0 ${'x'.repeat(291)}`,
      timestamp: expect.any(Number),
    };
    expect(opened).toMatchObject({
      object: 'message',
      object_data: {
        id: copy.id,
        account_id: ada.id,
        attributes: null,
        metadata: {
          message_id: copy.id,
          payload: 'campaign 7',
          sender_app_id: application.clientId,
          count: 1,
          recents: [recent],
        },
      },
    });

    await visit(pixel);
    for (const count of [1, 2]) {
      const answer = await visit(link);
      expect([answer.status, answer.headers['location']]).toEqual([
        302,
        'https://example.test/?a=1&b=2',
      ]);
      expect(answer.headers['referrer-policy']).toBe('no-referrer');
      const [last] = await until('the click', async () => {
        const all = received('message.link_clicked', copy.id).filter(
          ({ object_data: { metadata } }) => metadata['count'] === count,
        );
        return all.length > 0 && all;
      });
      expect(last?.object_data.metadata).toMatchObject({
        payload: 'campaign 7',
        count,
        link_data: [{ url: 'https://example.test/?a=1&b=2', count }],
        recents: Array.from({ length: count }, (_, n) => ({
          ...recent,
          id: count - 1 - n,
          link_index: 0,
        })),
      });
    }
    const [row] = await server.app
      .get(Database)
      .query<{ count: number; recents: unknown[] }>(
        'select open_count as count, recent_opens as recents from tracked_message where message_id = $1',
        [copy.id],
      );
    expect([row?.count, row?.recents.length]).toEqual([2, 2]);
    expect(received('message.opened', copy.id)).toHaveLength(1);
  });

  it('shows the sender the original text, without counting an opening', async () => {
    const { copy, message } = await sent('own view');
    expect(copy.body.trimEnd()).toBe(BODY);
    expect(marksOf(message)).toEqual({
      pixel: expect.stringMatching(/./),
      link: expect.stringMatching(/./),
    });
  });

  it('adds only the requested tracking', async () => {
    const plain = 'Plain & simple < text, https://example.test';
    const cases: [object, RegExp][] = [
      [
        { opens: true },
        /^Plain & simple < text, https:\/\/example.test<img src="[^"]+\/t\/o\?i=[\w-]+"[^>]+>\s*$/,
      ],
      [{ links: true, thread_replies: true }, /^Plain & simple < text, https:\/\/example.test\s*$/],
      [
        { opens: false, links: false, payload: 'x' },
        /^Plain & simple < text, https:\/\/example.test\s*$/,
      ],
    ];
    for (const [index, [tracking, body]] of cases.entries()) {
      const { message } = await sent(`asked ${index}`, { body: plain, tracking });
      expect(message.body).toMatch(body);
    }
  });

  it('follows edits until the message is sent', async () => {
    const response = await post({
      to: [{ email: bo.email }],
      subject: 'edited',
      body: BODY,
      send_at: inSeconds(3_600),
      tracking: TRACKING,
    });
    const path = `/v2/outbox/${response.body.job_status_id}`;
    const patch = (body: object) => request(server.url).patch(path).set(ada.bearer).send(body);
    expect((await patch({ tracking: { opens: false } })).body.original_data.tracking).toEqual({
      opens: false,
    });
    expect(await tracked('edited')).toEqual([]);
    const html = '<a href="https://other.test/">other</a>';
    const changed = await patch({ body: html, tracking: { links: true, payload: 'second' } });
    expect(changed.body.original_data).toMatchObject({
      body: html,
      tracking: { links: true, payload: 'second' },
    });
    expect((await patch({ send_at: 0 })).status).toBe(200);
    const message = await arrived(bo, 'edited');
    const copy = await arrived(ada, 'edited', 'sent');
    const { pixel, link } = marksOf(message);
    expect(pixel).toBe('');
    expect((await visit(link)).headers['location']).toBe('https://other.test/');
    const [click] = await until('the click', async () =>
      some(received('message.link_clicked', copy.id)),
    );
    expect(click?.object_data.metadata).toMatchObject({
      payload: 'second',
      link_data: [{ url: 'https://other.test/', count: 1 }],
    });
  });

  it('counts nothing before the send time, after 90 days, or for links that were never sent', async () => {
    const { message, copy } = await sent('times');
    const { pixel, link } = marksOf(message);
    const database = server.app.get(Database);
    const shift = (by: string) =>
      database.query(
        `update tracked_message set counted_from = now() + $2::interval, counted_until = now() + $2::interval + interval '90 days'
         where message_id = $1`,
        [copy.id, by],
      );
    const tokens = server.app.get(TrackingTokens);
    const never = tokens.link({ messageId: copy.id, index: 0, url: 'https://never.test/' });
    for (const by of ['1 hour', '-91 days']) {
      await shift(by);
      expect((await visit(pixel)).status).toBe(200);
      expect((await visit(link)).status).toBe(302);
      // Visits are counted after the response is sent, with the time of the count.
      await server.app.get(Hits).settled();
    }
    await shift('-89 days');
    expect((await visit(`/t/c?l=${never}`)).headers['location']).toBe('https://never.test/');
    await visit(link);
    const clicks = await until('the last click', async () =>
      some(received('message.link_clicked', copy.id)),
    );
    expect(clicks.map(({ object_data: { metadata } }) => metadata['count'])).toEqual([1]);
    expect(received('message.opened', copy.id)).toEqual([]);

    await shift('-91 days');
    expect(await pruneTrackedMessages(database, new Date())).toBe(1);
    expect((await visit(link)).headers['location']).toBe('https://example.test/?a=1&b=2');
    expect((await visit(pixel)).status).toBe(200);
  });

  it('stores the last fifty visits one by one, and reports each count at most once', async () => {
    const { message, copy } = await sent('many');
    const { link } = marksOf(message);
    const answers = await Promise.all(Array.from({ length: 100 }, () => visit(link)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]));
    for (let done = 0; done < 60;) {
      await visit(link);
      done = Math.max(
        0,
        ...received('message.link_clicked', copy.id).map(({ object_data }) =>
          Number(object_data.metadata['count']),
        ),
      );
    }
    const clicks = received('message.link_clicked', copy.id).map(
      ({ object_data: { metadata } }) => metadata,
    );
    const counts = clicks.map(({ count }) => count as number);
    expect(new Set(counts).size).toBe(counts.length);
    expect(Math.max(...clicks.map(({ recents }) => (recents as unknown[]).length))).toBe(50);
  });

  it('ignores addresses that the server has not signed', async () => {
    const { message } = await sent('signed');
    const { pixel, link } = marksOf(message);
    const [, openToken = ''] = pixel.split('=');
    const [, linkToken = ''] = link.split('=');
    const other = new TrackingTokens([{ id: 'x', key: Buffer.alloc(32) }]);
    const forged = other.link({ messageId: message.id, index: 0, url: 'https://evil.test/' });
    for (const path of [
      '/t/o',
      '/t/c',
      '/t/o?i=',
      '/t/c?l=',
      `/t/o?i=${linkToken}`,
      `/t/c?l=${openToken}`,
      `/t/c?l=${forged}`,
      `/t/c?l=${linkToken}A`,
      `/t/c?l=${linkToken}&l=${linkToken}`,
      `/t/c?l[url]=https://evil.test`,
      `/t/o?i=${openToken.slice(0, -1)}`,
      '/t/c?url=https://evil.test',
      '/t',
    ]) {
      const { status, body, headers } = await visit(path);
      expect([path, status, body.type, headers['location']]).toEqual([
        path,
        404,
        'invalid_request_error',
        undefined,
      ]);
    }
    expect((await request(server.url).post(link)).status).toBe(405);
    expect((await request(server.url).get('/openapi.json')).text).not.toContain('/t/c');
  });

  it('reports each reply once, from any sender', async () => {
    const { message, copy } = await sent('a question');
    const answers = () =>
      received('thread.replied').filter(
        ({ object_data: { metadata } }) => metadata['reply_to_message_id'] === copy.id,
      );
    expect(
      (
        await post(
          { to: [{ email: ada.email }], body: '<p>Yes</p>', reply_to_message_id: message.id },
          bo,
        )
      ).status,
    ).toBe(202);
    const [first] = await until('the reply', async () => some(answers()));
    const [answer] = await list(ada, { thread_id: copy.thread_id, in: 'inbox' });
    expect(first).toMatchObject({
      object: 'thread',
      object_data: {
        id: copy.thread_id,
        object: 'thread',
        attributes: null,
        metadata: {
          message_id: answer?.id,
          reply_to_message_id: copy.id,
          thread_id: copy.thread_id,
          timestamp: expect.any(Number),
          from_self: false,
          payload: 'campaign 7',
          sender_app_id: application.clientId,
        },
      },
    });
    // A reply of the account itself to the reply.
    await post({ to: [{ email: bo.email }], body: '<p>Good</p>', reply_to_message_id: answer?.id });
    const second = await until('the reply of the account itself', async () => answers()[1]);
    expect(second.object_data.metadata).toMatchObject({
      from_self: true,
      reply_to_message_id: copy.id,
    });
    const header = await deliver(server, ada, [
      `References: ${await headerOf(copy)}`,
      'Subject: Re: a question',
      '',
      'x',
    ]);
    await until('the third reply', async () => answers().length === 3);
    // The same message once more, as a newly mirrored mailbox would bring it, and a message older
    // than the time that is remembered.
    const again = (receivedAt: Date, messageIdHeader: string) =>
      server.app.get(Database).transaction(async (sql) => {
        const account = { accountId: ada.id, applicationId: application.id, email: ada.email };
        const reply = {
          id: newId(),
          threadId: copy.thread_id,
          inReplyTo: null,
          references: [],
          author: null,
          isAutomatic: false,
        };
        const mail = [{ ...reply, messageIdHeader, receivedAt }];
        const happened = await notificationsOf(
          sql,
          account,
          mail,
          () => Promise.resolve(new Map()),
          new Date(),
        );
        await recordChanges(sql, happened);
        const webhookEvents = await sql.query(
          'select 1 from webhook_event where created_at >= now()',
        );
        return [happened.length, webhookEvents.length > 0];
      });
    expect(await again(new Date(), header)).toEqual([1, false]);
    expect(await again(new Date(), '<another@elsewhere.test>')).toEqual([1, true]);
    expect(await again(new Date(Date.now() - 8 * 86_400_000), '<old@elsewhere.test>')).toEqual([
      0,
      false,
    ]);
    await until('the fourth reply', async () => answers().length === 4);
  });

  it("reports no replies to untracked messages, no copies of the sender's own messages and no read receipts", async () => {
    const silent = await sent('silent', { tracking: { opens: true } });
    const heard = await sent('heard', { to: [{ email: bo.email }, { email: ada.email }] });
    for (const { message } of [silent, heard])
      await post({ to: [{ email: ada.email }], body: 'x', reply_to_message_id: message.id }, bo);
    await deliver(server, ada, [
      `In-Reply-To: ${await headerOf(heard.copy)}`,
      'Subject: Read: heard',
      READ_RECEIPT,
      '',
      '--r--',
    ]);
    await until('the read receipt', async () => (await list(ada, { subject: 'Read: heard' }))[0]);
    await until(
      'both replies',
      async () => (await list(ada, { subject: 'Re: silent', in: 'inbox' }))[0],
    );
    const about = await until('the reply', async () =>
      some(
        received('thread.replied').filter(({ object_data: { metadata } }) =>
          [silent.copy.id, heard.copy.id].includes(metadata['reply_to_message_id'] as string),
        ),
      ),
    );
    expect(about.map(({ object_data: { metadata } }) => metadata['reply_to_message_id'])).toEqual([
      heard.copy.id,
    ]);
  });

  it('reports each bounce once, for tracked and untracked messages', async () => {
    const { copy } = await sent('bouncing', { tracking: undefined });
    const header = await headerOf(copy);
    const report = (about: string, action = 'failed') => [
      'Subject: Undelivered Mail Returned to Sender',
      `In-Reply-To: ${about}`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
      '',
      '--r',
      '',
      'Sorry',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.test',
      '',
      'Final-Recipient: rfc822; Bo@elsewhere.test',
      `Action: ${action}`,
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 No such user',
      '',
      '--r',
      'Content-Type: message/rfc822',
      '',
      `Message-ID: ${about}`,
      'Subject: bouncing',
      '',
      'x',
      '--r--',
      '',
    ];
    await deliver(server, ada, report('<unknown@elsewhere.test>'));
    await deliver(server, ada, report(header, 'delayed'));
    await deliver(server, ada, report(header));
    const [bounced] = await until('the bounce', async () => some(received('message.bounced')));
    const reports = await list(ada, { subject: 'Undelivered Mail Returned to Sender' });
    expect(reports).toHaveLength(3);
    expect(bounced).toMatchObject({
      object: 'message',
      object_data: {
        id: copy.id,
        attributes: null,
        metadata: {
          message_id: copy.id,
          thread_id: copy.thread_id,
          report_message_id: reports[0]?.id,
          timestamp: expect.any(Number),
          type: 'hard',
          code: '5.1.1',
          bounce_reason: '550 5.1.1 No such user',
          bounced_addresses: ['bo@elsewhere.test'],
          recipients: [
            {
              email: 'bo@elsewhere.test',
              type: 'hard',
              code: '5.1.1',
              smtp_code: '550',
              text: '550 5.1.1 No such user',
            },
          ],
        },
      },
    });
    expect(received('message.bounced')).toHaveLength(1);
  });

  it.each([
    ['Auto-Submitted: auto-replied'],
    ['Auto-Submitted: auto-generated (by a vacation program); x=y'],
    ['Return-Path: <>'],
    ['Precedence: auto_reply'],
    ['X-Autoreply: yes'],
  ])('reports no reply for an automatic answer: %s', async (header) => {
    const subject = `automatic ${header}`;
    const { copy } = await sent(subject);
    const named = `In-Reply-To: ${await headerOf(copy)}`;
    await deliver(server, ada, [named, 'Subject: Out of office', header, '', 'x']);
    await deliver(server, ada, [named, 'Subject: Re: x', 'Auto-Submitted: no', '', 'x']);
    const about = await until('the reply of a person', async () =>
      some(
        received('thread.replied').filter(
          ({ object_data: { metadata } }) => metadata['reply_to_message_id'] === copy.id,
        ),
      ),
    );
    const answer = (await list(ada, { thread_id: copy.thread_id, in: 'inbox' })).filter(
      ({ subject }) => subject === 'Re: x',
    );
    expect(about.map(({ object_data: { metadata } }) => metadata['message_id'])).toEqual(
      answer.map(({ id }) => id),
    );
  });

  describe('reports a bounce', () => {
    const STATUS = [
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.test',
      '',
      'Final-Recipient: rfc822; bo@elsewhere.test',
      'Action: failed',
      'Status: 5.1.1',
      '',
    ];
    const report = (about: string) => [
      'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
      '',
      '--r',
      '',
      'Sorry',
      '--r',
      ...STATUS,
      '--r',
      'Content-Type: message/rfc822',
      '',
      `Message-ID: ${about}`,
      'Subject: x',
      '',
      'x',
      '--r--',
      '',
    ];
    const within = (boundary: string, lines: readonly string[]) => [
      `Content-Type: multipart/mixed; boundary="${boundary}"`,
      '',
      `--${boundary}`,
      ...lines,
      `--${boundary}`,
      '',
      'Checked by a gateway',
      `--${boundary}--`,
      '',
    ];
    const forwarded = (about: string) => [
      'Content-Type: message/rfc822',
      '',
      'From: MAILER-DAEMON@mx.test',
      'MIME-Version: 1.0',
      ...report(about),
    ];
    const notice = (about: string) => [
      'X-Failed-Recipients: Bo@elsewhere.test',
      `References: ${about}`,
      'Content-Type: text/plain',
      '',
      'Failed:',
      '',
      '  bo@elsewhere.test',
      '    550 5.1.1 Unknown user',
      '',
    ];
    const copied = (about: string) => [
      ...notice('<another@x.test>'),
      '------ This is a copy of your message, including all the headers. ------',
      '',
      `Message-ID: ${about}`,
      'Subject: x',
      '',
      'x',
    ];
    const bouncesOf = (id: string) => received('message.bounced', id);

    it.each<[string, (about: string) => string[]]>([
      [
        'in a multipart/mixed, beside the footer of a gateway',
        (about) => within('a', report(about)),
      ],
      ['behind two gateways', (about) => within('a', within('b', report(about)))],
      ['in a message that names the failed recipients in its header', notice],
      ['in such a message with a copy of the original', copied],
    ])('that comes %s', async (what, lines) => {
      const { copy } = await sent(`bounces ${what}`, { tracking: undefined });
      await deliver(server, ada, [
        'Subject: Failed',
        'MIME-Version: 1.0',
        ...lines(await headerOf(copy)),
      ]);
      const [bounced] = await until('the bounce', async () => some(bouncesOf(copy.id)));
      expect(bounced?.object_data.metadata).toMatchObject({
        type: 'hard',
        code: '5.1.1',
        bounced_addresses: ['bo@elsewhere.test'],
      });
    });

    it('once, and none for reports that people forward or that are hidden deeply', async () => {
      const { copy } = await sent('forwarded reports', { tracking: undefined });
      const about = await headerOf(copy);
      const deep = 'abcdef'.split('').reduce((lines, name) => within(name, lines), report(about));
      for (const lines of [within('a', forwarded(about)), forwarded(about), deep, report(about)])
        await deliver(server, ada, ['Subject: Forwarded reports', 'MIME-Version: 1.0', ...lines]);
      const [bounced] = await until('the bounce', async () => some(bouncesOf(copy.id)));
      const all = await until('all four', async () => {
        const found = await list(ada, { subject: 'Forwarded reports', view: 'ids' });
        return found.length === 4 && found;
      });
      expect(all).toContain(bounced?.object_data.metadata['report_message_id']);
      expect(bouncesOf(copy.id)).toHaveLength(1);
    });
  });

  it('sends notifications of the documented shape', () => {
    const events = eventsAt(receiver);
    expect(new Set(events.map(({ type }) => type)).size).toBe(4);
    expect(undocumented(server, events)).toEqual([]);
  });

  it('refuses invalid tracking settings', async () => {
    for (const tracking of [
      { opens: 1 },
      { payload: 'x'.repeat(5_001) },
      { payload: { a: 1 } },
      'yes',
      [],
    ]) {
      const response = await post({ to: [{ email: bo.email }], tracking });
      expect([tracking, response.status]).toEqual([tracking, 400]);
      expect(response.body.message).toMatch(/^tracking/);
    }
  });

  /** The Message-ID header of a message. */
  const headerOf = async ({ id }: Message): Promise<string> => {
    const [row] = await server.app
      .get(Database)
      .query<{ header: string }>('select message_id_header as header from message where id = $1', [
        id,
      ]);
    return row?.header ?? '';
  };
  const tracked = (subject: string) =>
    server.app
      .get(Database)
      .query(
        `select 1 from tracked_message t join outbox_message o using (message_id_header) where o.content ->> 'subject' = $1`,
        [subject],
      );
});
