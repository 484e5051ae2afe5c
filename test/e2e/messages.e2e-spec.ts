import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { sealGrantSettings } from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { refreshThreads } from '../../src/mail/threading/refresh-threads.ts';
import { sendControl } from '../support/connector-contract.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';

/** A message to store in a mailbox. */
interface Seed {
  subject: string;
  from?: string;
  to?: string;
  cc?: string;
  bcc?: string;
  headers?: string[];
  /** Content headers, an empty line, and the content. */
  content?: string[];
}

describe('/messages', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());

  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const get = (path: string, by = ada) => request(server.url).get(path).set(by.bearer);
  const list = async (parameters: Record<string, unknown>, by = ada) => {
    const response = await get('/messages', by).query(parameters);
    expect({
      status: response.status,
      body: response.status === 200 ? 'ok' : response.body,
    }).toEqual({
      status: 200,
      body: 'ok',
    });
    return (response.body as { subject: string }[]).map(({ subject }) => subject);
  };

  async function deliver(account: TestAccount, seed: Seed): Promise<void> {
    const connected = await server.app.get(ProviderAccounts).find(account.id);
    if (!connected) throw new Error('no such account');
    const messageIdHeader = `<${randomUUID()}@seed.test>`;
    const { headers = [], content = ['Content-Type: text/html', '', '<p>Hello</p>'] } = seed;
    const header = (name: string, value: string | undefined) =>
      value === undefined ? [] : [`${name}: ${value}`];
    const lines = [
      `Message-ID: ${messageIdHeader}`,
      ...header('Subject', seed.subject),
      ...header('From', seed.from ?? 'Somebody <somebody@elsewhere.test>'),
      ...header('To', seed.to ?? account.email),
      ...header('Cc', seed.cc),
      ...header('Bcc', seed.bcc),
      ...headers,
      ...content,
    ];
    await server.app
      .get(ConnectorRegistry)
      .requireMail('sandbox')
      .send(
        { ...connected, email: 'somebody@elsewhere.test' },
        {
          messageIdHeader,
          mime: Buffer.from(lines.join('\r\n')),
          envelope: { from: 'somebody@elsewhere.test', recipients: [account.email] },
          bcc: [],
        },
        sendControl(),
      );
  }

  /** Creates a mirrored account with these messages, one hour apart and the oldest first. */
  async function mailbox(
    seeds: readonly Seed[],
    overrides: Parameters<typeof createAccount>[2] = {},
  ) {
    const account = await createAccount(server.app, application, overrides);
    for (const seed of seeds) await deliver(account, seed);
    await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), account.id);
    for (const [hour, { subject }] of seeds.entries()) {
      await query(
        `with m as (update message set date = to_timestamp($3) where account_id = $1 and subject = $2
                    returning id, thread_id),
         mf as (update message_folder set date = to_timestamp($3) where message_id in (select id from m))
         update thread set first_message_at = to_timestamp($3), last_message_at = to_timestamp($3)
         where id in (select thread_id from m)`,
        account.id,
        subject,
        1_700_000_000 + hour * 3600,
      );
    }
    return account;
  }

  const at = (hour: number) => 1_700_000_000 + hour * 3600;

  describe('the returned message', () => {
    const seed: Seed = {
      subject: 'Grüße',
      from: 'Bo Tanaka <Bo@Example.test>',
      to: 'Ada <ada@example.test>, c@example.test',
      cc: '"Dee, D." <d@example.test>',
      headers: ['Reply-To: r@example.test', 'In-Reply-To: <p@x>', 'References: <o@x> <p@x>'],
      content: [
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: text/html; charset=utf-8',
        '',
        `<p>Hallo&nbsp;<b>Ada</b></p>${'<p>und noch etwas</p>'.repeat(50)}`,
        '--b',
        'Content-Type: text/plain; name=a.txt',
        'Content-Disposition: attachment; filename=a.txt',
        '',
        'abc',
        '--b--',
      ],
    };

    it('has a folder on an account with folders', async () => {
      ada = await mailbox([seed]);
      const response = await get('/messages');
      expect(response.status).toBe(200);
      expect(response.body).toEqual([
        {
          id: expect.any(String),
          object: 'message',
          account_id: ada.id,
          thread_id: expect.any(String),
          subject: 'Grüße',
          snippet: expect.stringMatching(/^Hallo Ada und noch etwas und /),
          body: expect.stringContaining('<b>Ada</b>'),
          date: at(0),
          from: [{ email: 'Bo@Example.test', name: 'Bo Tanaka' }],
          to: [
            { email: 'ada@example.test', name: 'Ada' },
            { email: 'c@example.test', name: '' },
          ],
          cc: [{ email: 'd@example.test', name: 'Dee, D.' }],
          bcc: [],
          reply_to: [{ email: 'r@example.test', name: '' }],
          unread: true,
          starred: false,
          events: [],
          files: [
            {
              id: expect.any(String),
              filename: 'a.txt',
              content_type: 'text/plain',
              content_disposition: 'attachment',
              size: expect.any(Number),
            },
          ],
          folder: { id: expect.any(String), name: 'inbox', display_name: 'Inbox' },
          reply_to_message_id: null,
          metadata: {},
        },
      ]);
      expect(response.body[0].snippet.length).toBeLessThanOrEqual(191);
      const { id } = response.body[0];
      expect((await get(`/messages/${id}`)).body).toEqual(response.body[0]);
      const headers = {
        'Message-Id': expect.stringMatching(/^<.*>$/),
        'In-Reply-To': '<p@x>',
        References: ['<o@x>', '<p@x>'],
      };
      expect((await get(`/messages/${id}?view=expanded`)).body).toEqual({
        ...response.body[0],
        headers,
        warnings: [],
      });
      expect((await get('/messages?view=expanded')).body).toEqual([
        { ...response.body[0], headers, warnings: [] },
      ]);
    });

    it('has labels and no folder on an account with labels', async () => {
      ada = await mailbox([seed], { organizationUnit: 'label' });
      const [message] = (await get('/messages')).body;
      expect(message).not.toHaveProperty('folder');
      expect(message.labels.map(({ name }: { name: string }) => name).sort()).toEqual([
        'all',
        'inbox',
      ]);
    });

    it('has a folder of null if the message is in no folder', async () => {
      ada = await mailbox([seed]);
      await query(
        `delete from message_folder where message_id in (select id from message where account_id = $1)`,
        ada.id,
      );
      const [message] = (await get('/messages')).body;
      expect(message.folder).toBeNull();
      expect(message).not.toHaveProperty('labels');
    });
  });

  describe('filters', () => {
    const SUBJECTS = ['first', 'second', 'third', 'fourth'];
    beforeAll(async () => {
      ada = await mailbox([
        { subject: 'first', from: 'Bo <Bo@x.test>', to: 'to1@x.test', cc: 'cc1@x.test' },
        {
          subject: 'second',
          from: 'cy@x.test',
          to: 'bo@x.test',
          bcc: 'bcc2@x.test',
          content: [
            'Content-Type: multipart/mixed; boundary=b',
            '',
            '--b',
            'Content-Type: text/plain; name=menu.txt',
            'Content-Disposition: attachment; filename=menu.txt',
            '',
            'soup',
            '--b--',
          ],
        },
        { subject: 'third', from: 'dee@x.test', cc: 'bo@x.test' },
        { subject: 'fourth', from: 'dee@x.test', to: 'a@x.test, bo@x.test' },
      ]);
      await query(
        `update message set unread = false where account_id = $1 and subject = 'second'`,
        ada.id,
      );
      await query(
        `update message set starred = true where account_id = $1 and subject = 'third'`,
        ada.id,
      );
      await query(
        `update message set metadata = '{"team":"sales","level":"1"}' where account_id = $1 and subject = 'first'`,
        ada.id,
      );
      await query(
        `update message set metadata = '{"team":"ops"}' where account_id = $1 and subject = 'third'`,
        ada.id,
      );
      await query(
        `update message_folder set folder_id = (select id from folder where account_id = $1 and name = 'archive')
         where message_id = (select id from message where account_id = $1 and subject = 'fourth')`,
        ada.id,
      );
      // A mailbox of another account with the same content, which must never be listed.
      await mailbox([{ subject: 'first', from: 'bo@x.test' }]);
    });

    it.each<[Record<string, unknown>, string[]]>([
      [{}, ['fourth', 'third', 'second', 'first']],
      [{ limit: 2 }, ['fourth', 'third']],
      [{ limit: 2, offset: 1 }, ['third', 'second']],
      [{ limit: 0 }, []],
      [{ offset: 10 }, []],
      [{ subject: 'second' }, ['second']],
      [{ subject: 'secon' }, []],
      [{ from: 'bo@x.test' }, ['first']],
      [{ from: 'BO@X.TEST' }, ['first']],
      [{ from: 'nobody@x.test' }, []],
      [{ to: 'bo@x.test' }, ['fourth', 'second']],
      [{ cc: 'bo@x.test' }, ['third']],
      [{ bcc: 'bcc2@x.test' }, ['second']],
      [{ bcc: 'bo@x.test' }, []],
      [{ any_email: 'bo@x.test' }, ['fourth', 'third', 'second', 'first']],
      [{ any_email: 'cc1@x.test, Bcc2@x.test' }, ['second', 'first']],
      [{ any_email: ['cc1@x.test', 'a@x.test'] }, ['fourth', 'first']],
      [{ any_email: '' }, []],
      [{ from: 'dee@x.test', to: 'bo@x.test' }, ['fourth']],
      [{ in: 'inbox' }, ['third', 'second', 'first']],
      [{ in: 'Archive' }, ['fourth']],
      [{ in: ['archive', 'inbox'] }, ['fourth', 'third', 'second', 'first']],
      [{ in: 'no such folder' }, []],
      [{ not_in: 'inbox' }, ['fourth']],
      [{ not_in: 'no such folder' }, ['fourth', 'third', 'second', 'first']],
      [{ in: 'inbox', not_in: 'inbox' }, []],
      [{ unread: 'true' }, ['fourth', 'third', 'first']],
      [{ unread: 'FALSE' }, ['second']],
      [{ starred: 'true' }, ['third']],
      [{ starred: 'false', unread: 'true' }, ['fourth', 'first']],
      [{ filename: 'menu.txt' }, ['second']],
      [{ filename: 'Menu.txt' }, []],
      [{ has_attachment: 'true' }, ['second']],
      [{ has_attachment: 'false' }, ['fourth', 'third', 'first']],
      [{ thread_id: UNKNOWN }, []],
      [{ thread_id: 'not an id' }, []],
      [{ received_after: at(1) }, ['fourth', 'third']],
      [{ received_after: at(1) - 1 }, ['fourth', 'third', 'second']],
      [{ received_before: at(1) }, ['second', 'first']],
      [{ received_before: at(1) - 1 }, ['first']],
      [{ received_after: at(0), received_before: at(2) }, ['third', 'second']],
      [{ started_before: at(1) }, ['first']],
      [{ started_after: at(1) }, ['fourth', 'third']],
      [{ last_message_before: at(1), last_message_after: at(0) - 1 }, ['first']],
      [{ metadata_key: 'team' }, ['third', 'first']],
      [{ metadata_value: 'ops' }, ['third']],
      [{ metadata_pair: 'team:sales' }, ['first']],
      [{ metadata_paire: 'team:sales' }, ['first']],
      [{ metadata_pair: ['team:sales', 'team:ops'] }, ['third', 'first']],
      [{ metadata_pair: 'team:sales', metadata_key: 'level', metadata_search: 'all' }, ['first']],
      [{ metadata_key: 'level', metadata_search: 'none' }, ['fourth', 'third', 'second']],
      [{ includeTypes: 'x', whatever: '1' }, ['fourth', 'third', 'second', 'first']],
      [
        {
          subject: 'second',
          from: 'cy@x.test',
          to: 'bo@x.test',
          bcc: 'bcc2@x.test',
          any_email: 'bo@x.test',
          in: 'inbox',
          not_in: 'spam',
          unread: 'false',
          starred: 'false',
          filename: 'menu.txt',
          has_attachment: 'true',
          received_before: at(1),
          received_after: at(0),
          started_before: at(2),
          started_after: at(0),
          last_message_before: at(2),
          last_message_after: at(0),
          metadata_key: 'x',
          metadata_search: 'none',
        },
        ['second'],
      ],
    ])('return the right messages for %j', async (parameters, subjects) => {
      expect(await list(parameters)).toEqual(subjects);
      const { body } = await get('/messages').query({ ...parameters, view: 'count' });
      // A count ignores limit and offset.
      const whole = 'limit' in parameters || 'offset' in parameters ? await list({}) : subjects;
      expect(body).toEqual({ count: whole.length });
    });

    it('find messages by the id of their folder or thread', async () => {
      const [fourth] = (await get('/messages').query({ subject: 'fourth' })).body;
      for (const name of ['in', 'folder_id', 'label_id'])
        expect(await list({ [name]: fourth.folder.id })).toEqual(['fourth']);
      expect(await list({ folder_id: UNKNOWN })).toEqual([]);
      expect(await list({ thread_id: fourth.thread_id })).toEqual(['fourth']);
    });

    it('count messages regardless of limit and offset, and list ids', async () => {
      expect((await get('/messages?view=count&limit=1&offset=1')).body).toEqual({ count: 4 });
      expect((await get('/messages?view=count&unread=false')).body).toEqual({ count: 1 });
      const all = (await get('/messages')).body as { id: string }[];
      expect((await get('/messages?view=ids&limit=3')).body).toEqual(
        all.slice(0, 3).map(({ id }) => id),
      );
    });

    it('include drafts only for requests that name the drafts folder', async () => {
      const mine = await mailbox(SUBJECTS.map((subject) => ({ subject })));
      await query(
        `with d as (update message set draft = true where account_id = $1 and subject = 'third' returning id)
         update message_folder set folder_id = (select id from folder where account_id = $1 and name = 'drafts')
         where message_id = (select id from d)`,
        mine.id,
      );
      const threads = await query<{ id: string }>(
        'select id from thread where account_id = $1',
        mine.id,
      );
      const threadIds = threads.map(({ id }) => id);
      await refreshThreads(server.app.get(Database), mine.id, threadIds, new Date());
      expect(await list({}, mine)).toEqual(['fourth', 'second', 'first']);
      expect(await list({ in: 'drafts' }, mine)).toEqual(['third']);
      expect(await list({ in: 'Drafts' }, mine)).toEqual(['third']);
      expect(await list({ in: 'inbox' }, mine)).toEqual(['fourth', 'second', 'first']);
      expect(await list({ not_in: 'inbox' }, mine)).toEqual([]);
      expect((await get('/messages?view=count', mine)).body).toEqual({ count: 3 });
      expect((await get('/messages?view=count&not_in=trash,drafts', mine)).body).toEqual({
        count: 3,
      });
      expect((await get('/messages?view=count&not_in=inbox', mine)).body).toEqual({ count: 0 });
    });

    it.each<[Record<string, unknown>, string]>([
      [{ limit: 1001 }, 'limit: Cannot request more than 1000 resources at once.'],
      [{ limit: -1 }, 'limit: Limit parameter must be nonnegative.'],
      [{ limit: 'ten' }, 'limit: must be an integer'],
      [{ limit: '1.5' }, 'limit: must be an integer'],
      [{ offset: -1 }, 'offset: Offset parameter must be nonnegative.'],
      [{ offset: 'x' }, 'offset: must be an integer'],
      [{ view: 'full' }, 'view: Unknown view type full.'],
      [{ unread: '1' }, 'unread: must be true or false'],
      [{ unread: '' }, 'unread: must be true or false'],
      [{ starred: 'yes' }, 'starred: must be true or false'],
      [{ has_attachment: 'maybe' }, 'has_attachment: must be true or false'],
      [{ subject: 'x'.repeat(256) }, 'subject: must not be longer than 255 characters'],
      [{ from: 'x'.repeat(256) }, 'from: must not be longer than 255 characters'],
      [{ in: 'x'.repeat(256) }, 'in: must not be longer than 255 characters'],
      [{ filename: 'x'.repeat(256) }, 'filename: must not be longer than 255 characters'],
      [
        { received_after: 'yesterday' },
        'received_after: must be a time in Unix seconds, or in ISO 8601 such as 2027-03-10T12:00:00Z',
      ],
      [{ received_before: -1 }, 'received_before: must be between 0 and 253402300799'],
      [
        { started_after: '1e9' },
        'started_after: must be a time in Unix seconds, or in ISO 8601 such as 2027-03-10T12:00:00Z',
      ],
      [
        { last_message_before: 1_700_000_000_000 },
        'last_message_before: must be between 0 and 253402300799',
      ],
      [
        { any_email: Array.from({ length: 26 }, (_, n) => `${n}@x.y`).join(',') },
        'any_email: Too many emails. The current limit is 25',
      ],
      [
        { any_email: Array.from({ length: 26 }, (_, n) => `${n}@x.y`) },
        'any_email: Too many emails. The current limit is 25',
      ],
      [
        { in: 'inbox', folder_id: 'x' },
        'folder_id: must not be used together with in; repeat one of them to list messages in any of several folders',
      ],
      [
        { label_id: 'y', folder_id: 'x' },
        'label_id: must not be used together with folder_id; repeat one of them to list messages in any of several folders',
      ],
      [{ metadata_pair: 'nocolon' }, 'metadata_pair: must be of the form key:value'],
      [
        { metadata_search: 'some' },
        'metadata_search: Invalid option: expected one of "any"|"all"|"none"',
      ],
    ])('refuse %j', async (parameters, message) => {
      const response = await get('/messages').query(parameters);
      expect(response.status).toBe(400);
      expect(response.body).toEqual({ message, type: 'invalid_request_error' });
    });

    it('accept the latest possible time', async () => {
      expect(await list({ received_before: 253_402_300_799 })).toHaveLength(4);
      expect(await list({ received_after: 253_402_300_799 })).toEqual([]);
    });
  });

  describe('/{id}', () => {
    beforeAll(async () => {
      ada = await mailbox([{ subject: 'one' }, { subject: 'two' }]);
    });
    const ids = async () => (await get('/messages?view=ids')).body as string[];

    it('returns several messages in the order of the given ids', async () => {
      const [two = '', one = ''] = await ids();
      const response = await get(`/messages/${one},${two}?offset=0&limit=100`);
      expect(response.body.map(({ id }: { id: string }) => id)).toEqual([one, two]);
      expect((await get(`/messages/${one},`)).body).toHaveLength(1);
    });

    it('answers 404 if one of several messages does not exist, and 400 for too many ids', async () => {
      const [one = ''] = await ids();
      const missing = await get(`/messages/${one},${UNKNOWN}`);
      expect(missing.status).toBe(404);
      expect(missing.body.message).toBe(`Couldn't find message ${UNKNOWN}`);
      const many = await get(`/messages/${Array.from({ length: 101 }, () => one).join(',')}`);
      expect(many.status).toBe(400);
    });

    it.each([UNKNOWN, 'abc', '0', '%27', 'x'.repeat(2_000)])('answers 404 for %s', async (id) => {
      const response = await get(`/messages/${id}`);
      expect(response.status).toBe(404);
      expect(response.body.type).toBe('invalid_request_error');
      expect((await get(`/messages/${id}`).set('Accept', 'message/rfc822')).status).toBe(404);
    });

    it('refuses an unknown view', async () => {
      const [one = ''] = await ids();
      expect((await get(`/messages/${one}?view=raw`)).status).toBe(400);
    });

    it('returns the raw message of the provider to clients that ask for MIME', async () => {
      const [two = ''] = await ids();
      const response = await get(`/messages/${two}`)
        .set('Accept', 'message/rfc822')
        .buffer(true)
        .parse((stream, done) => {
          const chunks: Buffer[] = [];
          stream.on('data', (chunk: Buffer) => chunks.push(chunk));
          stream.on('end', () => done(null, Buffer.concat(chunks)));
        });
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toBe('message/rfc822');
      const [stored] = await query<{ mime: Buffer }>(
        `select s.mime from sandbox_message s join message m on m.provider_id = s.id::text where m.id = $1`,
        two,
      );
      expect(response.body).toEqual(stored?.mime);
    });

    it('returns JSON to all other clients', async () => {
      const [two = ''] = await ids();
      for (const accept of ['*/*', 'application/json', 'text/html,*/*;q=0.8']) {
        const response = await get(`/messages/${two}`).set('Accept', accept);
        expect(response.headers['content-type']).toMatch(/^application\/json/);
      }
    });

    it('answers 404 for the MIME of a deleted message, and 403 if the provider refuses the credentials', async () => {
      const mine = await mailbox([{ subject: 'gone' }]);
      const [id = ''] = (await get('/messages?view=ids', mine)).body as string[];
      const raw = () => get(`/messages/${id}`, mine).set('Accept', 'message/rfc822');
      await query(`update sandbox_message set deleted = true where address = $1`, mine.email);
      expect((await raw()).status).toBe(404);
      const sealed = sealGrantSettings(server.app.get(SecretBox), mine.id, { password: 'wrong' });
      await query(`update "grant" set settings_sealed = $2 where id = $1`, mine.id, sealed);
      const refused = await raw();
      expect(refused.status).toBe(403);
      expect(refused.body).toEqual({
        message: expect.stringMatching(/^The provider could not return the message: 535 /),
        type: 'invalid_request_error',
        server_error: expect.stringMatching(/^535 /),
      });
      expect((await get(`/messages/${id}`, mine)).status).toBe(200);
    });

    it('refuses other methods', async () => {
      const [one = ''] = await ids();
      for (const method of ['post', 'delete'] as const) {
        const response = await request(server.url)
          [method](`/messages/${one}?forceful=true`)
          .set(ada.bearer)
          .send({ unread: false });
        expect(response.status).toBe(405);
        expect(response.headers['allow']).toContain('GET');
      }
      expect((await get(`/messages/${one}`)).body.unread).toBe(true);
    });
  });

  describe('access', () => {
    it('keeps accounts and applications apart', async () => {
      ada = await mailbox([{ subject: 'mine' }]);
      const [id = ''] = (await get('/messages?view=ids')).body as string[];
      const neighbour = await createAccount(server.app, application);
      const stranger = await createAccount(server.app, await createApplication(server.app), {
        email: ada.email,
      });
      for (const other of [neighbour, stranger]) {
        expect((await get(`/messages/${id}`, other)).status).toBe(404);
        expect((await get(`/messages/${id},${id}`, other)).status).toBe(404);
        expect((await get(`/messages/${id}`, other).set('Accept', 'message/rfc822')).status).toBe(
          404,
        );
        expect((await get('/messages', other)).body).toEqual([]);
      }
    });

    it.each([
      [['email.send'], 403],
      [['calendar'], 403],
      [['email.read_only'], 200],
      [['email.modify'], 200],
      [['email'], 200],
      [null, 200],
    ])('with the scopes %j answers %d', async (scope, status) => {
      const account = await createAccount(server.app, application, { scope });
      expect((await get('/messages', account)).status).toBe(status);
      if (status !== 200) expect((await get(`/messages/${UNKNOWN}`, account)).status).toBe(status);
    });

    it('needs a token', async () => {
      const response = await request(server.url).get('/messages');
      expect(response.status).toBe(401);
      const wrong = await request(server.url)
        .get('/messages')
        .set('Authorization', 'Bearer nonsense');
      expect(wrong.status).toBe(401);
    });

    it('lets an account with refused credentials read what is stored', async () => {
      const account = await createAccount(server.app, application, { status: 'invalid' });
      expect((await get('/messages', account)).status).toBe(200);
    });
  });
});
