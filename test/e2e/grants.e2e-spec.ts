import request from 'supertest';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { Credentials } from '../../src/platform/auth/credentials.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { PLAIN_INTEGRATION } from '../../src/providers/port/sign-in/integration-descriptor.ts';
import { refuseCredentials, registerSandbox, rowsOf, subscribe } from '../support/connect.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const ADA = {
  provider: 'sandbox',
  settings: { email: 'Ada@Sandbox.test', password: 'p4ssw0rd-of-ada' },
};

describe('/connect/grants', () => {
  let server: TestApp;
  let application: TestApplication;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    const announced = {
      name: 'announced',
      integration: PLAIN_INTEGRATION,
      announced: true,
    } as const;
    server.app.get(ConnectorRegistry).announce(announced);
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    await registerSandbox(server, application);
  });
  afterAll(() => server.close());

  const call = (
    method: 'get' | 'post' | 'patch' | 'delete',
    path = '',
    body?: object,
    headers: Record<string, string> = application.basic,
  ) => {
    const sent = request(server.url)[method](`/connect/grants${path}`).set(headers);
    return body ? sent.send(body) : sent;
  };
  const connect = async (change: object = {}) =>
    (await call('post', '', { ...ADA, ...change })).body.data as {
      id: string;
      access_token: string;
    };
  const account = (token: string) =>
    request(server.url).get('/account').set('authorization', `Bearer ${token}`);
  /** The scopes of a token, as the access guard reads them. */
  const scopesOf = async (token: string) =>
    (await server.app.get(Credentials).accountByToken(token))?.scopes;
  const grants = async () => (await call('get')).body.data as { id: string }[];

  describe('POST', () => {
    it('connects an account and shows its token only in this response', async () => {
      const before = Math.floor(Date.now() / 1000) - 1;
      const response = await call('post', '', {
        ...ADA,
        state: 's-1',
        scope: ['email.modify', 'calendar'],
        metadata: { isAdmin: true, seats: 3, team: 'sales' },
      }).set('user-agent', 'signup/1.0');
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        success: true,
        data: {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          provider: 'sandbox',
          grant_status: 'valid',
          email: 'ada@sandbox.test',
          address_proven: true,
          proof: 'sandbox',
          metadata: { isAdmin: true, seats: 3, team: 'sales' },
          scope: ['email.modify', 'calendar'],
          granted_scope: ['email.modify', 'calendar'],
          user_agent: 'signup/1.0',
          ip: expect.stringContaining('127.0.0.1'),
          state: 's-1',
          created_at: expect.any(Number),
          updated_at: expect.any(Number),
          access_token: expect.stringMatching(/^[0-9a-z]{40}$/),
        },
      });
      const { id, access_token: token, ...rest } = response.body.data;
      expect(rest.created_at).toBeGreaterThanOrEqual(before);
      expect((await account(token)).body.account_id).toBe(id);
      const settings = { sent_copies: true, sample_messages: true };
      expect((await call('get', `/${id}`)).body).toEqual({
        success: true,
        data: { id, ...rest, settings },
      });
    });

    it('schedules the first sync pass and sends webhooks', async () => {
      await subscribe(server, application, ['account.connected', 'account.running']);
      const { id } = await connect();
      expect(
        await rowsOf(server, 'select 1 from sync_job where account_id = $1', [id]),
      ).toHaveLength(1);
      const events = await rowsOf<{ type: string }>(
        server,
        'select type from webhook_event where application_id = $1 order by type',
        [application.id],
      );
      expect(events.map(({ type }) => type)).toEqual(['account.connected', 'account.running']);
    });

    it('stores credentials encrypted and never returns them', async () => {
      const { id, access_token: token } = await connect();
      const answers = [
        await call('get'),
        await call('get', `/${id}`),
        await call('patch', `/${id}`, { settings: { password: 'p4ssw0rd-of-ada-2' } }),
        await call('post', `/${id}/sync`),
        await account(token),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(200);
        expect(answer.text).not.toMatch(/p4ssw0rd|password|sealed/i);
        expect(answer.text).not.toContain(token);
      }
      const [row] = await rowsOf(server, `select g::text as text from "grant" g where id = $1`, [
        id,
      ]);
      expect(row?.['text']).not.toContain('p4ssw0rd');
    });

    it('authenticates an account again: the id stays, a new token is added, and the old token stays valid', async () => {
      const first = await connect({ metadata: { a: 1 }, state: 's' });
      await refuseCredentials(server, first.id);
      const again = await call('post', '', { ...ADA, settings: { email: 'ADA@sandbox.TEST' } });
      expect(again.body.data).toMatchObject({
        id: first.id,
        grant_status: 'valid',
        metadata: { a: 1 },
        state: 's',
      });
      expect(again.body.data.access_token).not.toBe(first.access_token);
      for (const token of [first.access_token, again.body.data.access_token]) {
        expect((await account(token)).body.sync_state).toBe('running');
      }
      expect(await grants()).toHaveLength(1);
    });

    it('creates one grant for simultaneous connections of the same account', async () => {
      const ids = (await Promise.all(Array.from({ length: 5 }, () => connect()))).map(
        ({ id }) => id,
      );
      expect(new Set(ids).size).toBe(1);
      expect(await grants()).toHaveLength(1);
    });

    it('stores nothing when the provider refuses the credentials', async () => {
      const response = await call('post', '', {
        ...ADA,
        settings: { email: 'ada@sandbox.test', password: 'wrong' },
      });
      expect(response.status).toBe(400);
      expect(response.body).toEqual({
        success: false,
        error: {
          type: 'grant.credentials_refused',
          message: expect.stringContaining('settings.password: 535'),
        },
        request_id: expect.any(String),
      });
      expect(await grants()).toEqual([]);
    });

    it('needs an integration for the provider', async () => {
      const bare = await createApplication(server.app);
      const response = await call('post', '', ADA, bare.basic);
      expect(response.status).toBe(400);
      expect(response.body.error).toEqual({
        type: 'grant.integration_required',
        message: 'provider: there is no integration for sandbox: create one first',
      });
    });

    it('refuses a provider without a connector by name', async () => {
      await request(server.url)
        .post('/connect/integrations')
        .set(application.basic)
        .send({
          name: 'Announced',
          provider: 'announced',
          settings: { client_id: 'a', client_secret: 'b' },
        });
      const response = await call('post', '', {
        provider: 'announced',
        settings: { refresh_token: 'x' },
      });
      expect(response.status).toBe(400);
      expect(response.body.error).toEqual({
        type: 'grant.provider_not_supported',
        message: expect.stringContaining('this server cannot connect accounts of announced'),
      });
    });

    it('says how Zoom is set up instead', async () => {
      const { body } = await call('post', '', { provider: 'zoom', settings: {} }).expect(400);
      expect(body.error.message).toContain('PUT /a/{client_id}/conferencing');
    });

    it.each([
      ['no provider', { provider: undefined }, 'provider is required'],
      ['an unknown provider', { provider: 'fax' }, 'sandbox, google'],
      ['no settings', { settings: undefined }, 'settings is required'],
      ['settings that are a string', { settings: 'x' }, 'settings'],
      ['no address', { settings: { password: 'x' } }, 'settings.email'],
      ['an address without a domain', { settings: { email: 'nobody' } }, 'settings.email'],
      [
        'a setting of the wrong type',
        { settings: { ...ADA.settings, password: 5 } },
        'settings.password',
      ],
      ['an unknown scope', { scope: ['root'] }, 'root'],
      ['a scope that is a number', { scope: [1] }, 'scope'],
      ['nested metadata', { metadata: { a: { b: 1 } } }, 'metadata.a'],
      ['a metadata list', { metadata: [] }, 'metadata'],
      ['a key that is too long', { metadata: { ['k'.repeat(41)]: 'v' } }, 'metadata'],
      ['a value that is too long', { metadata: { k: 'v'.repeat(501) } }, 'metadata.k'],
      [
        'more than 50 pairs',
        {
          metadata: Object.fromEntries(
            Array.from({ length: 51 }, (_, index) => [`k${index}`, 'v']),
          ),
        },
        '50',
      ],
      ['a state that is too long', { state: 's'.repeat(256) }, 'state'],
    ])('refuses %s and stores nothing', async (_, change, words) => {
      const response = await call('post', '', { ...ADA, ...change });
      expect(response.status).toBe(400);
      expect(response.body.success).toBe(false);
      expect(response.body.error.message).toContain(words);
      expect(await grants()).toEqual([]);
    });
  });

  describe('for a quickstart application', () => {
    beforeEach(async () => {
      application = await createApplication(server.app, { plan: 'quickstart' });
      await registerSandbox(server, application);
    });
    const bo = { settings: { email: 'bo@sandbox.test' } };

    it('refuses a second account with 403, until the first is disconnected', async () => {
      const first = await connect();
      const second = await call('post', '', { ...ADA, ...bo });
      expect(second.status).toBe(403);
      expect(second.body.error).toEqual({
        type: 'grant.quickstart_limit',
        message: expect.stringContaining('one connected account'),
      });
      expect((await connect()).id).toBe(first.id);
      await call('delete', `/${first.id}`);
      expect((await call('post', '', { ...ADA, ...bo })).status).toBe(200);
    });

    it('connects only one of several accounts that are connected simultaneously', async () => {
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          call('post', '', { ...ADA, settings: { email: `user-${index}@sandbox.test` } }),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 403)).toHaveLength(5);
      expect(await grants()).toHaveLength(1);
    });
  });

  describe('GET', () => {
    it('lists grants oldest first, in pages and by provider', async () => {
      const ids: string[] = [];
      for (const name of ['a', 'b', 'c']) {
        ids.push((await connect({ settings: { email: `${name}@sandbox.test` } })).id);
      }
      const all = await call('get');
      expect(all.body).toMatchObject({ limit: 10, offset: 0 });
      expect(all.body.data.map(({ id }: { id: string }) => id)).toEqual(ids);
      const page = await call('get', '?limit=1&offset=2&provider=sandbox');
      expect(page.body).toMatchObject({ limit: 1, offset: 2, data: [{ id: ids[2] }] });
      expect((await call('get', '?provider=google')).body.data).toEqual([]);
      expect((await call('get', '?provider=gmail')).body.data).toEqual([]);
      for (const name of ['googel', 'yahoo', 'Sandbox']) {
        const refused = await call('get', `?provider=${name}`);
        expect([refused.status, refused.body.error.message]).toEqual([
          400,
          expect.stringMatching(/^provider: must be one of .*google \(or gmail\), .*imap/),
        ]);
      }
      expect((await call('get', '?limit=0')).body.data).toEqual([]);
      expect((await call('get', '?limit=ten')).status).toBe(400);
      expect((await call('get', `?provider=${'x'.repeat(256)}`)).status).toBe(400);
    });

    it('lists only grants with an address, a status or metadata', async () => {
      const ada = await connect({ metadata: { team: 'sales', vip: true } });
      const bo = await connect({
        settings: { email: 'bo+x@sandbox.test' },
        metadata: { team: 'support' },
      });
      const other = await createApplication(server.app);
      await registerSandbox(server, other);
      await call('post', '', { ...ADA, metadata: { team: 'sales' } }, other.basic);
      await refuseCredentials(server, bo.id);
      const found = async (query: string) =>
        (await call('get', `?${query}`).expect(200)).body.data.map(({ id }: { id: string }) => id);
      expect(await found('email=Ada@Sandbox.test')).toEqual([ada.id]);
      expect(await found('email=bo+x@sandbox.test')).toEqual([bo.id]);
      expect(await found('email=bo%2Bx@sandbox.test')).toEqual([bo.id]);
      expect(await found('email=ada')).toEqual([]);
      expect(await found('grant_status=invalid')).toEqual([bo.id]);
      expect(await found('metadata_key=vip')).toEqual([ada.id]);
      expect(await found('metadata_value=support')).toEqual([bo.id]);
      expect(await found('metadata_value=true')).toEqual([ada.id]);
      expect(await found('metadata_pair=team:sales')).toEqual([ada.id]);
      expect(await found('metadata_key=vip&metadata_search=none')).toEqual([bo.id]);
      expect(await found('metadata_key=team&email=bo%2Bx@sandbox.test')).toEqual([bo.id]);
      for (const wrong of ['grant_status=good', 'metadata_pair=team', 'metadata_search=most'])
        await call('get', `?${wrong}`).expect(400);
    });
  });

  describe('PATCH', () => {
    it('replaces metadata and keeps the other fields', async () => {
      const { id } = await connect({ metadata: { a: 1, b: true }, scope: ['email'] });
      const response = await call('patch', `/${id}`, {
        metadata: { c: 'x' },
        provider: 'google',
        state: 'z',
      });
      expect(response.status).toBe(200);
      expect(response.body).toMatchObject({
        success: true,
        data: {
          id,
          metadata: { c: 'x' },
          scope: ['email'],
          provider: 'sandbox',
          state: '',
          grant_status: 'valid',
        },
      });
      expect((await call('patch', `/${id}`, {})).body.data.metadata).toEqual({ c: 'x' });
    });

    it('narrows scopes immediately', async () => {
      const { id, access_token: token } = await connect({ scope: ['email', 'calendar'] });
      expect(await scopesOf(token)).toEqual(['email', 'calendar']);
      const response = await call('patch', `/${id}`, { scope: ['email.read_only'] });
      expect(response.body.data).toMatchObject({
        scope: ['email.read_only'],
        grant_status: 'valid',
      });
      expect(await scopesOf(token)).toEqual(['email.read_only']);
    });

    it('makes the grant invalid when scopes are added, and grants the new scopes only after a new authentication', async () => {
      const { id, access_token: token } = await connect({ scope: ['email.read_only'] });
      const widened = await call('patch', `/${id}`, { scope: ['email.read_only', 'calendar'] });
      expect(widened.body.data).toMatchObject({
        scope: ['email.read_only', 'calendar'],
        grant_status: 'invalid',
      });
      expect(await scopesOf(token)).toEqual(['email.read_only']);
      expect(await connect()).toMatchObject({
        id,
        scope: ['email.read_only', 'calendar'],
        grant_status: 'valid',
      });
      expect(await scopesOf(token)).toEqual(['email.read_only', 'calendar']);
    });

    it('makes the grant valid again when the request for more scopes is withdrawn', async () => {
      const { id } = await connect({ scope: ['email.read_only'] });
      expect((await call('patch', `/${id}`, { scope: null })).body.data.grant_status).toBe(
        'invalid',
      );
      expect(
        (await call('patch', `/${id}`, { scope: ['email.read_only'] })).body.data,
      ).toMatchObject({
        scope: ['email.read_only'],
        grant_status: 'valid',
      });
    });

    it('keeps a grant with refused credentials invalid when its scopes change', async () => {
      const { id } = await connect({ scope: ['email', 'calendar'] });
      await refuseCredentials(server, id);
      expect((await call('patch', `/${id}`, { scope: ['email'] })).body.data.grant_status).toBe(
        'invalid',
      );
    });

    it('gives the grant the scopes of the integration that the user has agreed to', async () => {
      await request(server.url)
        .patch('/connect/integrations/sandbox')
        .set(application.basic)
        .send({ scope: ['email'] });
      const { access_token: token, id } = await connect({ scope: [] });
      expect(await scopesOf(token)).toEqual(['email']);
      await request(server.url)
        .patch('/connect/integrations/sandbox')
        .set(application.basic)
        .send({ scope: ['email', 'calendar'] });
      expect(await scopesOf(token)).toEqual(['email']);
      await request(server.url).delete('/connect/integrations/sandbox').set(application.basic);
      expect(await scopesOf(token)).toEqual(['email']);
      expect((await call('get', `/${id}`)).body.data.grant_status).toBe('valid');
      await registerSandbox(server, application);
      await connect();
      expect(await scopesOf(token)).toBeNull();
    });

    it('shows settings without secrets, which may be saved again and keep the secrets', async () => {
      const { id } = await connect({ settings: { ...ADA.settings, sent_copies: false } });
      const { data } = (await call('get', `/${id}`)).body;
      expect(data.settings).toEqual({ sent_copies: false, sample_messages: true });
      const { settings, scope, metadata } = data;
      const saved = await call('patch', `/${id}`, {
        settings,
        scope,
        metadata: { ...metadata, a: 1 },
      });
      expect([saved.status, saved.body.data]).toEqual([
        200,
        expect.objectContaining({ grant_status: 'valid', settings, metadata: { a: 1 } }),
      ]);
      const stored = await server.app.get(ProviderAccounts, { strict: false }).find(id);
      expect(stored?.settings).toMatchObject({
        password: ADA.settings.password,
        sent_copies: false,
      });
    });

    it('verifies new credentials, and treats them as a new authentication', async () => {
      const { id } = await connect({ scope: ['email'] });
      await refuseCredentials(server, id);
      const refused = await call('patch', `/${id}`, {
        settings: { password: 'wrong' },
        metadata: { a: 1 },
      });
      expect(refused.status).toBe(400);
      expect((await call('get', `/${id}`)).body.data).toMatchObject({
        grant_status: 'invalid',
        metadata: {},
      });
      const accepted = await call('patch', `/${id}`, {
        settings: { password: 'right', sent_copies: false },
        scope: ['email', 'calendar'],
      });
      expect(accepted.body.data).toMatchObject({
        grant_status: 'valid',
        scope: ['email', 'calendar'],
      });
    });

    it('adds no scopes for settings without credentials, because no user has agreed to them', async () => {
      const { id, access_token: token } = await connect({ scope: ['email.read_only'] });
      const wider = await call('patch', `/${id}`, {
        settings: { sent_copies: true },
        scope: ['email'],
      });
      expect(wider.body.data).toMatchObject({ grant_status: 'invalid', scope: ['email'] });
      expect(await scopesOf(token)).toEqual(['email.read_only']);
      const again = await call('patch', `/${id}`, { settings: { sent_copies: false } });
      expect(again.body.data.grant_status).toBe('invalid');
      const agreed = await call('patch', `/${id}`, { settings: { password: 'anew' } });
      expect(agreed.body.data.grant_status).toBe('valid');
      expect(await scopesOf(token)).toEqual(['email']);
    });

    it('makes an invalid grant valid when changed settings pass verification', async () => {
      const { id } = await connect({ scope: ['email'] });
      await refuseCredentials(server, id);
      const mended = await call('patch', `/${id}`, { settings: { sent_copies: false } });
      expect(mended.body.data.grant_status).toBe('valid');
    });

    it.each([
      ['metadata that is a string', { metadata: 'x' }],
      ['nested metadata', { metadata: { a: [1] } }],
      ['an unknown scope', { scope: ['email', 'nothing'] }],
      ['settings that are a list', { settings: [1] }],
      ['a setting of the wrong type', { settings: { sent_copies: 'no' } }],
      ['an unknown setting', { settings: { password: 'new', sent_copy: true } }],
    ])('refuses %s and changes nothing', async (_, body) => {
      const { id } = await connect({ metadata: { a: 1 }, scope: ['email'] });
      const before = (await call('get', `/${id}`)).body;
      expect((await call('patch', `/${id}`, body)).status).toBe(400);
      expect((await call('get', `/${id}`)).body).toEqual(before);
    });
  });

  it('names an unknown setting of a change, and the nearest known one', async () => {
    const { id } = await connect();
    const refused = await call('patch', `/${id}`, {
      settings: { sent_copys: true, imap_host: 'x' },
    });
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toMatch(
      /^settings: must not contain sent_copys \(did you mean sent_copies\?\), imap_host; allowed: password, name, /,
    );
    // The settings with which the account was connected may be sent again.
    const again = { settings: { email: ADA.settings.email, password: 'p4ssw0rd-of-ada' } };
    expect((await call('patch', `/${id}`, again)).status).toBe(200);
  });

  describe('DELETE', () => {
    it('revokes the tokens and deletes all rows of the account', async () => {
      const { id, access_token: token } = await connect();
      const job = '019aa1b2-0000-7000-8000-0000000000ff';
      await rowsOf(
        server,
        `insert into job_status (id, account_id, action, object, status) values ($1, $2, 'new_outbox', 'message', 'pending')`,
        [job, id],
      );
      for (const insert of [
        `insert into send_job (id, account_id, run_at, due_at, retry_limit_at) values ($1, $2, 'infinity', 'infinity', now())`,
        `insert into provider_job (id, account_id, run_at, due_at, action, object_id, payload)
         values ($1, $2, 'infinity', 'infinity', 'create_event', $1, '{}')`,
      ]) {
        await rowsOf(server, insert, [job, id]);
      }
      const response = await call('delete', `/${id}`, {});
      expect(response.status).toBe(200);
      expect(response.body).toEqual({ success: true });
      expect((await account(token)).status).toBe(401);
      expect((await call('get', `/${id}`)).status).toBe(404);
      expect((await call('delete', `/${id}`)).status).toBe(404);
      for (const table of ['sync_job', 'send_job', 'provider_job', 'job_status']) {
        expect(await rowsOf(server, `select 1 from ${table} where account_id = '${id}'`)).toEqual(
          [],
        );
      }
    });
  });

  describe('/sync', () => {
    it('schedules a sync pass now and returns the grant without an envelope, by POST and GET', async () => {
      const { id } = await connect();
      for (const method of ['post', 'get'] as const) {
        await rowsOf(
          server,
          `update sync_job set run_at = now() + interval '1 hour' where account_id = $1`,
          [id],
        );
        const response = await call(method, `/${id}/sync?sync_from=1700000000`);
        expect(response.status).toBe(200);
        expect(response.body).toMatchObject({ id, grant_status: 'valid' });
        expect(
          await rowsOf(server, 'select 1 from sync_job where account_id = $1 and run_at <= now()', [
            id,
          ]),
        ).toHaveLength(1);
      }
      expect((await call('post', `/${id}/sync?sync_from=yesterday`)).status).toBe(400);
    });
  });

  it('answers 404 for grants of other applications, exactly as for unknown ids', async () => {
    const { id } = await connect();
    const other = await createApplication(server.app);
    const foreign = await createAccount(server.app, other);
    const unknown = [foreign.id, '019aa1b2-0000-7000-8000-000000000001', 'x', '%00', "' or 1=1"];
    for (const key of unknown) {
      for (const [method, path] of [
        ['get', ''],
        ['patch', ''],
        ['delete', ''],
        ['post', '/sync'],
        ['get', '/sync'],
      ] as const) {
        const body = method === 'patch' ? { metadata: { mine: true } } : undefined;
        const response = await call(
          method,
          `/${encodeURI(key).replace('%2500', '%00')}${path}`,
          body,
        );
        expect(response.status).toBe(404);
        expect(response.body).toMatchObject({
          success: false,
          error: { type: 'api.not_found_error' },
        });
      }
    }
    expect(
      (await call('get', `/${foreign.id}`, undefined, other.basic)).body.data.metadata,
    ).toEqual({});
    expect((await call('get', `/${id}`, undefined, other.basic)).status).toBe(404);
    expect((await call('patch', `/${foreign.id}`, { settings: { password: 'x' } })).status).toBe(
      404,
    );
  });

  it('needs the client id and the client secret', async () => {
    const { access_token: token } = await connect();
    for (const headers of [{}, application.secretBasic, { authorization: `Bearer ${token}` }]) {
      expect((await call('get', '', undefined, headers as Record<string, string>)).status).toBe(
        401,
      );
    }
  });
});
