import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import request from 'supertest';
import { Signals } from '../../src/platform/work/signals.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { MOST_RAW_BYTES } from '../../src/mail/send/raw-body.ts';
import { rowsOf } from '../support/connect.ts';
import { mimeOf, Replica } from '../support/contract-tools.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';
const BO = { email: 'bo@elsewhere.test', name: 'Bo' };
const MAGIC = (name: string) => ({ email: `${name}@sandbox.test` });

const ALL_BUT_INTERVALS = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setTimeout',
  'clearTimeout',
] as const;

describe('POST /send', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });
  beforeEach(async () => {
    ada = await createAccount(server.app, application, { mirrored: true });
    await until('the folders', async () => (await get('/folders?view=ids')).body.length > 0);
  });

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    request(server.url).post(path).set(ada.bearer).set(headers).send(body);
  const send = (body: object, headers?: Record<string, string>) => post('/send', body, headers);
  const raw = (lines: readonly string[] | Buffer, headers: Record<string, string> = {}) =>
    request(server.url)
      .post('/send')
      .set(ada.bearer)
      .set('content-type', 'message/rfc822')
      .set(headers)
      .send(Buffer.isBuffer(lines) ? lines : lines.join('\r\n'));
  const ok = (response: { status: number; body: { message?: string } }) => {
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body as unknown as Record<string, never> & {
      id: string;
      thread_id: string;
      job_status_id: string;
    };
  };
  const job = async (id: string) => (await get(`/job-statuses/${id}?view=expanded`)).body;
  const mirrored = (id: string) =>
    until(`message ${id}`, async () => {
      const { status, body } = await get(`/messages/${id}?view=expanded`);
      return status === 200 && body;
    });
  async function inFolder(name: string, account = ada) {
    const connected = await server.app.get(ProviderAccounts).find(account.id);
    if (!connected) throw new Error('no such account');
    const replica = new Replica(
      server.app.get(ConnectorRegistry).requireMail('sandbox'),
      connected,
    );
    await replica.follow();
    return replica.inFolder(name).map((message) => String(mimeOf(message)));
  }

  /** Blocks the next send at the provider. @returns a function that lets the send continue */
  function blockNextSend(): () => void {
    const mail = server.app.get(ConnectorRegistry).requireMail('sandbox');
    const through = mail.send.bind(mail);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    jest
      .spyOn(mail, 'send')
      .mockImplementationOnce((...parameters) => released.then(() => through(...parameters)));
    return release;
  }
  /**
   * Sends three requests at once. The first send continues when the other two have their responses.
   */
  async function thrice(ask: () => ReturnType<typeof send>) {
    const release = blockNextSend();
    let answered = 0;
    const answers = [1, 2, 3].map(async () => {
      const answer = await ask();
      if ((answered += 1) === 2) release();
      return answer;
    });
    return Promise.all(answers);
  }

  it('returns the message with the same id as its copy in the mailbox', async () => {
    const sent = ok(
      await send({
        to: [BO],
        cc: [],
        bcc: [{ email: 'hidden@elsewhere.test' }],
        from: [],
        reply_to: [],
        date: null,
        events: [],
        labels: [],
        file_ids: [],
        subject: 'Grüße',
        body: '<p>Hello Bo</p>',
        metadata: { team: 'sales' },
        version: 3,
      }),
    );
    expect(sent).toMatchObject({
      object: 'message',
      account_id: ada.id,
      subject: 'Grüße',
      snippet: 'Hello Bo',
      body: '<p>Hello Bo</p>',
      to: [BO],
      cc: [],
      bcc: [{ email: 'hidden@elsewhere.test' }],
      from: [{ email: ada.email, name: 'Test User' }],
      files: [],
      unread: false,
      folder: { name: 'sent' },
      metadata: { team: 'sales' },
      reply_to_message_id: null,
    });
    expect(Math.abs(Number(sent['date']) - Date.now() / 1000)).toBeLessThan(60);
    expect(await mirrored(sent.id)).toMatchObject({
      thread_id: sent.thread_id,
      subject: 'Grüße',
      metadata: { team: 'sales' },
      folder: { name: 'sent' },
    });
    expect(await job(sent.job_status_id)).toMatchObject({
      action: 'send_message',
      status: 'successful',
    });
    expect((await get('/v2/outbox')).body).toEqual([]);
    expect((await get(`/v2/outbox/${sent.job_status_id}`)).status).toBe(404);
    expect(await rowsOf(server, `select 1 from send_job where account_id = $1`, [ada.id])).toEqual(
      [],
    );
  });

  it('returns labels when the account has labels', async () => {
    ada = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label', sample_messages: false },
    });
    await until('the labels', async () => (await get('/labels?view=ids')).body.length > 0);
    const sent = ok(await send({ to: [BO] }));
    expect(sent).toMatchObject({ labels: [{ name: 'sent' }, { name: 'all' }] });
    expect(sent).not.toHaveProperty('folder');
  });

  it('replies in the thread of the message, with the headers and the subject of a reply', async () => {
    const header = await deliver(server, ada, [
      'Subject: Lunch',
      'References: <root@seed.test>',
      '',
      'Lunch?',
    ]);
    const lunch = await until(
      'the message',
      async () => (await get('/messages?subject=Lunch')).body[0],
    );
    const sent = ok(await send({ to: [BO], body: 'Yes', reply_to_message_id: lunch.id }));
    expect(sent).toMatchObject({
      subject: 'Re: Lunch',
      thread_id: lunch.thread_id,
      reply_to_message_id: lunch.id,
    });
    expect(await mirrored(sent.id)).toMatchObject({
      thread_id: lunch.thread_id,
      reply_to_message_id: lunch.id,
      headers: { 'In-Reply-To': header, References: ['<root@seed.test>', header] },
    });
    const inThread = ok(await send({ to: [BO], thread_id: lunch.thread_id }));
    expect(inThread).toMatchObject({
      subject: 'Re: Lunch',
      thread_id: lunch.thread_id,
      reply_to_message_id: sent.id,
    });
    expect(await mirrored(inThread.id)).toMatchObject({ reply_to_message_id: sent.id });
    const draft = ok(await post('/drafts', { to: [BO], reply_to_message_id: lunch.id }));
    const byDraft = ok(await send({ draft_id: draft.id, version: 0 }));
    expect(byDraft).toMatchObject({ reply_to_message_id: lunch.id });
    const mime = `To: bo@example.test\r\nIn-Reply-To: ${header}\r\n\r\nRaw`;
    const raw = await request(server.url)
      .post('/send')
      .set({ ...ada.bearer, 'content-type': 'message/rfc822' })
      .send(mime)
      .expect(200);
    expect(raw.body).toMatchObject({ reply_to_message_id: lunch.id });
    expect(await mirrored(raw.body.id)).toMatchObject({ reply_to_message_id: lunch.id });
    for (const body of [
      { thread_id: UNKNOWN },
      { reply_to_message_id: UNKNOWN },
      { reply_to_message_id: 'x' },
    ])
      expect((await send({ to: [BO], ...body })).status).toBe(400);
  });

  it('sends files of the account, and refuses files of other accounts', async () => {
    const upload = await request(server.url)
      .post('/files')
      .set(ada.bearer)
      .attach('file', Buffer.from('Menu: soup'), {
        filename: 'menu.txt',
        contentType: 'text/plain',
      });
    const [{ id }] = upload.body;
    const sent = ok(await send({ to: [BO], file_ids: [id] }));
    expect(sent).toMatchObject({ files: [{ id, filename: 'menu.txt', size: 10 }] });
    const copy = await mirrored(sent.id);
    expect(copy.files).toMatchObject([{ filename: 'menu.txt', size: 10 }]);
    const bytes = await get(`/files/${copy.files[0].id}/download`);
    expect(bytes.text).toContain('Menu: soup');
    const refused = await send({ to: [BO], file_ids: [UNKNOWN] });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      `file_ids: Couldn't find file ${UNKNOWN}`,
    ]);

    const later = await post('/v2/outbox', {
      to: [BO],
      file_ids: [id],
      send_at: Math.floor(Date.now() / 1000) + 600,
    });
    expect([later.status, later.body.original_data.file_ids]).toEqual([202, [id]]);
    const path = `/v2/outbox/${later.body.job_status_id}`;
    const put = (body: object) => request(server.url).put(path).set(ada.bearer).send(body);
    const stored = async () =>
      (
        await rowsOf<{ mime: Buffer }>(server, 'select mime from outbox_message where id = $1', [
          later.body.job_status_id,
        ])
      )[0]?.mime.toString();
    // The official client sends empty lists together with an edit of another field.
    await put({ subject: 'New', to: [], cc: [], bcc: [], file_ids: [] }).expect(200);
    expect(await stored()).toContain('filename=menu.txt');
    await put({ file_ids: [] }).expect(200);
    expect(await stored()).not.toContain('filename=menu.txt');
    await put({ file_ids: [UNKNOWN] }).expect(400);
    const dry = await post('/v2/outbox?dry_run=true', { to: [BO], file_ids: [id] });
    const plain = await post('/v2/outbox?dry_run=true', { to: [BO] });
    expect(dry.body.size).toBeGreaterThan(plain.body.size + 10);
  });

  it.each([
    ['no recipients', { subject: 'x' }, 'No recipients specified'],
    ['an invalid address', { to: [{ email: 'bo' }] }, 'to.0.email'],
    ['a draft without its version', { draft_id: UNKNOWN }, 'Must specify draft version'],
    ['an invalid version', { draft_id: UNKNOWN, version: 'x' }, 'version: must be an integer'],
    ['a nested value', { to: [BO], metadata: { a: { b: 'c' } } }, 'metadata'],
  ])('refuses %s', async (_, body, words) => {
    const { status, body: error } = await send(body);
    expect([status, error.type]).toEqual([400, 'invalid_request_error']);
    expect(error.message).toContain(words);
  });

  it.each([
    ['rejected', 402, '550 : 5.1.1', true],
    ['content-rejected', 402, '554 : 5.6.0', false],
    ['quota', 429, '550 : 5.4.5', false],
    ['rate-limited', 429, '450 : 4.7.28', false],
    ['temporary', 503, '451 : 4.3.2', false],
    ['unknown-lost', 503, 'The connection closed', false],
  ])('answers a message to %s@ with %i', async (name, status, words, listed) => {
    const { body, ...response } = await send({ to: [MAGIC(name)], subject: 'Hi' });
    expect([response.status, body.type]).toEqual([status, 'api_error']);
    expect(body.server_error).toContain(words);
    expect(body.failures !== undefined).toBe(listed);
    if (status === 429) expect(response.headers['x-ratelimit-reset']).toMatch(/^\d+$/);
    if (name === 'rate-limited') expect(response.headers['retry-after']).toBe('30');
    expect(await inFolder('sent')).toEqual([]);
  });

  it('names the refused recipients if the others received the message', async () => {
    const { status, body } = await send({ to: [BO, MAGIC('partial')] });
    expect([status, body.type]).toEqual([402, 'api_error']);
    expect(body.failures).toEqual({ 'partial@sandbox.test': expect.stringContaining('550 5.1.1') });
    expect(await inFolder('sent')).toHaveLength(1);
  });

  it('marks the account invalid if the provider refuses the credentials', async () => {
    const { status, body } = await send({ to: [MAGIC('auth-invalid')] });
    expect([status, body.type]).toEqual([403, 'api_error']);
    expect((await get('/account')).body.sync_state).toBe('invalid');
    expect((await send({ to: [BO] })).status).toBe(403);
  });

  it('finds a sent message after a lost response, and reports an unknown outcome if it cannot look up the message', async () => {
    const found = ok(await send({ to: [MAGIC('unknown')] }));
    expect(await mirrored(found.id)).toMatchObject({ folder: { name: 'sent' } });
    ada = await createAccount(server.app, application, { settings: { sent_copies: false } });
    const { status, body } = await send({ to: [MAGIC('unknown')] });
    expect([status, body.type]).toEqual([503, 'api_error']);
    expect(body.message).toContain('might send it twice');
    expect(await job(body.job_status_id)).toMatchObject({
      status: 'delayed',
      attempts: [{ outcome: 'unknown', rule: 'look-up' }],
    });
  });

  it('sends once per Idempotency-Key, and sends again with the same key if the first request failed', async () => {
    const key = { 'idempotency-key': 'k-1' };
    const first = ok(await send({ to: [BO], subject: 'Once' }, key));
    const again = await send({ to: [BO], subject: 'Once' }, key);
    expect(again.body).toEqual(first);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await send({ to: [BO], subject: 'Other' }, key)).status).toBe(409);
    expect(await inFolder('sent')).toHaveLength(1);

    const failing = { 'idempotency-key': 'k-2' };
    const body = { to: [MAGIC('temporary')] };
    expect((await send(body, failing)).status).toBe(503);
    expect((await send(body, failing)).status).toBe(503);
    const tried = `select 1 from outbox_message where account_id = $1`;
    expect(await rowsOf(server, tried, [ada.id])).toHaveLength(3);

    const partly = { 'idempotency-key': 'k-3' };
    const answers = [];
    for (let n = 0; n < 2; n += 1) answers.push(await send({ to: [BO, MAGIC('partial')] }, partly));
    expect(answers.map(({ status }) => status)).toEqual([402, 402]);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
    expect(await rowsOf(server, tried, [ada.id])).toHaveLength(4);

    const racing = { 'idempotency-key': 'k-4' };
    const race = await thrice(() => send({ to: [BO] }, racing));
    expect(race.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  });

  describe('with a draft', () => {
    const draft = async (body: object = {}) =>
      ok(await post('/drafts', { to: [BO], subject: 'Draft', ...body }));
    const shown = async (id: string) => (await get(`/drafts/${id}`)).status;

    it('sends the stored content, and the draft disappears here and at the provider', async () => {
      const upload = await request(server.url)
        .post('/files')
        .set(ada.bearer)
        .attach('file', Buffer.from('Menu'), { filename: 'menu.txt', contentType: 'text/plain' });
      const file_ids = [upload.body[0].id];
      const { id, thread_id } = await draft({ body: '<b>Hi</b>', file_ids, metadata: { a: 'b' } });
      await until('the draft at the provider', async () => (await inFolder('drafts')).length === 1);
      const sent = ok(await send({ draft_id: id, version: 0, tracking: null }));
      expect(sent).toMatchObject({
        object: 'message',
        subject: 'Draft',
        body: '<b>Hi</b>',
        thread_id,
        to: [BO],
        metadata: { a: 'b' },
        files: [{ filename: 'menu.txt' }],
      });
      expect(await shown(id)).toBe(404);
      await until(
        'the draft to be deleted at the provider',
        async () => (await inFolder('drafts')).length === 0,
      );
      expect(await mirrored(sent.id)).toMatchObject({
        thread_id,
        files: [{ filename: 'menu.txt' }],
      });
      expect((await send({ draft_id: id, version: 0 })).status).toBe(404);
      expect((await get('/drafts')).body).toEqual([]);
    });

    it('keeps the draft if sending fails or the version is out of date', async () => {
      const { id } = await draft({ to: [MAGIC('temporary')] });
      expect((await send({ draft_id: id, version: 1 })).status).toBe(409);
      expect((await send({ draft_id: id, version: 0 })).status).toBe(503);
      expect(await shown(id)).toBe(200);
      expect((await send({ draft_id: UNKNOWN, version: 0 })).status).toBe(404);
    });

    it('sends the draft once for several simultaneous requests', async () => {
      const { id } = await draft();
      const answers = await thrice(() => send({ draft_id: id, version: 0 }));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(2);
      expect(await inFolder('sent')).toHaveLength(1);
    });
  });

  it('keeps every line within 998 octets, also with a subject and a name that have no spaces', async () => {
    const subject = 'ab'.repeat(750);
    const name = 'q"x'.repeat(332);
    const { id } = ok(await send({ to: [{ email: ada.email, name }], subject, body: 'x' }));
    const [mime = ''] = await inFolder('sent');
    expect(Math.max(...mime.split('\r\n').map(({ length }) => length))).toBeLessThanOrEqual(998);
    expect(await mirrored(id)).toMatchObject({ subject, to: [{ email: ada.email, name }] });
  });

  describe('with raw MIME', () => {
    const header = () => [`From: Ada <${ada.email}>`, 'To: Bo <bo@elsewhere.test>', 'Subject: Raw'];

    it('sends the message as it is, but removes Bcc and adds missing headers, and keeps its Message-ID', async () => {
      const own = `<own-${createHash('md5').update(ada.id).digest('hex')}@there.test>`;
      const lines = [
        ...header(),
        'Bcc: hidden@elsewhere.test,',
        ' more@elsewhere.test',
        `Message-ID: ${own}`,
      ];
      const sent = ok(
        await raw([...lines, 'X-Mine: 1', '', 'Good day.'], {
          'content-type': 'message/rfc822; charset=utf-8',
        }),
      );
      expect(sent).toMatchObject({
        object: 'message',
        subject: 'Raw',
        to: [BO],
        folder: { name: 'sent' },
        bcc: [
          { email: 'hidden@elsewhere.test', name: '' },
          { email: 'more@elsewhere.test', name: '' },
        ],
      });
      expect(await mirrored(sent.id)).toMatchObject({
        thread_id: sent.thread_id,
        headers: { 'Message-Id': own },
      });
      const cy = await createAccount(server.app, application, {
        email: `cy-${ada.id}@sandbox.test`,
      });
      ok(await raw([`To: ${cy.email}`, `Bcc: hidden@elsewhere.test`, '', 'Hi']));
      const [received] = await inFolder('inbox', cy);
      expect(received).toMatch(
        /^Message-ID: <[^>]+>\r\nFrom: Test User <[^>]+>\r\nDate: .* \+0000\r\nTo: /,
      );
      expect(received).not.toContain('hidden@');
    });

    it('joins the thread of the message that it replies to', async () => {
      const answered = await deliver(server, ada, ['Subject: Lunch', '', 'Lunch?']);
      const lunch = await until(
        'the message',
        async () => (await get('/messages?subject=Lunch')).body[0],
      );
      const sent = ok(await raw([...header(), `In-Reply-To: ${answered}`, '', 'Yes']));
      expect(sent.thread_id).toBe(lunch.thread_id);
    });

    it('refuses text that is not a message, another sender, and a message without recipients', async () => {
      const answers = [
        await raw(['no header at all']),
        await raw(['To: bo@elsewhere.test', 'From: eve@elsewhere.test', '', 'x']),
        await raw([`From: ${ada.email}`, '', 'x']),
        await raw(['To: not-an-address', '', 'x']),
        await raw(Buffer.alloc(0)),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
      expect((await raw([...header(), '', 'x'], { 'content-encoding': 'gzip' })).status).toBe(400);
      expect(await inFolder('sent')).toEqual([]);
    });

    it('refuses a message that is too large, and sends once per Idempotency-Key', async () => {
      const large = await raw(Buffer.alloc(MOST_RAW_BYTES + 1, 'a')).catch((error: Error) => error);
      // The response arrives before the whole request is sent, and some clients then fail without
      // reading it.
      if (!(large instanceof Error)) expect(large.status).toBe(413);
      const key = { 'idempotency-key': 'raw' };
      const first = ok(await raw([...header(), '', 'x'], key));
      expect((await raw([...header(), '', 'x'], key)).body).toEqual(first);
      expect((await raw([...header(), '', 'y'], key)).status).toBe(409);
      expect(await inFolder('sent')).toHaveLength(1);
    });
  });

  it('is also available at /v2/send, which queues the message with sendnow=false', async () => {
    const later = await post('/v2/send?sendnow=false', {
      to: [BO],
      send_at: Math.floor(Date.now() / 1000) + 600,
    });
    expect([later.status, later.body.status, later.body.action]).toEqual([
      202,
      'pending',
      'new_outbox',
    ]);
    expect((await get(`/v2/outbox/${later.body.job_status_id}`)).status).toBe(200);
    const plan = await post('/v2/send?sendnow=false&dry_run=true', { to: [BO] });
    expect([plan.status, plan.body.dry_run]).toEqual([200, true]);
    for (const query of ['', '?sendnow=true'])
      expect(ok(await post(`/v2/send${query}`, { to: [BO] }))).toMatchObject({ object: 'message' });
    const wrong = [
      await post('/v2/send?sendnow=maybe', { to: [BO] }),
      await post('/v2/send', { to: [BO], send_at: Math.floor(Date.now() / 1000) + 600 }),
      await post('/v2/send?sendnow=false', { draft_id: UNKNOWN, version: 0 }),
    ];
    expect(wrong.map(({ status }) => status)).toEqual([400, 400, 400]);
  });

  it('completes even if the client disconnects', async () => {
    const { id } = ok(await post('/drafts', { to: [BO], subject: 'Draft' }));
    const release = blockNextSend();
    const abort = new AbortController();
    const asked = fetch(`${server.url}/send`, {
      method: 'POST',
      headers: ada.bearer,
      body: JSON.stringify({ draft_id: id, version: 0 }),
      signal: abort.signal,
    }).catch(() => undefined);
    const row = `select 1 from send_job where account_id = $1`;
    await until(
      'the send to start',
      async () => (await rowsOf(server, row, [ada.id])).length === 1,
    );
    abort.abort();
    await asked;
    release();
    await until('the send to end', async () => (await rowsOf(server, row, [ada.id])).length === 0);
    expect(await inFolder('sent')).toHaveLength(1);
    expect((await get(`/drafts/${id}`)).status).toBe(404);
  });

  it.each([
    ['was sent', BO],
    ['has an unknown outcome', MAGIC('unknown-lost')],
  ])(
    'leaves the row alone if a worker has claimed it meanwhile and the message %s',
    async (_outcome, to) => {
      // Only the interval of the lease is faked.
      jest.useFakeTimers({ doNotFake: [...ALL_BUT_INTERVALS] });
      const release = blockNextSend();
      const answer = send({ to: [to], subject: 'Taken over' }).then(({ status }) => status);
      const of = 'from send_job where account_id = $1';
      await until(
        'the send to start',
        async () => (await rowsOf(server, `select 1 ${of}`, [ada.id])).length === 1,
      );
      // The lease ran out; a worker claimed the row, and it waits for its second look-up.
      await rowsOf(
        server,
        `update send_job set fence = 1, attempt = 2, run_at = now() + interval '1 h' where account_id = $1`,
        [ada.id],
      );
      jest.advanceTimersByTime(60_000);
      jest.useRealTimers();
      release();
      await answer;
      const text = `select fence, run_at > now() + interval '50 min' as waits ${of}`;
      expect(await rowsOf(server, text, [ada.id])).toEqual([{ fence: 1, waits: true }]);
    },
  );

  it('leaves messages to a worker if its process dies, and the worker looks them up and never sends them again', async () => {
    const { id: draftId } = ok(await post('/drafts', { to: [BO], subject: 'Draft' }));
    // The rows that a dying process leaves: one died before it sent the first byte, the other after
    // the last byte.
    const rows: string[] = [];
    for (const to of ['temporary', 'unknown']) {
      const { body } = await send({ to: [MAGIC(to)], subject: to });
      const id =
        body.job_status_id ??
        (
          await rowsOf<{ id: string }>(
            server,
            `select id from job_status where account_id = $1 order by id desc limit 1`,
            [ada.id],
          )
        )[0]?.id;
      rows.push(id);
    }
    const [lost, arrived] = rows;
    for (const id of rows)
      await rowsOf(server, `alter table job_status disable trigger user`).then(() =>
        rowsOf(
          server,
          `with s as (update job_status set status = 'pending', reason = null where id = $1),
             d as (update outbox_message set content = content || jsonb_build_object('draft', jsonb_build_object('id', $3::text, 'version', 0)) where id = $1)
           insert into send_job (id, account_id, run_at, due_at, retry_limit_at, attempt, ambiguous)
           values ($1, $2, now() + interval '1 h', now(), now(), 1, true)`,
          [id, ada.id, draftId],
        ),
      );
    await rowsOf(server, `alter table job_status enable trigger user`);
    expect((await send({ draft_id: draftId, version: 0 })).status).toBe(409);
    await rowsOf(server, `update send_job set run_at = now() where id = any($1::uuid[])`, [rows]);
    server.app.get(Signals).wake('send');
    await until('both results', async () => {
      const states = [await job(lost ?? ''), await job(arrived ?? '')].map(({ status }) => status);
      return states.join() === 'failed,successful';
    });
    expect(await inFolder('sent')).toHaveLength(1);
    expect((await get(`/drafts/${draftId}`)).status).toBe(404);
  });
});
