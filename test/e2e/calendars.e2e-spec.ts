import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';

describe('/calendars', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    // Only the API role: provider writes stay queued, so the tests can read their rows.
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application);
  });

  const call = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string, by = ada) =>
    request(server.url)[method](path).set(by.bearer);
  const create = async (
    body: object = { name: 'Team' },
    by = ada,
  ): Promise<{ id: string; job_status_id: string }> => {
    const response = await call('post', '/calendars', by).send(body);
    expect(response.status).toBe(200);
    return response.body;
  };
  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const jobsOf = (id: string) =>
    query<{ action: string; status: string }>(
      `select s.action, s.status from provider_job j join job_status s using (id) where j.object_id = $1 order by j.id`,
      id,
    );

  it('cannot be written for an account without a calendar server, and neither can events', async () => {
    const settings = {
      imap_host: 'imap.example.test',
      imap_port: 993,
      imap_security: 'tls',
      imap_username: 'ada',
      imap_password: 'a-secret-password',
      smtp_host: 'smtp.example.test',
      smtp_port: 465,
      smtp_security: 'tls',
      smtp_username: 'ada',
      smtp_password: 'a-secret-password',
    };
    const bo = await createAccount(server.app, application, { provider: 'imap', settings });
    const when = { time: 1_900_000_000 };
    for (const [path, body] of [
      ['/calendars', { name: 'Team' }],
      ['/events', { calendar_id: UNKNOWN, when }],
    ] as const) {
      const response = await call('post', path, bo).send(body);
      expect([response.status, response.body.message]).toEqual([
        400,
        'This account has no calendar server, so calendars and events cannot be written. Authenticate it again with the settings of its calendar server.',
      ]);
    }
    expect((await call('get', '/calendars', bo)).body).toEqual([]);
    expect((await call('get', '/job-statuses', bo)).body).toEqual([]);
  });

  describe('POST', () => {
    it('creates a calendar at once and starts a job for the provider write', async () => {
      const response = await call('post', '/calendars').send({
        name: ' Team ',
        description: 'Ours',
        location: 'Berlin',
        timezone: 'Europe/Berlin',
        metadata: { team: 'sales' },
        is_primary: true,
        read_only: true,
      });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        id: expect.any(String),
        account_id: ada.id,
        object: 'calendar',
        name: 'Team',
        description: 'Ours',
        location: 'Berlin',
        timezone: 'Europe/Berlin',
        is_primary: false,
        read_only: false,
        hex_color: null,
        metadata: { team: 'sales' },
        job_status_id: expect.any(String),
      });
      const job = await call('get', `/job-statuses/${response.body.job_status_id}`);
      expect(job.body).toMatchObject({
        job_status_id: response.body.job_status_id,
        id: response.body.id,
        account_id: ada.id,
        action: 'create_calendar',
        object: 'calendar',
        status: 'pending',
      });
      const { job_status_id: _, ...stored } = response.body;
      expect((await call('get', `/calendars/${stored.id}`)).body).toEqual(stored);
    });

    it('accepts what the official client sends: text/plain, and empty strings for fields without a value', async () => {
      const response = await call('post', '/calendars')
        .type('text/plain')
        .send(
          JSON.stringify({
            name: 'x',
            description: '',
            location: '',
            timezone: '',
            metadata: null,
          }),
        );
      expect(response.status).toBe(200);
      expect(response.body).toMatchObject({
        description: null,
        location: null,
        timezone: null,
        metadata: {},
      });
    });

    it.each([
      [{}, 'name is required'],
      [{ name: null }, /^name: /],
      [{ name: '  ' }, 'name: must not be empty'],
      [{ name: 5 }, /^name: /],
      [{ name: 'x'.repeat(1025) }, 'name: must not be longer than 1024 characters'],
      [{ name: 'x', description: 5 }, /^description: /],
      [{ name: 'x', description: 'x'.repeat(8193) }, /^description: must not be longer/],
      [{ name: 'x', location: ['Berlin'] }, /^location: /],
      [
        { name: 'x', timezone: 'Mars/Olympus' },
        'timezone: must be the name of an IANA time zone, such as Europe/Berlin',
      ],
      [{ name: 'x', timezone: '+02:00' }, /^timezone: /],
      [{ name: 'x', timezone: 1 }, /^timezone: /],
      [{ name: 'x', metadata: { a: 1 } }, /^metadata/],
      [{ name: 'x', metadata: { a: { b: 'c' } } }, /^metadata/],
      [{ name: 'x', metadata: { ['k'.repeat(41)]: 'v' } }, /^metadata/],
      [{ name: 'x', metadata: { k: 'v'.repeat(501) } }, /^metadata/],
      [{ name: 'x', metadata: ['a'] }, /^metadata/],
      [
        {
          name: 'x',
          metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v'])),
        },
        'metadata: must not have more than 50 pairs',
      ],
      [{ name: 'nul \0' }, /NUL/],
      [{ name: 'x', metadata: { k: '\0' } }, /NUL/],
    ])('refuses %j', async (body, message) => {
      const response = await call('post', '/calendars').send(body);
      expect(response.status).toBe(400);
      expect(response.body.type).toBe('invalid_request_error');
      expect(response.body.message).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      );
      expect((await call('get', '/calendars?view=count')).body).toEqual({ count: 0 });
    });

    it('names the missing field', async () => {
      const response = await call('post', '/calendars').send({});
      expect(response.body.missing_fields).toEqual(['name']);
    });

    it.each(['[]', '"name"', '5', '{"name":'])('refuses the body %s', async (body) => {
      const response = await call('post', '/calendars').type('json').send(body);
      expect(response.status).toBe(400);
    });

    it('refuses half of a surrogate pair', async () => {
      const response = await call('post', '/calendars')
        .type('json')
        .send('{"name":"x","metadata":{"k":"half \\ud800"}}');
      expect(response.status).toBe(400);
      expect(response.body.message).toBe('metadata.k: must not contain half a surrogate pair');
    });
  });

  describe('GET', () => {
    it('also lists them while the provider refuses the credentials', async () => {
      const stale = await createAccount(server.app, application, { status: 'invalid' });
      expect((await call('get', '/calendars', stale)).status).toBe(200);
    });

    it("lists the account's own calendars, oldest first, page by page", async () => {
      const { id: one } = await create({ name: 'one' });
      const { id: two } = await create({ name: 'two' });
      const { id: three } = await create({ name: 'three' });
      await create({ name: 'not mine' }, await createAccount(server.app, application));
      const names = async (suffix: string) =>
        (await call('get', `/calendars${suffix}`)).body.map(({ name }: { name: string }) => name);
      expect(await names('')).toEqual(['one', 'two', 'three']);
      expect(await names('?limit=2&offset=1')).toEqual(['two', 'three']);
      expect(await names('?limit=0')).toEqual([]);
      expect(await names('?offset=9')).toEqual([]);
      expect(await names('?unknown=parameter')).toEqual(['one', 'two', 'three']);
      expect((await call('get', '/calendars?view=ids')).body).toEqual([one, two, three]);
      expect((await call('get', '/calendars?view=ids&limit=1')).body).toEqual([one]);
      expect((await call('get', '/calendars?view=count&limit=1')).body).toEqual({ count: 3 });
    });

    it('filters by metadata', async () => {
      await create({ name: 'a', metadata: { team: 'sales', site: 'x:y' } });
      await create({ name: 'b', metadata: { team: 'support' } });
      await create({ name: 'c' });
      const names = async (suffix: string) =>
        (await call('get', `/calendars?${suffix}`)).body.map(({ name }: { name: string }) => name);
      expect(await names('metadata_key=team')).toEqual(['a', 'b']);
      expect(await names('metadata_value=support')).toEqual(['b']);
      expect(await names('metadata_pair=team:sales')).toEqual(['a']);
      expect(await names('metadata_pair=site:x:y')).toEqual(['a']);
      expect(await names('metadata_pair=team:sales&metadata_pair=team:support')).toEqual([
        'a',
        'b',
      ]);
      expect(await names('metadata_key=team&metadata_search=none')).toEqual(['c']);
    });

    it('returns the same with the view that clients offer for every list', async () => {
      await create({ name: 'a' });
      const [plain, expanded] = [
        await call('get', '/calendars'),
        await call('get', '/calendars?view=expanded'),
      ];
      expect(expanded.status).toBe(200);
      expect(expanded.body).toEqual(plain.body);
    });

    it.each([
      ['limit=1001', 'limit: Cannot request more than 1000 resources at once.'],
      ['limit=-1', 'limit: Limit parameter must be nonnegative.'],
      ['limit=x', 'limit: must be an integer'],
      ['offset=-1', 'offset: Offset parameter must be nonnegative.'],
      ['view=other', 'view: Unknown view type other.'],
      ['metadata_pair=nothing', 'metadata_pair: must be of the form key:value'],
      ['metadata_search=some&metadata_key=a', /^metadata_search/],
    ])('refuses ?%s', async (suffix, message) => {
      const response = await call('get', `/calendars?${suffix}`);
      expect(response.status).toBe(400);
      expect(response.body.message).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      );
    });
  });

  it.each(['get', 'put', 'patch', 'delete'] as const)(
    '%s answers 404 for ids that are unknown, malformed or of another account',
    async (method) => {
      const bo = await createAccount(server.app, application);
      const foreign = await createAccount(server.app, await createApplication(server.app));
      const ids = [
        UNKNOWN,
        'x',
        '%00',
        'a'.repeat(300),
        (await create({ name: 'bo' }, bo)).id,
        (await create({ name: 'f' }, foreign)).id,
      ];
      for (const id of ids) {
        const response = await call(method, `/calendars/${id}`).send(
          method === 'put' || method === 'patch' ? { name: 'mine now' } : undefined,
        );
        expect([id, response.status]).toEqual([id, 404]);
        expect(response.body.message).toMatch(/^Couldn't find calendar /);
      }
      expect((await call('get', '/calendars', bo)).body).toMatchObject([{ name: 'bo' }]);
    },
  );

  describe.each(['put', 'patch'] as const)('%s', (method) => {
    it('changes the given fields and keeps the rest', async () => {
      const { id } = await create({
        name: 'Team',
        description: 'd',
        location: 'l',
        timezone: 'UTC',
        metadata: { a: '1' },
      });
      const response = await call(method, `/calendars/${id}`).send({ description: 'new' });
      expect(response.status).toBe(200);
      expect(response.body).toMatchObject({
        id,
        name: 'Team',
        description: 'new',
        location: 'l',
        timezone: 'UTC',
        metadata: { a: '1' },
        job_status_id: expect.any(String),
      });
      expect((await jobsOf(id)).map(({ action }) => action)).toEqual([
        'create_calendar',
        'update_calendar',
      ]);
    });

    it('clears fields by empty strings and null, and replaces metadata as a whole', async () => {
      const { id } = await create({
        name: 'Team',
        description: 'd',
        location: 'l',
        timezone: 'UTC',
        metadata: { a: '1' },
      });
      const response = await call(method, `/calendars/${id}`).send({
        name: 'Team',
        description: '',
        location: null,
        timezone: '',
        metadata: { b: '' },
      });
      expect(response.body).toMatchObject({
        description: null,
        location: null,
        timezone: null,
        metadata: { b: '' },
      });
    });

    it.each([{}, { read_only: true }, { name: 'Team' }, { description: null }])(
      'has no effect with %j, which changes nothing: its job is successful at once',
      async (body) => {
        const { id } = await create({ name: 'Team' });
        const before = await query('select * from calendar where id = $1', id);
        const shown = await call('get', `/calendars/${id}`);
        const response = await call(method, `/calendars/${id}`).send(body);
        const { job_status_id: jobId, ...rest } = response.body;
        expect([response.status, rest]).toEqual([200, shown.body]);
        expect((await call('get', `/job-statuses/${jobId}`)).body).toMatchObject({
          job_status_id: jobId,
          id,
          action: 'update_calendar',
          object: 'calendar',
          status: 'successful',
        });
        expect(await query('select * from calendar where id = $1', id)).toEqual(before);
        expect(await jobsOf(id)).toHaveLength(1);
        expect(await query('select 1 from change where object_id = $1', id)).toHaveLength(1);
      },
    );

    it.each([
      [{ name: '' }, 'name: must not be empty'],
      [{ timezone: 'Nowhere' }, /^timezone: /],
      [{ metadata: 'x' }, /^metadata/],
    ])('refuses %j', async (body, message) => {
      const { id } = await create();
      const response = await call(method, `/calendars/${id}`).send(body);
      expect(response.status).toBe(400);
      expect(response.body.message).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      );
      expect(await jobsOf(id)).toHaveLength(1);
    });
  });

  it('refuses to change or delete a read_only calendar, and to delete the primary one', async () => {
    const { id } = await create();
    await query('update calendar set read_only = true where id = $1', id);
    for (const response of [
      await call('put', `/calendars/${id}`).send({ name: 'x' }),
      await call('delete', `/calendars/${id}`),
    ]) {
      expect(response.status).toBe(400);
      expect(response.body.message).toBe('Cannot change a read_only calendar.');
    }
    await query('update calendar set read_only = false, is_primary = true where id = $1', id);
    const response = await call('delete', `/calendars/${id}`);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe('The primary calendar cannot be deleted.');
    expect((await call('put', `/calendars/${id}`).send({ name: 'mine' })).status).toBe(200);
    expect(await jobsOf(id)).toHaveLength(2);
  });

  it('accepts the JSON body that the official client sends with DELETE, and the calendar disappears at once', async () => {
    const { id } = await create();
    const response = await call('delete', `/calendars/${id}`).type('text/plain').send('{}');
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ job_status_id: expect.any(String) });
    expect((await call('get', `/calendars/${id}`)).status).toBe(404);
    expect((await call('get', '/calendars')).body).toEqual([]);
    expect((await call('delete', `/calendars/${id}`)).status).toBe(404);
    const job = await call('get', `/job-statuses/${response.body.job_status_id}`);
    expect(job.body).toMatchObject({ action: 'delete_calendar', id, object: 'calendar' });
  });

  it('sends a webhook for every change except one of metadata alone', async () => {
    await query(
      `insert into webhook (id, application_id, callback_url, triggers, state, subscribed_at, created_at, updated_at)
       values (gen_random_uuid(), $1, 'http://127.0.0.1:9/', '{calendar.created,calendar.updated,calendar.deleted}', 'active', now(), now(), now())`,
      application.id,
    );
    const { id } = await create({ name: 'Team', metadata: { a: '1' } });
    await call('put', `/calendars/${id}`).send({ metadata: { a: '2' } });
    await call('put', `/calendars/${id}`).send({ name: 'Crew' });
    await call('delete', `/calendars/${id}`);
    const webhookEvents = await query<{ body: Buffer }>(
      `select body from webhook_event where type like 'calendar.%' order by id`,
    );
    expect(webhookEvents.map(({ body }) => JSON.parse(body.toString()).deltas[0])).toMatchObject([
      {
        type: 'calendar.created',
        object: 'calendar',
        object_data: { id, account_id: ada.id, metadata: { a: '1' } },
      },
      { type: 'calendar.updated', object_data: { id, metadata: { a: '2' } } },
      { type: 'calendar.deleted', object_data: { id } },
    ]);
    const changes = await query<{ event: string }>(
      `select event from change where object = 'calendar' and object_id = $1 order by seq`,
      id,
    );
    expect(changes.map(({ event }) => event)).toEqual(['create', 'modify', 'modify', 'delete']);
  });
});
