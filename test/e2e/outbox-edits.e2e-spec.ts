import request from 'supertest';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const [to, cc, bcc, replyTo] = ['to', 'cc', 'bcc', 'reply'].map((name) => ({
  email: `${name}@elsewhere.test`,
  name,
})) as [Address, Address, Address, Address];
interface Address {
  email: string;
  name: string;
}

/** What Node and Java send for an edit of the subject only. */
const PADDED = {
  node: {
    subject: 'Two',
    to: [],
    cc: [],
    bcc: [],
    from: [],
    reply_to: [],
    file_ids: [],
    events: [],
    labels: [],
    date: null,
  },
  java: {
    subject: 'Two',
    to: [],
    cc: [],
    bcc: [],
    from: [],
    reply_to: [],
    file_ids: [],
    metadata: {},
  },
};

describe('edits of outbox messages', () => {
  let server: TestApp;
  let ada: TestAccount;
  beforeAll(async () => {
    // No worker runs, so waiting messages stay as they are.
    server = await startTestApp({ ROLES: 'api' });
    ada = await createAccount(server.app, await createApplication(server.app));
  });
  afterAll(() => server.close());

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);
  const accept = async (body: object) => {
    const sent = { subject: 'One', send_at: inSeconds(3600), ...body };
    const { body: message } = await request(server.url)
      .post('/v2/outbox')
      .set(ada.bearer)
      .send(sent)
      .expect(202);
    return message as { job_status_id: string; version: number; original_data: object };
  };
  const edit = (id: string, body: object, method: 'patch' | 'put' = 'patch') =>
    request(server.url)[method](`/v2/outbox/${id}`).set(ada.bearer).send(body);
  const envelope = async (id: string) => {
    const [row] = await rowsOf<{ envelope: { recipients: string[] }; mime: Buffer }>(
      server,
      'select envelope, mime from outbox_message where id = $1',
      [id],
    );
    return { recipients: row?.envelope.recipients.toSorted(), mime: row?.mime.toString() ?? '' };
  };
  const upload = async () => {
    const { body } = await request(server.url)
      .post('/files')
      .set(ada.bearer)
      .attach('file', Buffer.from('Menu: soup'), {
        filename: 'menu.txt',
        contentType: 'text/plain',
      });
    return body[0].id as string;
  };

  describe('with empty lists', () => {
    const full = { to: [to], cc: [cc], bcc: [bcc], reply_to: [replyTo] };
    it.each([
      [{ bcc: [] }, { bcc: [] }, ['cc', 'to']],
      [{ cc: [] }, { cc: [] }, ['bcc', 'to']],
      [{ to: [] }, { to: [] }, ['bcc', 'cc']],
      [{ to: [], bcc: [] }, { to: [], bcc: [] }, ['cc']],
      [{ cc: [], bcc: [], subject: 'x' }, { cc: [], bcc: [], subject: 'x' }, ['to']],
      [{ reply_to: [] }, { reply_to: [] }, ['bcc', 'cc', 'to']],
      [{ to: [], cc: [], bcc: [], reply_to: [cc] }, { reply_to: [cc] }, ['bcc', 'cc', 'to']],
      [
        { to: [cc], cc: [], bcc: [], reply_to: [] },
        { to: [cc], cc: [], bcc: [], reply_to: [] },
        ['cc'],
      ],
    ])('replace the lists that %j names, and no other', async (body, changed, recipients) => {
      const { job_status_id: id, original_data: before } = await accept(full);
      const edited = await edit(id, body).expect(200);
      expect(edited.body.original_data).toEqual({ ...before, ...changed });
      expect(edited.body.version).toBe(2);
      const stored = await envelope(id);
      expect(stored.recipients).toEqual(recipients.map((name) => `${name}@elsewhere.test`));
      expect(stored.mime.includes('reply@elsewhere.test')).toBe(!('reply_to' in changed));
    });

    it.each(Object.entries(PADDED))(
      'keep recipients, attachments and metadata in an edit of the subject by the %s client',
      async (_, body) => {
        const file = await upload();
        const metadata = { team: 'sales' };
        const { job_status_id: id, original_data: before } = await accept({
          ...full,
          file_ids: [file],
          metadata,
        });
        const edited = await edit(id, body).expect(200);
        expect(edited.body.original_data).toEqual({ ...before, subject: 'Two' });
        const { recipients, mime } = await envelope(id);
        expect(recipients).toEqual([bcc, cc, to].map(({ email }) => email));
        expect(mime).toContain('filename=menu.txt');
      },
    );

    it.each([
      [{ to: [to] }, { to: [] }],
      [{ to: [to] }, { to: [], cc: [] }],
      [{ bcc: [bcc] }, { bcc: [], subject: 'x' }],
      [
        { to: [to], cc: [cc] },
        { to: [], cc: [] },
      ],
    ])('of a message with %j are refused if they leave no recipient: %j', async (first, body) => {
      const { job_status_id: id } = await accept(first);
      const before = (await get(`/v2/outbox/${id}`)).body;
      const refused = await edit(id, body);
      expect([refused.status, refused.body.message]).toEqual([
        400,
        'to: the edit would leave no recipient; name at least one in to, cc or bcc, or cancel the message',
      ]);
      expect((await get(`/v2/outbox/${id}`)).body).toEqual(before);
    });
  });

  describe('that change nothing', () => {
    it.each(['patch', 'put'] as const)(
      'return the message with its version by %s',
      async (method) => {
        const { job_status_id: id, ...message } = await accept({
          to: [to],
          bcc: [bcc],
          metadata: { a: 'b' },
          tracking: { opens: true },
          retry_limit_datetime: inSeconds(7200),
        });
        const before = await envelope(id);
        const own = message.original_data as Record<string, unknown>;
        for (const body of [
          {},
          { version: 1 },
          { subject: null },
          PADDED.java,
          own,
          { bcc: [bcc] },
        ]) {
          const same = { ...body, ...('subject' in body ? { subject: own['subject'] } : {}) };
          const edited = await edit(id, same, method);
          expect([edited.status, edited.body]).toEqual([200, { job_status_id: id, ...message }]);
          expect(edited.headers['etag']).toBe('"1"');
        }
        expect(await envelope(id)).toEqual(before);
      },
    );

    it('are accepted with the times of a message that is due', async () => {
      const { job_status_id: id, ...message } = await accept({ to: [to], send_at: 0 });
      const { send_at: sendAt, retry_limit_datetime: limit } = message.original_data as {
        send_at: number;
        retry_limit_datetime: number;
      };
      const same = { send_at: sendAt, retry_limit_datetime: limit };
      expect((await edit(id, same).expect(200)).body).toEqual({ job_status_id: id, ...message });
    });

    it('are refused like any other edit of a message that has ended', async () => {
      const { job_status_id: id } = await accept({ to: [to] });
      await request(server.url).delete(`/v2/outbox/${id}`).set(ada.bearer).expect(200);
      await edit(id, {}).expect(409);
    });
  });

  it('may contain the thread and the version of the stored draft that they were made from', async () => {
    const { body: draft } = await request(server.url)
      .post('/drafts')
      .set(ada.bearer)
      .send({ to: [to], subject: 'One' })
      .expect(200);
    const { job_status_id: id } = await accept({ to: [to], thread_id: draft.thread_id });
    const { thread_id, to: list } = draft;
    for (const [subject, version] of [
      ['Two', 7],
      ['Three', 1],
    ] as const) {
      const edited = await edit(id, { thread_id, to: list, subject, version }).expect(200);
      expect(edited.body.original_data).toMatchObject({ subject });
    }
    await edit(id, { thread_id, subject: 'Four', version: 7 }).expect(409);
    await edit(id, { thread_id, to: list, subject: 'Four' }).set('If-Match', '"1"').expect(412);
  });

  it('may contain the version 0 of the draft that they were made from', async () => {
    const { job_status_id: id } = await accept({ to: [to] });
    const edited = await edit(id, { subject: 'Two', version: 0 }).expect(200);
    expect(edited.body).toMatchObject({ version: 2, original_data: { subject: 'Two' } });
    await request(server.url)
      .delete(`/v2/outbox/${id}`)
      .set(ada.bearer)
      .send({ version: 0 })
      .expect(409);
  });

  it.each([[{}], [null], [{ opens: null, links: null }]])(
    'keep the tracking if they contain %j, which clients send for tracking that was not set',
    async (tracking) => {
      const { job_status_id: id } = await accept({ to: [to], tracking: { opens: true } });
      const { body: edited } = await edit(id, { subject: 'Two', tracking }).expect(200);
      expect(edited.original_data).toMatchObject({ subject: 'Two', tracking: { opens: true } });
      const { body: same } = await edit(id, { tracking }).expect(200);
      expect(same.version).toBe(edited.version);
    },
  );

  it('keep the attachments if they contain the files of original_data, as the Java client sends them', async () => {
    const file = await upload();
    const { job_status_id: id, original_data } = await accept({ to: [to], file_ids: [file] });
    const { files } = original_data as { files: { id: string }[] };
    expect(files).toEqual([
      { id: file, object: 'file', filename: 'menu.txt', content_type: 'text/plain', size: 10 },
    ]);
    const body = {
      to: [to],
      cc: [],
      bcc: [],
      subject: 'Two',
      file_ids: files.map((one) => one.id),
    };
    expect((await edit(id, body).expect(200)).body.original_data).toMatchObject({ files });
    expect((await envelope(id)).mime).toContain('filename=menu.txt');
    const { body: bare } = await edit(id, { file_ids: [] }).expect(200);
    expect(bare.original_data).not.toHaveProperty('files');
  });
});

describe('outbox messages', () => {
  let server: TestApp;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    ada = await createAccount(server.app, await createApplication(server.app), {
      email: 'ada@sandbox.test',
      mirrored: true,
    });
  });
  afterAll(() => server.close());

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);
  const post = (body: object, path = '/v2/outbox') =>
    request(server.url).post(path).set(ada.bearer).send(body);

  it('have no field object, which clients would take for a message; their jobs have it', async () => {
    const { body } = await post({ to: [to], send_at: inSeconds(3600) }).expect(202);
    const path = `/v2/outbox/${body.job_status_id}`;
    const edited = await request(server.url).patch(path).set(ada.bearer).send({ subject: 'x' });
    const [listed] = (await get('/v2/outbox')).body;
    for (const view of [body, edited.body, (await get(path)).body, listed])
      expect(view).not.toHaveProperty('object');
    expect((await get(`/job-statuses/${body.job_status_id}`)).body.object).toBe('message');
    const cancelled = await request(server.url).delete(path).set(ada.bearer).expect(200);
    expect(cancelled.body).not.toHaveProperty('object');
  });

  it('are refused with a misspelt field, which would have no effect, and accept those that clients send back', async () => {
    const message = { to: [to], send_at: inSeconds(3600) };
    const { body } = await post({
      ...message,
      id: 'x',
      object: 'draft',
      account_id: ada.id,
      version: 3,
      date: 1,
      starred: false,
      unread: false,
      snippet: 'x',
      files: [],
      events: [],
      labels: [],
      label_ids: [],
      folder: { id: 'x' },
      folder_id: null,
      headers: {},
      job_status_id: 'x',
      original_send_at: 1,
      received_date: 1,
    }).expect(202);
    const count = (await get('/v2/outbox?view=count')).body.count;
    const change = request(server.url).patch(`/v2/outbox/${body.job_status_id}`).set(ada.bearer);
    for (const [refused, text] of [
      [
        await post({ to: [to], send_att: 1 }),
        /^Unknown fields: send_att \(did you mean send_at\?\); /,
      ],
      [await post({ to: [to], sendAt: 1 }), /^Unknown fields: sendAt \(did you mean send_at\?\); /],
      [
        await post({ to: [to], bc: [bcc] }, '/send'),
        /^Unknown fields: bc \(did you mean b?cc\?\); /,
      ],
      [
        await post({ to: [to], retryLimitDatetime: 0 }, '/v2/send?sendnow=false'),
        /did you mean retry_limit_datetime\?/,
      ],
      [
        await change.send({ subjekt: 'x' }),
        /^Unknown fields: subjekt \(did you mean subject\?\); /,
      ],
    ] as const)
      expect([refused.status, refused.body.message]).toEqual([400, expect.stringMatching(text)]);
    expect((await get('/v2/outbox?view=count')).body.count).toBe(count);
  });

  it('can be counted and listed by their ids', async () => {
    const first = (await get('/v2/outbox?view=count')).body.count;
    const { body } = await post({ to: [to], send_at: inSeconds(3600) }).expect(202);
    expect((await get('/v2/outbox?view=count&limit=1')).body).toEqual({ count: first + 1 });
    expect((await get('/v2/outbox?view=ids')).body).toContain(body.job_status_id);
    const refused = await get('/v2/outbox?view=expanded');
    expect([refused.status, refused.body.message]).toEqual([
      400,
      'view: Unknown view type expanded.',
    ]);
  });

  describe('with a thread_id', () => {
    const settled = (id: string) =>
      until(`job ${id} to end`, async () => {
        const { body } = await get(`/job-statuses/${id}`);
        return ['successful', 'failed'].includes(body.status) && body;
      });
    const question = async (subject: string) => {
      await post({ to: [{ email: ada.email }], subject }).expect(202);
      return until('the message in the mailbox', async () => {
        const { body } = await get(`/messages?in=inbox&subject=${subject}`);
        return body[0] as { id: string; thread_id: string } | undefined;
      });
    };

    it('reply to the last message of the thread', async () => {
      for (const path of ['/v2/outbox', '/v2/send?sendnow=false']) {
        const subject = `Lunch${path.length}`;
        const { id, thread_id } = await question(subject);
        const { body } = await post({ to: [to], thread_id, send_at: inSeconds(1) }, path);
        expect(body.original_data).toMatchObject({
          subject: `Re: ${subject}`,
          reply_to_message_id: id,
        });
        const job = await settled(body.job_status_id);
        expect(job).toMatchObject({ status: 'successful', thread_id });
      }
    });

    it('are refused if the thread does not exist or has another message than the one named', async () => {
      const [one, other] = [await question('Ones'), await question('Others')];
      const unknown = '019aa1b2-0000-7000-8000-00000000dead';
      for (const [body, message] of [
        [{ thread_id: unknown }, `thread_id: Couldn't find thread ${unknown}`],
        [{ thread_id: 'x' }, `thread_id: Couldn't find thread x`],
        [{ thread_id: one.thread_id, reply_to_message_id: other.id }, /not in the thread that/],
      ] as const) {
        const refused = await post({ to: [to], ...body });
        expect([refused.status, refused.body.message]).toEqual([
          400,
          typeof message === 'string' ? message : expect.stringMatching(message),
        ]);
      }
    });

    it('get another thread by an edit, and keep theirs by every other edit', async () => {
      const [one, other] = [await question('First'), await question('Second')];
      const sent = { to: [to], thread_id: one.thread_id, send_at: inSeconds(3600) };
      const { body } = await post(sent).expect(202);
      const patch = async (change: object) =>
        (
          await request(server.url)
            .patch(`/v2/outbox/${body.job_status_id}`)
            .set(ada.bearer)
            .send(change)
            .expect(200)
        ).body;
      expect((await patch({ thread_id: one.thread_id })).version).toBe(1);
      expect((await patch({ body: 'x' })).original_data.reply_to_message_id).toBe(one.id);
      expect((await patch({ thread_id: other.thread_id })).original_data).toMatchObject({
        reply_to_message_id: other.id,
      });
      await patch({ send_at: 0 });
      expect((await settled(body.job_status_id)).thread_id).toBe(other.thread_id);
    });
  });
});
