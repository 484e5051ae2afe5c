import request from 'supertest';
import {
  scheduleChangedSync,
  unscheduleSync,
} from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { SentMirror } from '../../src/mail/outbox/record/sent-mirror.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort } from '../../src/providers/port/connector.ts';
import { SentMessages } from '../../src/sync/messages/sent-messages.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { deliver } from '../support/deliver.ts';
import { FilingConnector } from '../support/filing-connector.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

interface Delta {
  id: string;
  object: string;
  event: string;
}
interface Notification {
  type: string;
  object_data: { id: string; account_id: string; metadata: Record<string, unknown> | null };
}
interface Shown {
  id: string;
  thread_id: string;
  subject: string;
}

const BO = { email: 'bo@elsewhere.test', name: 'Bo Example' };
const NO_COPIES = { sample_messages: false, sent_copies: false };

describe('a message that was just sent', () => {
  let server: TestApp;
  let application: TestApplication;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    receiver = await Receiver.start();
    await createWebhook(server.app, application, `${receiver.origin}/hooks`, {
      triggers: ['message.created', 'contact.created', 'thread.replied'],
    });
  });
  afterEach(() => mirror().use(server.app.get(SentMessages)));
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const mirror = () => server.app.get(SentMirror);
  const database = () => server.app.get(Database);
  const get = (account: TestAccount, path: string) =>
    request(server.url).get(path).set(account.bearer);
  async function text(account: TestAccount, path: string, accept = '*/*'): Promise<string> {
    const answer = await fetch(server.url + path, { headers: { ...account.bearer, accept } });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.text();
  }
  const post = (account: TestAccount, path: string, body: object) =>
    request(server.url).post(path).set(account.bearer).send(body);
  const list = async (account: TestAccount, query: object): Promise<Shown[]> =>
    (await get(account, '/messages').query(query)).body;
  const notified = (type: string, account: TestAccount): Notification[] =>
    receiver.posted
      .flatMap(({ body }) => (JSON.parse(body.toString()) as { deltas: Notification[] }).deltas)
      .filter((one) => one.type === type && one.object_data.account_id === account.id);

  /** An account whose mirror knows its folders. */
  async function connected(
    settings: object = { sample_messages: false },
    owner = application,
  ): Promise<TestAccount> {
    const account = await createAccount(server.app, owner, {
      mirrored: true,
      settings: { ...settings },
    });
    await until('a current mirror', async () => (await get(account, '/folders')).body.length > 0);
    return account;
  }

  async function send(account: TestAccount, body: object): Promise<Shown> {
    const answer = await post(account, '/send', body);
    expect([answer.status, answer.body.message]).toEqual([200, undefined]);
    return answer.body;
  }

  const sendRaw = (account: TestAccount, mime: string) =>
    request(server.url)
      .post('/send')
      .set(account.bearer)
      .set('content-type', 'message/rfc822')
      .send(mime);

  /** Counts how often each object was created. */
  async function created(account: TestAccount, cursor: string): Promise<Map<string, number>> {
    const { body } = await get(account, '/delta').query({ cursor });
    const news = (body.deltas as Delta[]).filter(({ event }) => event === 'create');
    const groups = Map.groupBy(news, ({ object, id }) => `${object} ${id}`);
    return new Map([...groups].map(([key, some]) => [key, some.length]));
  }
  const latest = async (account: TestAccount): Promise<string> =>
    (await post(account, '/delta/latest_cursor', {})).body.cursor;
  const providerIdOf = async (id: string) =>
    (
      await database().query<{ providerId: string | null }>(
        'select provider_id as "providerId" from message where id = $1',
        [id],
      )
    )[0]?.providerId;
  const reported = (id: string) =>
    until('the copy', async () => typeof (await providerIdOf(id)) === 'string');

  it('can be read in every form before the provider has reported it', async () => {
    const ada = await connected(NO_COPIES);
    const uploaded = await request(server.url)
      .post('/files')
      .set(ada.bearer)
      .attach('file', Buffer.from('the plan'), { filename: 'plan.txt' });
    const sent = await send(ada, {
      to: [BO],
      bcc: [{ email: 'hidden@elsewhere.test' }],
      subject: 'At once',
      body: '<p>Good day</p>',
      file_ids: [uploaded.body[0].id],
      metadata: { order: '7' },
    });
    const path = `/messages/${sent.id}`;
    // A response that waits for two seconds in vain is 404, on a busy machine.
    const shown = await until('the message', async () => {
      const { status, body } = await get(ada, path);
      return status === 200 && body;
    });
    expect(shown).toMatchObject({
      id: sent.id,
      thread_id: sent.thread_id,
      subject: 'At once',
      body: expect.stringContaining('<p>Good day</p>'),
      bcc: [{ email: 'hidden@elsewhere.test' }],
      folder: { name: 'sent' },
      unread: false,
      metadata: { order: '7' },
      files: [{ filename: 'plan.txt' }],
    });
    const { body: expanded } = await get(ada, path).query({ view: 'expanded' });
    expect(expanded.headers).toMatchObject({ 'Message-Id': expect.any(String) });
    expect(await text(ada, path, 'message/rfc822')).toContain('Bcc: <hidden@elsewhere.test>');
    expect(await text(ada, `/files/${shown.files[0].id}/download`)).toBe('the plan');
    const { body: thread } = await get(ada, `/threads/${sent.thread_id}`);
    expect(thread).toMatchObject({ message_ids: [sent.id], subject: 'At once' });
    expect(await list(ada, { in: 'sent' })).toMatchObject([{ id: sent.id }]);
    const { body: found } = await get(ada, '/messages/search').query({ q: 'At once' });
    expect(found).toMatchObject([{ id: sent.id }]);
    expect(await providerIdOf(sent.id)).toBeNull();
  });

  it('is announced once, with its contact, and answers a tracked message once', async () => {
    const ada = await connected();
    const first = await send(ada, {
      to: [{ email: 'cleo@elsewhere.test', name: 'Cleo Example' }],
      subject: 'A question',
      tracking: { thread_replies: true, opens: false, links: false },
    });
    const cursor = await latest(ada);
    const reply = await send(ada, { to: [BO], body: 'Well?', reply_to_message_id: first.id });
    await Promise.all([reported(first.id), reported(reply.id)]);
    await deliver(server, ada, ['Subject: The last one', '', 'Hello']);
    const last = await until(
      'the last message',
      async () => (await list(ada, { subject: 'The last one' }))[0],
    );
    await until('its webhook', async () =>
      notified('message.created', ada).some(({ object_data: { id } }) => id === last.id),
    );
    const ids = (type: string) =>
      notified(type, ada)
        .map(({ object_data: { id } }) => id)
        .toSorted();
    expect(ids('message.created')).toEqual([first.id, reply.id, last.id].toSorted());
    const { body: contacts } = await get(ada, '/contacts').query({ source: 'inbox' });
    expect(ids('contact.created')).toEqual((contacts as Shown[]).map(({ id }) => id).toSorted());
    expect(contacts).toHaveLength(3);
    const news = await created(ada, cursor);
    expect(news.get(`message ${reply.id}`)).toBe(1);
    expect([...news.values()].every((times) => times === 1)).toBe(true);
    expect(notified('thread.replied', ada).map(({ object_data }) => object_data.metadata)).toEqual([
      expect.objectContaining({ message_id: reply.id, from_self: true }),
    ]);
  });

  it('stays one message when a sync pass stores the copy before the request does', async () => {
    const ada = await connected();
    const real = server.app.get(SentMessages);
    mirror().use({
      add: async (accountId, sent) => {
        await until('the copy', async () => (await list(ada, { in: 'sent' }))[0]);
        await real.add(accountId, sent);
      },
    });
    const sent = await send(ada, { to: [BO], subject: 'Second' });
    expect((await list(ada, {})).map(({ id }) => id)).toEqual([sent.id]);
    await reported(sent.id);
  });

  it('stays one message when many requests and sync passes store at the same time', async () => {
    const ada = await connected();
    const cursor = await latest(ada);
    const sent = await Promise.all(
      Array.from({ length: 12 }, (_, index) => send(ada, { to: [BO], subject: `Many ${index}` })),
    );
    await Promise.all(sent.map(({ id }) => reported(id)));
    const ids = (await list(ada, {})).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
    const news = await created(ada, cursor);
    expect(sent.map(({ id }) => news.get(`message ${id}`))).toEqual(sent.map(() => 1));
  });

  it('is reported as sent when the mirror cannot be written, and appears with the next sync pass', async () => {
    const ada = await connected();
    mirror().use({ add: () => Promise.reject(new Error('broken on purpose')) });
    const sent = await send(ada, { to: [BO], subject: 'Despite an error' });
    await until('the copy', async () => (await get(ada, `/messages/${sent.id}`)).status === 200);
    expect(await list(ada, {})).toHaveLength(1);
  });

  it('is reported as sent when the mirror is locked for long', async () => {
    const ada = await connected();
    const locked = Promise.withResolvers<void>();
    const free = Promise.withResolvers<void>();
    const holding = database().transaction(async (sql) => {
      await sql.query('select 1 from sync_job where account_id = $1 for update', [ada.id]);
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    const sent = await send(ada, { to: [BO], subject: 'Despite a lock' });
    expect((await get(ada, `/messages/${sent.id}`)).status).toBe(404);
    free.resolve();
    await holding;
    await reported(sent.id);
    expect(await list(ada, {})).toHaveLength(1);
  });

  it('is reported as sent while it is still being added, and can be read afterwards', async () => {
    const ada = await connected(NO_COPIES);
    const real = server.app.get(SentMessages);
    const free = Promise.withResolvers<void>();
    mirror().use({
      add: async (accountId, sent) => {
        await free.promise;
        await real.add(accountId, sent);
      },
    });
    const sent = await send(ada, { to: [BO], subject: 'Without waiting' });
    const path = `/messages/${sent.id}`;
    expect((await get(ada, path)).status).toBe(404);
    free.resolve();
    await until('the message', async () => (await get(ada, path)).status === 200);
  });

  it('is left to the next sync pass if it is larger than 1 MB', async () => {
    const ada = await connected();
    const real = server.app.get(SentMessages);
    const added: string[] = [];
    mirror().use({
      add: async (accountId, sent) => {
        added.push(...sent.map(({ id }) => id));
        await real.add(accountId, sent);
      },
    });
    const sent = await send(ada, { to: [BO], body: 'A long line of text.\n'.repeat(60_000) });
    await until('the copy', async () => (await get(ada, `/messages/${sent.id}`)).status === 200);
    expect(added).toEqual([]);
  });

  it('is not added to a mailbox that is no longer synced', async () => {
    const ada = await connected(NO_COPIES);
    await unscheduleSync(database(), ada.id);
    const sent = await send(ada, { to: [BO], subject: 'Of a cancelled account' });
    expect((await get(ada, `/messages/${sent.id}`)).status).toBe(404);
  });

  it('takes the date of its copy, also in its folder and in its thread', async () => {
    const ada = await connected();
    const real = server.app.get(SentMessages);
    const before = new Date(Date.now() - 24 * 3_600_000);
    mirror().use({
      add: (accountId, sent) =>
        real.add(
          accountId,
          sent.map((one) => ({ ...one, at: before })),
        ),
    });
    const sent = await send(ada, { to: [BO], subject: 'Dated' });
    await reported(sent.id);
    const hourAgo = Math.floor(Date.now() / 1000) - 3_600;
    expect((await get(ada, `/messages/${sent.id}`)).body.date).toBeGreaterThan(hourAgo);
    expect(await list(ada, { in: 'sent', received_after: hourAgo })).toHaveLength(1);
    const { body: thread } = await get(ada, `/threads/${sent.thread_id}`);
    expect(thread.last_message_timestamp).toBeGreaterThan(hourAgo);
  });

  it('is not added while a worker of the release before is alive', async () => {
    const ada = await connected(NO_COPIES);
    const [old] = await database().query<{ id: number }>(
      `insert into worker (host, pid, seen_at) values ('old', 1, now() + interval '1 hour') returning id`,
    );
    const early = await send(ada, { to: [BO], subject: 'During the upgrade' });
    await database().query('delete from worker where id = $1', [old?.id]);
    const late = await send(ada, { to: [BO], subject: 'After the upgrade' });
    const statuses = [early, late].map(
      async ({ id }) => (await get(ada, `/messages/${id}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 200]);
  });

  it('is told apart from another one with the same Message-ID', async () => {
    const ada = await connected(NO_COPIES);
    const mime = [
      'Message-ID: <twice@elsewhere.test>',
      `From: ${ada.email}`,
      `To: ${BO.email}`,
      'Subject: Twice',
      '',
      'Hello',
    ].join('\r\n');
    const [first, second] = [await sendRaw(ada, mime), await sendRaw(ada, mime)];
    expect([first.status, second.status]).toEqual([200, 200]);
    const ids = [first.body.id, second.body.id];
    expect(new Set(ids).size).toBe(2);
    expect(new Set((await list(ada, {})).map(({ id }) => id))).toEqual(new Set(ids));
  });

  it('to oneself is in the inbox and in Sent, under two ids', async () => {
    const ada = await connected();
    const sent = await send(ada, { to: [{ email: ada.email }], subject: 'To myself' });
    await reported(sent.id);
    const [received] = await until('the message in the inbox', async () => {
      const found = await list(ada, { in: 'inbox' });
      return found.length > 0 && found;
    });
    expect(received?.id).not.toBe(sent.id);
    expect(received?.thread_id).toBe(sent.thread_id);
    expect((await list(ada, { in: 'sent' })).map(({ id }) => id)).toEqual([sent.id]);
  });

  it('is readable by the id of its job when the outbox has sent it', async () => {
    const ada = await connected(NO_COPIES);
    const { body: accepted } = await post(ada, '/v2/outbox', { to: [BO], subject: 'Later' });
    const id = await until('the job', async () => {
      const { body } = await get(ada, `/job-statuses/${accepted.job_status_id}`);
      return body.status === 'successful' && (body.message_id as string);
    });
    await until('the message', async () => (await get(ada, `/messages/${id}`)).status === 200);
    expect(await providerIdOf(id)).toBeNull();
  });

  describe('without a copy at the provider', () => {
    const ago = (id: string, hours: number) =>
      database().query(
        'update message set created_at = now() - make_interval(hours => $2) where id = $1',
        [id, hours],
      );

    /** Runs a sync pass that begins after the call, and waits for its end. */
    async function synced({ id }: TestAccount): Promise<void> {
      const passes = () =>
        database().query<{ fence: number }>(
          'select fence from sync_job where account_id = $1 and state = 0 and not again',
          [id],
        );
      const [before] = await until('the pass before', async () => {
        const found = await passes();
        return found.length > 0 && found;
      });
      await scheduleChangedSync(database(), [id]);
      await until('a sync pass', async () => {
        const [now] = await passes();
        return now !== undefined && now.fence !== before?.fence;
      });
    }

    it('is removed after a day, and a change of it ends', async () => {
      const ada = await connected(NO_COPIES);
      const sent = await send(ada, { to: [BO], subject: 'No copy' });
      const changed = await request(server.url)
        .put(`/messages/${sent.id}`)
        .set(ada.bearer)
        .send({ starred: true });
      expect(changed.body).toMatchObject({ starred: true });
      const cursor = await latest(ada);
      await ago(sent.id, 23);
      await synced(ada);
      expect((await get(ada, `/messages/${sent.id}`)).status).toBe(200);
      await ago(sent.id, 25);
      await synced(ada);
      expect((await get(ada, `/messages/${sent.id}`)).status).toBe(404);
      const { body } = await get(ada, '/delta').query({ cursor });
      expect(body.deltas).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ object: 'message', event: 'delete', id: sent.id }),
        ]),
      );
      const job = await until(
        'the end of the change',
        async () => {
          const answer = await get(ada, `/job-statuses/${changed.body.job_status_id}`);
          return answer.body.status !== 'pending' && answer.body;
        },
        30_000,
      );
      expect(job).toMatchObject({
        status: 'cancelled',
        reason: expect.stringContaining('removed'),
      });
    });

    it.each([
      ['its credentials are refused', `update "grant" set status = 'invalid' where id = $1`],
      [
        'its application is suspended',
        `update application set suspended_at = now() where id = (select application_id from "grant" where id = $1)`,
      ],
    ])('stays while %s', async (_reason, blocking) => {
      const ada = await connected(NO_COPIES, await createApplication(server.app));
      const sent = await send(ada, { to: [BO], subject: 'Unreachable' });
      await ago(sent.id, 25);
      await database().query(blocking, [ada.id]);
      await synced(ada);
      expect(await providerIdOf(sent.id)).toBeNull();
    });

    it('stays while a folder of its mailbox cannot be read', async () => {
      const ada = await connected(NO_COPIES);
      const sent = await send(ada, { to: [BO], subject: 'In an unread folder' });
      await ago(sent.id, 25);
      await database().query(
        `insert into sync_failure (account_id, provider_id, reason, first_at, last_at)
         select account_id, provider_id, 'NO', now(), now() from folder where account_id = $1 and name = 'sent'`,
        [ada.id],
      );
      await synced(ada);
      expect(await providerIdOf(sent.id)).toBeNull();
    });

    it('stays while its mailbox cannot be read to the end', async () => {
      const ada = await connected(NO_COPIES);
      const sent = await send(ada, { to: [BO], subject: 'In a folder that cannot be read' });
      const registry = server.app.get(ConnectorRegistry);
      const sandbox = registry.require('sandbox');
      const since = new Date();
      const port = registry.requireMail('sandbox');
      const mail = Object.assign(Object.create(port) as MailPort, {
        listChanges: async (...request: Parameters<MailPort['listChanges']>) => ({
          ...(await port.listChanges(...request)),
          stalled: { since, reason: 'Sent cannot be opened' },
        }),
      });
      registry.replace(Object.assign(Object.create(sandbox) as Connector, { mail }));
      await ago(sent.id, 25);
      await synced(ada);
      registry.replace(sandbox);
      expect(await providerIdOf(sent.id)).toBeNull();
    });
  });
});

describe('a message that was just sent and whose copy Carillon files', () => {
  let server: TestApp;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    FilingConnector.install(server.app);
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, {
      mirrored: true,
      settings: { ...NO_COPIES },
    });
    await until('a current mirror', async () => {
      const folders = await request(server.url).get('/folders').set(ada.bearer);
      return folders.body.length > 0;
    });
  });
  afterAll(() => server.close());

  it('is removed if the copy cannot be filed', async () => {
    const sent = await request(server.url)
      .post('/send')
      .set(ada.bearer)
      .send({ to: [BO], subject: FilingConnector.REFUSED })
      .expect(200);
    const path = `/messages/${sent.body.id}`;
    await until('the removal', async () => {
      return (await request(server.url).get(path).set(ada.bearer)).status === 404;
    });
  });
});
