import request from 'supertest';
import { moveGrants } from '../../src/accounts/grants/moves/grant-moves.ts';
import { recordProof } from '../../src/accounts/grants/proofs/address-proof-state.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { recordChanges } from '../../src/platform/changes/change-log.ts';
import { type Trigger, TRIGGERS } from '../../src/platform/webhooks/webhook-state.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { registerSandbox, refuseCredentials } from '../support/connect.ts';
import { deliver } from '../support/deliver.ts';
import { type DeliveredEvent, eventsAt, undocumented } from '../support/delivered-events.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { agreeable, Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
/** Triggers of tracked mail and quotas, whose deliveries other suites compare with the schemas. */
const ELSEWHERE: readonly Trigger[] = [
  'message.opened',
  'message.link_clicked',
  'message.bounced',
  'thread.replied',
  'quota.reached',
];

describe('triggers of webhooks', () => {
  let server: TestApp;
  let receiver: Receiver;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    receiver = await Receiver.start();
    application = await createApplication(server.app);
    await server.app
      .get(Database)
      .query('update application set redirect_uris = $2 where id = $1', [
        application.id,
        ['https://app.example.test/callback'],
      ]);
    await subscribed({ triggers: TRIGGERS });
    ada = await createAccount(server.app, application, { mirrored: true });
    await until('the folders', async () => (await ok('get', '/folders')).length > 0);
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const webhooks = (method: 'post' | 'put' | 'get', suffix = '') =>
    request(server.url)
      [method](`/a/${application.clientId}/webhooks${suffix}`)
      .set(application.secretBasic);
  /** Creates a webhook for a path of the receiver. */
  async function subscribed(fields: object, path = '/all'): Promise<string> {
    const body = { callback_url: `${receiver.origin}${path}`, ...fields };
    const response = await webhooks('post').send(body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body.id;
  }
  const api = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object, by = ada) =>
    request(server.url)[method](path).set(by.bearer).send(body);
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as supertest types bodies
  const ok = async (...parameters: Parameters<typeof api>): Promise<any> => {
    const response = await api(...parameters);
    expect([parameters[1], response.status < 300, response.body.message]).toEqual([
      parameters[1],
      true,
      undefined,
    ]);
    return response.body;
  };
  /** Waits for an event. */
  const event = (type: Trigger, id?: string, path = '/all'): Promise<DeliveredEvent> =>
    until(`${type} of ${id ?? 'any object'} at ${path}`, () =>
      Promise.resolve(
        eventsAt(receiver, path).find(
          (one) => one.type === type && (id === undefined || one.object_data.id === id),
        ),
      ),
    );
  const typesAt = (path: string) => eventsAt(receiver, path).map(({ type }) => type);
  /** A message that has arrived in the mailbox. */
  async function arrived(subject: string, email?: string, account = ada) {
    await deliver(server, account, [`Subject: ${subject}`, '', 'Soup.'], email);
    return until(
      subject,
      async () => (await ok('get', `/messages?subject=${subject}`, undefined, account))[0],
    );
  }
  const folderNamed = async (name: string, by = ada): Promise<string> =>
    (await ok('get', '/folders', undefined, by)).find((one: { name: string }) => one.name === name)
      .id;

  it('report messages and their threads that are new, change or are deleted', async () => {
    const message = await arrived('Menu');
    const notice = { thread_id: message.thread_id, received_date: message.date };
    const created = await event('message.created', message.id);
    expect(created.object_data.attributes).toEqual(notice);
    expect(created.object_data).not.toHaveProperty('content');
    await event('thread.created', message.thread_id);
    await ok('put', `/messages/${message.id}`, { unread: false });
    await event('message.updated', message.id);
    await event('thread.updated', message.thread_id);
    await until('the write to the provider', async () =>
      (await ok('get', '/job-statuses')).every(
        ({ status }: { status: string }) => status === 'successful',
      ),
    );
    await server.app
      .get(Database)
      .query(`update sandbox_message set deleted = true where address = $1`, [ada.email]);
    await arrived('Next');
    const deleted = await event('message.deleted', message.id);
    expect(deleted.object_data.attributes).toEqual(notice);
    await event('thread.deleted', message.thread_id);
  });

  it('report drafts, folders, labels, calendars, events and contacts', async () => {
    const draft = await ok('post', '/drafts', { subject: 'Perhaps' });
    const { version } = await ok('put', `/drafts/${draft.id}`, { subject: 'Surely', version: 0 });
    await ok('delete', `/drafts/${draft.id}`, { version });
    const labelled = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
    });
    await until('labels', async () => (await ok('get', '/labels', undefined, labelled)).length > 0);
    for (const [kind, by] of [
      ['folder', ada],
      ['label', labelled],
    ] as const) {
      const { id } = await ok('post', `/${kind}s`, { display_name: 'Invoices' }, by);
      await ok('put', `/${kind}s/${id}`, { display_name: 'Receipts' }, by);
      await ok('delete', `/${kind}s/${id}`, undefined, by);
      for (const verb of ['created', 'updated', 'deleted'] as const)
        await event(`${kind}.${verb}`, id);
    }
    const { id: calendar } = await ok('post', '/calendars', { name: 'Work' });
    await ok('put', `/calendars/${calendar}`, { name: 'Home' });
    const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
    const lunch = await ok('post', '/events', { calendar_id: calendar, title: 'Lunch', when });
    await ok('put', `/events/${lunch.id}`, { title: 'Dinner' });
    await ok('delete', `/events/${lunch.id}`);
    await ok('delete', `/calendars/${calendar}`);
    const { id: contact } = await ok('post', '/contacts', { given_name: 'Mia' });
    await ok('put', `/contacts/${contact}`, { given_name: 'Mio' });
    await ok('delete', `/contacts/${contact}`);
    for (const verb of ['created', 'updated', 'deleted'] as const) {
      await event(`draft.${verb}`, draft.id);
      await event(`calendar.${verb}`, calendar);
      await event(`event.${verb}`, lunch.id);
      await event(`contact.${verb}`, contact);
    }
  });

  it('report jobs that succeed, fail, wait or are cancelled', async () => {
    const send = (email: string, extra: object = {}) =>
      ok('post', '/v2/outbox', { to: [{ email }], subject: 'Hello', body: 'Hi', ...extra });
    await send('bo@sandbox.test');
    await send('rejected@sandbox.test');
    const delayed = await send('temporary@sandbox.test');
    const { job_status_id: later } = await send('bo@sandbox.test', { send_at: inSeconds(3_600) });
    await ok('delete', `/v2/outbox/${later}`);
    await event('job.successful');
    await event('job.failed');
    await event('job.delayed', delayed.job_status_id);
    await event('job.cancelled', later);
  });

  it('report reminders that are sent or fail', async () => {
    const { id: calendar } = await ok('post', '/calendars', { name: 'Reminders' });
    const remind = (email: string) =>
      ok('post', '/events', {
        calendar_id: calendar,
        title: 'Review',
        when: { time: String(inSeconds(62)) },
        participants: [{ email }],
        notifications: [
          { type: 'email', minutes_before_event: '1', subject: 'Soon', body: 'Soon' },
        ],
      });
    const { id: sent } = await remind('bo@sandbox.test');
    const { id: failed } = await remind('rejected@sandbox.test');
    const reminder = await event('reminder.sent');
    expect(reminder.object_data.attributes).toMatchObject({ event_id: sent, reason: null });
    expect((await event('reminder.failed')).object_data.attributes).toMatchObject({
      event_id: failed,
      sent_at: null,
      reason: expect.stringContaining('550'),
    });
  });

  it('report accounts and grants with the reason, and a link to sign in again where that helps', async () => {
    await registerSandbox(server, application);
    const connect = (settings: object) =>
      request(server.url)
        .post('/connect/grants')
        .set(application.basic)
        .send({ provider: 'sandbox', settings });
    const settings = { email: 'cy@sandbox.test', password: 'p4ssw0rd' };
    const { body } = await connect(settings).expect(200);
    const { id } = body.data as { id: string };
    await event('account.connected', id);
    await event('grant.created', id);
    await event('account.running', id);

    await refuseCredentials(server, id);
    const invalid = await event('account.invalid', id);
    expect(invalid.object_data.attributes).toMatchObject({ reason: '535 refused' });
    const { attributes } = (await event('grant.expired', id)).object_data;
    expect(attributes).toMatchObject({ ...invalid.object_data.attributes, grant_id: id });
    const link = new URL(String(attributes?.['sign_in_url']));
    expect(link.searchParams.get('login_hint')).toBe('cy@sandbox.test');
    const authorize = await request(server.url).get(`${link.pathname}${link.search}`).redirects(0);
    const signIn = new URL(authorize.headers['location'] ?? '', link);
    const page = await request(server.url).get(`${signIn.pathname}${signIn.search}`);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('cy@sandbox.test')]);

    await connect(settings).expect(200);
    const updated = await event('grant.updated', id);
    expect(updated.object_data.attributes).toEqual({
      grant_id: id,
      provider: 'sandbox',
      reauthenticated: true,
    });
    const database = server.app.get(Database);
    const failing = { accountId: id, syncState: 'sync-error', reason: '421 busy' } as const;
    await database.transaction((sql) => moveGrants(sql, [failing], new Date()));
    expect((await event('account.sync_error', id)).object_data.attributes).toEqual({
      reason: '421 busy',
      sign_in_url: null,
    });
    await database.query(`update "grant" set proof = null where id = $1`, [id]);
    const [grant] = await database.query<{ sealed: string }>(
      `select settings_sealed as sealed from "grant" where id = $1`,
      [id],
    );
    const proof = { id, settingsSealed: grant?.sealed ?? '', proof: 'loop' } as const;
    await recordProof(database, proof, new Date());
    await event('account.proof_changed', id);
    await request(server.url).delete(`/connect/grants/${id}`).set(application.basic).expect(200);
    expect((await event('account.stopped', id)).object_data.attributes).toMatchObject({
      reason: 'the account was deleted',
    });
    await event('grant.deleted', id);
  });

  it('report webhooks that fail, end or recover to the other webhooks', async () => {
    const id = await subscribed({ triggers: ['folder.created'] }, '/ill?key=secret');
    let isIll = true;
    receiver.behave = (response, got, socket) => {
      if (isIll && got.url.startsWith('/ill')) response.writeHead(500).end('no');
      else agreeable(response, got, socket);
    };
    const database = server.app.get(Database);
    /** Lets the webhook fail again after failures of some hours. */
    const failAfter = async (hours: number) => {
      await database.query(
        `update webhook set failing_since = now() - $2 * interval '1 h', failures = 7 where id = $1`,
        [id, hours],
      );
      await ok('post', '/folders', { display_name: `Folder ${hours}` });
      await database.query('update hook_job set run_at = now() where webhook_id = $1', [id]);
      await database.query(
        'update account_gate set closed_until = null, failures = 0 where account_id = $1',
        [id],
      );
      server.app.get(Signals).wake('hook');
    };
    await failAfter(1);
    const failing = await event('webhook.failing', id);
    expect(failing.object_data).toMatchObject({
      account_id: null,
      attributes: {
        callback_url: `${receiver.origin}/ill`,
        state: 'failing',
        reason: 'the receiver answered 500',
      },
    });
    await failAfter(73);
    expect((await event('webhook.failed', id)).object_data.attributes).toMatchObject({
      state: 'failed',
    });
    await database.query(`update webhook set state = 'failing' where id = $1`, [id]);
    isIll = false;
    await failAfter(2);
    const recovered = await event('webhook.recovered', id);
    expect(recovered.object_data.attributes).toEqual({
      callback_url: `${receiver.origin}/ill`,
      state: 'active',
      reason: null,
      failing_since: null,
      failures: 0,
    });
  });

  it('say nothing about what the first reading of a mailbox finds', async () => {
    const other = await createAccount(server.app, application, {
      settings: { sample_messages: false },
    });
    for (const subject of ['Old', 'Older'])
      await deliver(server, other, [`Subject: ${subject}`, '']);
    const database = server.app.get(Database);
    await database.query(`update "grant" set created_at = now() + interval '1 s' where id = $1`, [
      other.id,
    ]);
    await scheduleSync(database, other.id);
    server.app.get(Signals).wake('sync');
    await until('the old messages', async () => {
      const [row] = await database.query<{ current: boolean }>(
        'select current_since is not null as current from sync_job where id = $1',
        [other.id],
      );
      return row?.current;
    });
    const marker = await arrived('Marker', undefined, other);
    await event('message.created', marker.id);
    const kinds = eventsAt(receiver, '/all')
      .filter(({ object_data: { account_id: id } }) => id === other.id)
      .map(({ type }) => type)
      .filter((type) => !type.startsWith('account.') && !type.startsWith('contact.'));
    expect(new Set(kinds)).toEqual(new Set(['message.created', 'thread.created']));
    expect(kinds).toHaveLength(2);
  });

  it('have the documented shape, and every trigger was delivered', () => {
    const events = eventsAt(receiver, '/all');
    expect(undocumented(server, events)).toEqual([]);
    const delivered = new Set(events.map(({ type }) => type));
    const missing = TRIGGERS.filter((one) => !delivered.has(one) && !ELSEWHERE.includes(one));
    expect(missing).toEqual([]);
  });

  describe('with filters', () => {
    it('deliver only events of the chosen accounts, folders and senders', async () => {
      const bo = await createAccount(server.app, application, { mirrored: true });
      await until('folders', async () => (await ok('get', '/folders', undefined, bo)).length > 0);
      const triggers = ['message.created', 'message.updated'];
      const archive = await folderNamed('archive', bo);
      await subscribed({ triggers, filters: { accounts: [bo.id] } }, '/account');
      await subscribed({ triggers, filters: { folders: [archive] } }, '/archive');
      await subscribed({ triggers, filters: { from_domains: ['Bücher.test'] } }, '/books');
      const ofAda = await arrived('Ada-only');
      const plain = await arrived('Plain', 'x@elsewhere.test', bo);
      const book = await arrived('Book', 'x@xn--bcher-kva.test', bo);
      await ok('put', `/messages/${plain.id}`, { folder_id: archive }, bo);
      await event('message.updated', plain.id, '/archive');
      const inbox = await folderNamed('inbox', bo);
      await ok('put', `/messages/${plain.id}`, { folder_id: inbox }, bo);
      await until('the message to leave the folder', () =>
        Promise.resolve(typesAt('/archive').length >= 2),
      );
      await event('message.created', book.id, '/books');
      await event('message.created', book.id, '/account');
      const ids = (path: string) =>
        new Set(eventsAt(receiver, path).map(({ object_data }) => object_data.id));
      expect(ids('/archive')).toEqual(new Set([plain.id]));
      expect(ids('/books')).toEqual(new Set([book.id]));
      expect(ids('/account')).toEqual(new Set([plain.id, book.id]));
      expect(ids('/all')).toContain(ofAda.id);
    });

    it.each([
      [{ accounts: ['x'] }, 'filters.accounts.0: must be the id of an account'],
      [{ accounts: [] }, 'filters.accounts: must have at least one value'],
      [{ folders: ['x'] }, 'filters.folders.0: must be the id of a folder or label'],
      [{ from_domains: ['ada@x.test'] }, 'filters.from_domains.0: must be a domain'],
      [{ from_domains: Array(101).fill('x.test') }, 'filters.from_domains: must have at most 100'],
      [
        { accounts: ['019aa1b2-0000-7000-8000-000000000001'] },
        'filters.accounts.0: this application has no account 019aa1b2-0000-7000-8000-000000000001',
      ],
    ])('are refused with the name of the field: %j', async (filters, message) => {
      const { status, body } = await webhooks('post').send({
        callback_url: `${receiver.origin}/refused`,
        triggers: ['message.created'],
        filters,
      });
      expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
    });

    it('are refused for accounts of another application', async () => {
      const stranger = await createAccount(server.app, await createApplication(server.app));
      const { status, body } = await webhooks('post').send({
        callback_url: `${receiver.origin}/refused`,
        triggers: ['message.created'],
        filters: { accounts: [ada.id, stranger.id] },
      });
      const message = `filters.accounts.1: this application has no account ${stranger.id}`;
      expect([status, body.message]).toEqual([400, message]);
    });

    it('are refused for triggers whose events do not have what they compare', async () => {
      const { status, body } = await webhooks('post').send({
        callback_url: `${receiver.origin}/refused`,
        triggers: ['message.created', 'job.successful'],
        filters: { folders: ['019aa1b2-0000-7000-8000-000000000001'] },
      });
      expect([status, body.message]).toEqual([
        400,
        expect.stringContaining('filters.folders: cannot be used with the trigger job.successful'),
      ]);
    });

    it('cannot change, but may be repeated', async () => {
      const filters = { from_domains: ['a.test', 'b.test'] };
      const fields = { triggers: ['message.created'], filters, content: 'summary' };
      const id = await subscribed(fields, '/fixed');
      const { body: view } = await webhooks('get', `/${id}`);
      expect(view).toMatchObject({ filters, content: 'summary' });
      const put = (change: object) =>
        webhooks('put', `/${id}`).send({ state: 'active', ...change });
      expect((await put(view)).status).toBe(200);
      expect((await put({ filters: { from_domains: ['B.test', 'a.test'] } })).status).toBe(200);
      const refused = [
        await put({ filters: null }),
        await put({ filters: { from_domains: ['a.test'] } }),
        await put({ content: 'full' }),
      ];
      expect(refused.map(({ status, body }) => `${status} ${body.message}`)).toEqual([
        expect.stringMatching(/^400 filters cannot be changed/),
        expect.stringMatching(/^400 filters cannot be changed/),
        expect.stringMatching(/^400 content cannot be changed/),
      ]);
    });
  });

  describe('with content', () => {
    it('contain a summary or the object as its own endpoint shows it', async () => {
      const triggers = TRIGGERS.filter((one) =>
        /^(message|thread|folder|draft|event|calendar|contact)\./.test(one),
      );
      await subscribed({ triggers, content: 'summary' }, '/summary');
      await subscribed({ triggers, content: 'full' }, '/full');
      const message = await arrived('Contents');
      const full = (await event('message.created', message.id, '/full')).object_data;
      expect(full).toMatchObject({ content: 'full' });
      expect(full.attributes).toEqual(await ok('get', `/messages/${message.id}`));
      const summary = (await event('message.created', message.id, '/summary')).object_data;
      expect(summary.content).toBe('summary');
      expect(summary.attributes).toMatchObject({
        thread_id: message.thread_id,
        received_date: message.date,
        subject: 'Contents',
        snippet: 'Soup.',
        unread: true,
      });
      expect(summary.attributes).not.toHaveProperty('body');
      const { id: calendar } = await ok('post', '/calendars', { name: 'Shown' });
      const when = { start_time: 1_900_000_000, end_time: 1_900_003_600 };
      const lunch = await ok('post', '/events', { calendar_id: calendar, title: 'Lunch', when });
      const { id: contact } = await ok('post', '/contacts', { given_name: 'Mia' });
      const { id: folder } = await ok('post', '/folders', { display_name: 'Shown' });
      const draft = await ok('post', '/drafts', { subject: 'Shown' });
      for (const [kind, id] of [
        ['calendar', calendar],
        ['event', lunch.id],
        ['contact', contact],
        ['folder', folder],
        ['draft', draft.id],
      ] as const)
        for (const path of ['/full', '/summary']) await event(`${kind}.created`, id, path);
      await ok('delete', `/folders/${folder}`);
      const gone = (await event('folder.deleted', folder, '/full')).object_data;
      expect(gone).toMatchObject({ attributes: null, content: 'ids' });
      const shown = [...eventsAt(receiver, '/full'), ...eventsAt(receiver, '/summary')];
      expect(undocumented(server, shown)).toEqual([]);
    });

    it('fall back to a summary if the object is too large, and to ids if the scopes hide it', async () => {
      const hidden = await createAccount(server.app, application, {
        mirrored: true,
        scope: ['email.send', 'email.folders_and_labels'],
      });
      await until('the folders', async () => {
        const { body } = await api('get', '/folders', undefined, hidden);
        return body.length > 0;
      });
      await deliver(server, hidden, ['Subject: Hidden', '', 'Secret.']);
      const unseen = await until('the event about the hidden message', () =>
        Promise.resolve(
          eventsAt(receiver, '/full').find(
            ({ type, object_data }) =>
              type === 'message.created' && object_data.account_id === hidden.id,
          ),
        ),
      );
      expect(unseen.object_data.content).toBe('ids');
      expect(JSON.stringify(unseen)).not.toContain('Secret');

      await deliver(server, ada, ['Subject: Large', '', 'x'.repeat(300_000)]);
      const large = await until(
        'the large message',
        async () => (await ok('get', '/messages?subject=Large'))[0],
      );
      const { object_data: data } = await event('message.created', large.id, '/full');
      expect(data).toMatchObject({ content: 'summary', attributes: { subject: 'Large' } });
    });
  });

  it('of many changes at once are stored only for triggers that a webhook wants', async () => {
    const quiet = await createApplication(server.app);
    const account = await createAccount(server.app, quiet);
    const changes = Array.from({ length: 150 }, (_, index) => ({
      applicationId: index < 75 ? quiet.id : application.id,
      accountId: index < 75 ? account.id : ada.id,
      object: 'thread' as const,
      objectId: `019aa1b2-0000-7000-8000-${String(index).padStart(12, '0')}`,
      event: 'modify' as const,
      at: new Date(),
    }));
    const database = server.app.get(Database);
    await database.transaction((sql) => recordChanges(sql, changes));
    const rows = await database.query<{ id: string; count: number }>(
      `select application_id as id, count(*)::int as count from webhook_event
       where dedupe like 'thread.updated:019aa1b2-0000-7000-8000-%' group by 1`,
    );
    expect(rows).toEqual([{ id: application.id, count: 75 }]);
  });
});
