import request, { type Response } from 'supertest';
import { type Scope, SCOPES, SCOPES_FOR } from '../../src/platform/auth/scopes.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { recordChanges } from '../../src/platform/changes/change-log.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** Words that each occur in one kind of data only, with the scopes that may read that data. */
const GUARDED: Readonly<Record<string, readonly Scope[]>> = {
  Quicksilver: SCOPES_FOR.readMail, // subject, body and attachment of a received message
  'perpetua@': SCOPES_FOR.readMail, // sender of that message
  Bumblebee: SCOPES_FOR.readDrafts,
  Obsidian: SCOPES_FOR.sendMail, // a message waiting in the outbox
  Tarragon: SCOPES_FOR.readFolders,
  Marmalade: SCOPES_FOR.readCalendar,
  Cinnamon: SCOPES_FOR.readContacts,
};
const START = 1_900_000_000;

describe('a token whose account has granted one scope', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let ids: Record<
    | 'message'
    | 'thread'
    | 'received'
    | 'upload'
    | 'attached'
    | 'draft'
    | 'outbox'
    | 'event'
    | 'contact'
    | 'person'
    | 'job'
    | 'folder',
    string
  >;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    await deliver(
      server,
      ada,
      [
        'Subject: Quicksilver',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b\r\nContent-Type: text/plain\r\n\r\nQuicksilver\r\n' +
          '--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="Quicksilver.txt"\r\n\r\nQuicksilver\r\n--b--\r\n',
      ],
      'perpetua@example.test',
    );
    const message = await until('the message', async () => (await get('/messages')).body[0]);
    const upload = (name: string) =>
      request(server.url)
        .post('/files')
        .set(ada.bearer)
        .attach('file', Buffer.from(name), `${name}.txt`);
    const [free, carried] = [
      (await upload('free')).body[0].id,
      (await upload('Bumblebee')).body[0].id,
    ];
    const draft = await post('/drafts', {
      subject: 'Bumblebee',
      body: 'Bumblebee',
      file_ids: [carried],
      to: [{ email: 'bo@sandbox.test' }],
    });
    const waiting = await post('/v2/outbox', {
      subject: 'Obsidian',
      body: 'Obsidian',
      to: [{ email: 'bo@sandbox.test' }],
      send_at: Math.floor(Date.now() / 1000) + 86_400,
    });
    const folder = await post('/folders', { display_name: 'Tarragon' });
    const calendar = await post('/calendars', { name: 'Marmalade' });
    const event = await post('/events', {
      calendar_id: calendar.body.id,
      title: 'Marmalade',
      when: { time: START },
    });
    const contact = await post('/contacts', {
      given_name: 'Cinnamon',
      emails: [{ email: 'c@example.test', type: 'work' }],
    });
    const person = await until('the sender as a contact', async () => {
      const { body } = await get('/contacts?source=inbox&email=perpetua@example.test');
      return body[0];
    });
    ids = {
      message: message.id,
      thread: message.thread_id,
      received: message.files[0].id,
      upload: free,
      attached: carried,
      draft: draft.body.id,
      outbox: waiting.body.job_status_id,
      event: event.body.id,
      contact: contact.body.id,
      person: person.id,
      job: draft.body.job_status_id,
      folder: folder.body.id,
    };
    for (const id of Object.values(ids)) expect(id).toEqual(expect.any(String));
    await until('all writes to be at the provider', async () => {
      const rows = await rowsOf(server, 'select from provider_job where account_id = $1', [ada.id]);
      return rows.length === 0;
    });
  });
  afterAll(() => server.close());

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);
  const post = (path: string, body: object) =>
    request(server.url).post(path).set(ada.bearer).send(body);
  const put = (path: string, body: object) =>
    request(server.url).put(path).set(ada.bearer).send(body);
  const grant = (...scopes: Scope[]) =>
    rowsOf(server, 'update "grant" set scope = $2 where id = $1', [ada.id, scopes]);
  const words = ({ text, body }: Response) => {
    const said = Buffer.isBuffer(body) ? body.toString() : text;
    return Object.keys(GUARDED).filter((word) => said.includes(word));
  };

  /** Every route that returns data of the account, grouped by the scopes that it needs. */
  const routes = (): [string, () => request.Test][] => [
    ...[
      '/account',
      '/messages?view=expanded',
      `/messages/${ids.message}`,
      `/messages/${ids.draft}`,
      '/threads?view=expanded',
      `/threads/${ids.thread}?view=expanded`,
      '/messages/search?q=Quicksilver',
      '/threads/search?q=Quicksilver',
      '/drafts',
      `/drafts/${ids.draft}`,
      `/drafts/${ids.message}`,
      '/folders',
      `/folders/${ids.folder}`,
      '/files',
      `/files?message_id=${ids.message}`,
      '/files?filename=Quicksilver.txt',
      `/files/${ids.received}`,
      `/files/${ids.received}/download`,
      `/files/${ids.attached}/download`,
      '/v2/outbox',
      `/v2/outbox/${ids.outbox}`,
      '/job-statuses',
      `/job-statuses/${ids.outbox}?view=expanded`,
      `/job-statuses/${ids.job}?view=expanded`,
      '/calendars',
      '/events',
      `/events/${ids.event}`,
      `/events/${ids.event}/notifications`,
      `/events/${ids.event}/invitations`,
      '/contacts',
      '/contacts?source=inbox',
      `/contacts/${ids.contact}`,
      `/contacts/${ids.person}`,
      '/resources',
      '/delta?cursor=0&view=expanded&limit=1000',
    ].map((path): [string, () => request.Test] => [`GET ${path}`, () => get(path)]),
    ['PUT /messages/{id}', () => put(`/messages/${ids.message}`, { folder_id: ids.folder })],
    [
      'PATCH /messages/{id}',
      () =>
        request(server.url)
          .patch(`/messages/${ids.message}`)
          .set(ada.bearer)
          .send({ folder_id: ids.folder }),
    ],
    ['PUT /threads/{id}', () => put(`/threads/${ids.thread}`, { folder_id: ids.folder })],
    ['PUT /folders/{id}', () => put(`/folders/${ids.folder}`, { display_name: 'Tarragon' })],
    [
      'POST /calendars/free-busy',
      () =>
        post('/calendars/free-busy', {
          start_time: START - 100,
          end_time: START + 100,
          emails: [ada.email],
        }),
    ],
  ];

  it.each(SCOPES)(
    'with scope %s reads no data protected by another scope, on any route',
    async (scope) => {
      await grant(scope);
      const leaks: string[] = [];
      let read = 0;
      for (const [name, ask] of routes()) {
        const answer = await ask();
        expect([name, answer.status]).toEqual([name, expect.any(Number)]);
        expect(answer.status).toBeLessThan(500);
        if (answer.status === 200) read += 1;
        leaks.push(
          ...words(answer)
            .filter((word) => !GUARDED[word]?.includes(scope))
            .map((word) => `${name}: ${word}`),
        );
      }
      expect(leaks).toEqual([]);
      expect(read).toBeGreaterThan(0);
    },
  );

  it("reads everything if it has every scope, which proves that the test's words can be found", async () => {
    await grant(...SCOPES);
    const found = new Set<string>();
    for (const [, ask] of routes()) for (const word of words(await ask())) found.add(word);
    expect([...found].sort()).toEqual(Object.keys(GUARDED).sort());
  });

  it('gets only flags, folder and job of a changed message or thread if it may change only folders', async () => {
    await grant('email.folders_and_labels');
    const message = await put(`/messages/${ids.message}`, { folder_id: ids.folder }).expect(200);
    expect(message.body).toEqual({
      id: ids.message,
      object: 'message',
      account_id: ada.id,
      thread_id: ids.thread,
      unread: expect.any(Boolean),
      starred: false,
      folder: { id: ids.folder, name: null, display_name: 'Tarragon' },
      job_status_id: expect.any(String),
    });
    const thread = await put(`/threads/${ids.thread}`, { folder_id: ids.folder }).expect(200);
    expect(thread.body).toEqual({
      id: ids.thread,
      object: 'thread',
      account_id: ada.id,
      unread: expect.any(Boolean),
      starred: false,
      version: expect.any(Number),
      folders: [{ id: ids.folder, name: null, display_name: 'Tarragon' }],
      job_status_id: expect.any(String),
    });
    await get(`/job-statuses/${message.body.job_status_id}`).expect(200);
    await grant('email.modify');
    const whole = await put(`/messages/${ids.message}`, { folder_id: ids.folder }).expect(200);
    expect(whole.body.subject).toBe('Quicksilver');
  });

  describe('for drafts', () => {
    beforeEach(() => grant('email.drafts'));

    it('sees uploads and attachments of drafts, but no attachment of received mail', async () => {
      const listed = (await get('/files').expect(200)).body.map(({ id }: { id: string }) => id);
      expect(listed.sort()).toEqual([ids.upload, ids.attached].sort());
      expect((await get('/files?view=count')).body).toEqual({ count: 2 });
      expect((await get('/files?view=ids')).body).not.toContain(ids.received);
      await get(`/files/${ids.attached}/download`).expect(200);
      await get(`/files/${ids.upload}/download`).expect(200);
      await get(`/files/${ids.received}`).expect(404);
      await get(`/files/${ids.received}/download`).expect(404);
    });

    it('cannot read an attachment of received mail by adding it to a draft', async () => {
      const made = await post('/drafts', { subject: 'x', file_ids: [ids.received] });
      expect(made.status).toBe(400);
      expect(made.body.message).toMatch(/^file_ids: Couldn't find file/);
      const { version } = (await get(`/drafts/${ids.draft}`)).body;
      const changed = await put(`/drafts/${ids.draft}`, {
        version,
        file_ids: [ids.attached, ids.received],
      });
      expect(changed.status).toBe(400);
    });

    it('does not learn the subject of a message by drafting a reply to it', async () => {
      const { body } = await post('/drafts', {
        reply_to_message_id: ids.message,
        body: 'Hi',
      }).expect(200);
      expect(body).toMatchObject({
        subject: '',
        thread_id: ids.thread,
        reply_to_message_id: ids.message,
      });
    });

    it('sees only uploads and files of drafts in deltas', async () => {
      const { body } = await get('/delta?cursor=0&include_types=file&limit=1000').expect(200);
      const reported = body.deltas.map(({ id }: { id: string }) => id);
      expect(reported).toContain(ids.attached);
      expect(reported).not.toContain(ids.received);
    });
  });

  describe('for sending', () => {
    const to = [{ email: 'bo@sandbox.test' }];
    beforeEach(() => grant('email.send'));

    it.each(['/send', '/v2/outbox', '/v2/send'])(
      'cannot send itself an attachment of received mail or of a draft by POST %s',
      async (path) => {
        for (const id of [ids.received, ids.attached]) {
          const answer = await post(path, { to, subject: 'x', file_ids: [id] });
          expect(answer.status).toBe(400);
          expect(answer.body.message).toMatch(/^file_ids: Couldn't find file/);
        }
        expect((await post(path, { to, subject: 'x', file_ids: [ids.upload] })).status).toBe(
          path === '/v2/outbox' ? 202 : 200,
        );
      },
    );

    it.each(['/send', '/v2/outbox'])(
      'does not learn the subject of a message by replying to it with POST %s; the reply stays in its thread',
      async (path) => {
        const answer = await post(path, { to, body: 'Hi', reply_to_message_id: ids.message });
        expect(answer.status).toBeLessThan(300);
        expect(words(answer)).toEqual([]);
      },
    );

    it('can send a draft without seeing its content', async () => {
      await grant('email');
      const draft = (
        await post('/drafts', {
          to,
          subject: 'Bumblebee',
          body: 'Bumblebee',
          file_ids: [ids.received],
        })
      ).body;
      await grant('email.send');
      const sent = await post('/send', { draft_id: draft.id, version: draft.version });
      expect([sent.status, sent.body.message]).toEqual([200, undefined]);
      expect(words(sent)).toEqual([]);
      expect(sent.body).toMatchObject({
        object: 'message',
        account_id: ada.id,
        job_status_id: expect.any(String),
      });
      const job = await get(`/job-statuses/${sent.body.job_status_id}?view=expanded`).expect(200);
      expect(words(job)).toEqual([]);
    });
  });

  it("gets no deltas about deleted people of the account's mail if it may read only contacts", async () => {
    await grant('contacts.read_only');
    await get('/contacts?source=inbox').expect(403);
    const { body } = await get('/delta?cursor=0&include_types=contact&limit=1000').expect(200);
    const reported = body.deltas.map(({ id }: { id: string }) => id);
    expect(reported).toContain(ids.contact);
    expect(reported).not.toContain(ids.person);
  });

  it('cannot list, count or find jobs of a kind that it may not see', async () => {
    await grant('calendar.free_busy');
    expect((await get('/job-statuses')).body).toEqual([]);
    expect((await get('/job-statuses?view=count')).body).toEqual({ count: 0 });
    await get(`/job-statuses/${ids.outbox}`).expect(404);
    await grant('calendar');
    const kinds = (await get('/job-statuses')).body.map(({ object }: { object: string }) => object);
    expect(new Set(kinds)).toEqual(new Set(['calendar', 'event']));
  });

  it('gets no webhooks about kinds of objects for which the account granted no scope', async () => {
    await subscribe(server, application, ['event.updated', 'contact.updated', 'message.updated']);
    const webhookTypes = async () =>
      (
        await rowsOf<{ type: string }>(
          server,
          'select type from webhook_event where application_id = $1 order by id',
          [application.id],
        )
      ).map(({ type }) => type);
    await grant('calendar');
    await put(`/events/${ids.event}`, { title: 'Marmalade again' }).expect(200);
    expect(await webhookTypes()).toEqual(['event.updated']);
    await grant('contacts');
    await put(`/contacts/${ids.contact}`, { surname: 'Cinnamon' }).expect(200);
    expect(await webhookTypes()).toEqual(['event.updated', 'contact.updated']);
    // Both count: the scopes that the user agreed to and the scopes that the application asks for.
    await grant('email', 'calendar');
    await rowsOf(server, `update "grant" set granted_scope = '{calendar}' where id = $1`, [ada.id]);
    const sql = server.app.get(Database);
    await sql.transaction((transaction) =>
      recordChanges(transaction, [
        {
          applicationId: application.id,
          accountId: ada.id,
          object: 'message',
          objectId: ids.message,
          event: 'modify',
          at: new Date(),
          webhook: { trigger: 'message.updated', dedupe: 'the scopes of the grant' },
        },
      ]),
    );
    await rowsOf(server, 'update "grant" set granted_scope = null where id = $1', [ada.id]);
    expect(await webhookTypes()).toEqual(['event.updated', 'contact.updated']);
  });
});
