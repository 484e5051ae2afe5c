import request from 'supertest';
import { refuseCredentials, rowsOf } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('accounts', () => {
  let server: TestApp;
  let application: TestApplication;
  let account: TestAccount;
  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    account = await createAccount(server.app, application, {
      email: 'ada@sandbox.test',
      name: 'Ada',
    });
  });
  afterAll(() => server.close());

  const manage = (
    method: 'get' | 'post' | 'put' | 'delete',
    path = '',
    body?: object,
    headers = application.secretBasic,
  ) => {
    const sent = request(server.url)
      [method](`/a/${application.clientId}/accounts${path}`)
      .set(headers);
    return body ? sent.send(body) : sent;
  };
  const self = (headers: Record<string, string> = account.bearer) =>
    request(server.url).get('/account').set(headers);
  /** Creates a second token for the account. */
  const secondToken = async (): Promise<string> => {
    await request(server.url)
      .post('/connect/integrations')
      .set(application.basic)
      .send({ name: 'S', provider: 'sandbox' });
    const response = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .send({ provider: 'sandbox', settings: { email: 'ada@sandbox.test' } });
    expect(response.body.data.id).toBe(account.id);
    return response.body.data.access_token;
  };

  describe('GET /account', () => {
    it('shows the account of the token, with Bearer and with Basic authorization', async () => {
      const basic = {
        authorization: `Basic ${Buffer.from(`${account.token}:`).toString('base64')}`,
      };
      const lower = { authorization: `bearer ${account.token}` };
      for (const headers of [account.bearer, basic, lower]) {
        const response = await self(headers);
        expect(response.status).toBe(200);
        expect(response.body).toEqual({
          id: account.id,
          object: 'account',
          account_id: account.id,
          name: 'Ada',
          email_address: 'ada@sandbox.test',
          address_proven: true,
          proof: 'sandbox',
          provider: 'sandbox',
          organization_unit: 'folder',
          sync_state: 'running',
          linked_at: expect.any(Number),
          billing_state: 'paid',
          mirror: null,
        });
      }
    });

    it('needs no scope, and works while the provider refuses the credentials', async () => {
      const poor = await createAccount(server.app, application, {
        scope: ['contacts'],
        status: 'invalid',
      });
      expect((await self(poor.bearer)).status).toBe(200);
    });

    it('shows the state as "invalid" here and as "invalid-credentials" to the application', async () => {
      await refuseCredentials(server, account.id);
      expect((await self()).body.sync_state).toBe('invalid');
      expect((await manage('get', `/${account.id}`)).body.sync_state).toBe('invalid-credentials');
    });

    it('refuses missing, unknown, malformed, expired and revoked tokens with 401', async () => {
      const tokenExpiresAt = new Date(Date.now() - 1_000);
      const expired = await createAccount(server.app, application, { tokenExpiresAt });
      const attempts: Record<string, string>[] = [
        {},
        { authorization: 'Bearer' },
        { authorization: 'Bearer nope' },
        { authorization: `Bearer ${account.token} x` },
        { authorization: `Token ${account.token}` },
        { authorization: `Bearer ${'x'.repeat(10_000)}` },
        expired.bearer,
        application.basic,
      ];
      for (const headers of attempts) {
        const response = await self(headers);
        expect(response.status).toBe(401);
        expect(response.headers['www-authenticate']).toBe(
          'Basic realm="API Access Token Required"',
        );
        expect(response.body).toEqual({
          message: 'Could not verify access credential.',
          type: 'invalid_request_error',
        });
      }
    });
  });

  describe('POST /oauth/revoke', () => {
    it('revokes only the token that authorizes the request', async () => {
      const other = await secondToken();
      const basic = {
        authorization: `Basic ${Buffer.from(`${account.token}:`).toString('base64')}`,
      };
      const response = await request(server.url).post('/oauth/revoke').set(basic);
      expect(response.status).toBe(200);
      expect(response.text).toBe('');
      expect(response.headers['content-type']).toMatch(/^text\//);
      expect((await self()).status).toBe(401);
      expect((await request(server.url).post('/oauth/revoke').set(account.bearer)).status).toBe(
        401,
      );
      expect((await self({ authorization: `Bearer ${other}` })).status).toBe(200);
      await request(server.url)
        .post('/oauth/revoke')
        .set('authorization', `Bearer ${other}`)
        .expect(200);
      expect((await self({ authorization: `Bearer ${other}` })).status).toBe(401);
    });
  });

  describe('/a/{client_id}/accounts', () => {
    it('lists accounts oldest first, page by page, as a bare array', async () => {
      const second = await createAccount(server.app, application);
      await createAccount(server.app, await createApplication(server.app));
      const all = await manage('get');
      expect(all.status).toBe(200);
      expect(all.body.map(({ id }: { id: string }) => id)).toEqual([account.id, second.id]);
      expect(all.body[0]).toEqual({
        id: account.id,
        account_id: account.id,
        email: 'ada@sandbox.test',
        address_proven: true,
        proof: 'sandbox',
        provider: 'sandbox',
        sync_state: 'running',
        billing_state: 'paid',
        mirror: null,
        trial: false,
        authentication_type: 'password',
        metadata: {},
        sending_paused: null,
      });
      expect((await manage('get', '?limit=1&offset=1')).body).toMatchObject([{ id: second.id }]);
      expect((await manage('get', '?limit=0')).body).toEqual([]);
      expect((await manage('get', '?limit=1001')).body.message).toContain('more than 1000');
      expect((await manage('get', '?limit=-1')).status).toBe(400);
    });

    it('filters by metadata', async () => {
      const second = await createAccount(server.app, application);
      await manage('put', `/${account.id}`, { metadata: { team: 'sales', tier: 'gold' } });
      await manage('put', `/${second.id}`, { metadata: { team: 'support' } });
      const ids = async (query: string) =>
        (await manage('get', `?${query}`)).body.map(({ id }: { id: string }) => id);
      expect(await ids('metadata_key=tier')).toEqual([account.id]);
      expect(await ids('metadata_value=support')).toEqual([second.id]);
      expect(await ids('metadata_pair=team:sales')).toEqual([account.id]);
      expect(await ids('metadata_pair=team:sales&metadata_pair=team:support')).toHaveLength(2);
      expect(await ids('metadata_key=team&metadata_key=tier&metadata_search=all')).toEqual([
        account.id,
      ]);
      expect(await ids('metadata_key=tier&metadata_search=none')).toEqual([second.id]);
      expect((await manage('get', '?metadata_pair=nocolon')).status).toBe(400);
      expect((await manage('get', '?metadata_search=most')).status).toBe(400);
    });

    it('replaces metadata', async () => {
      const response = await manage('put', `/${account.id}`, { metadata: { a: '1', b: '' } });
      expect(response.status).toBe(200);
      expect(response.body.metadata).toEqual({ a: '1', b: '' });
      expect(
        (await manage('put', `/${account.id}`, { metadata: { c: '2' } })).body.metadata,
      ).toEqual({
        c: '2',
      });
    });

    it('returns the account unchanged for a body without metadata, and for no body', async () => {
      await manage('put', `/${account.id}`, { metadata: { kept: 'yes' } });
      for (const body of [{}, undefined]) {
        const { status, body: answer } = await manage('put', `/${account.id}`, body);
        expect([status, answer]).toEqual([200, (await manage('get', `/${account.id}`)).body]);
        expect(answer.metadata).toEqual({ kept: 'yes' });
      }
    });

    it('shows metadata as text, also if the grant has booleans and numbers', async () => {
      await request(server.url)
        .patch(`/connect/grants/${account.id}`)
        .set(application.basic)
        .send({ metadata: { isAdmin: true, seats: 3, team: 'sales' } })
        .expect(200);
      const metadata = { isAdmin: 'true', seats: '3', team: 'sales' };
      expect((await manage('get', `/${account.id}`)).body.metadata).toEqual(metadata);
      expect((await manage('get', '?metadata_pair=seats:3')).body).toMatchObject([{ metadata }]);
    });

    it.each([
      ['metadata that is a string', { metadata: 'x' }],
      ['values that are numbers', { metadata: { a: 1 } }],
      ['nested values', { metadata: { a: {} } }],
      ['an empty key', { metadata: { '': 'x' } }],
      ['null', { metadata: null }],
    ])('refuses %s and changes nothing', async (_, body) => {
      await manage('put', `/${account.id}`, { metadata: { kept: 'yes' } });
      expect((await manage('put', `/${account.id}`, body)).status).toBe(400);
      expect((await manage('get', `/${account.id}`)).body.metadata).toEqual({ kept: 'yes' });
    });

    it('cancels an account and reactivates it', async () => {
      const down = await manage('post', `/${account.id}/downgrade`);
      expect(down.status).toBe(200);
      expect(down.body).toEqual({
        success: 'true',
        ...(await manage('get', `/${account.id}`)).body,
      });
      expect(down.body).toMatchObject({ account_id: account.id, billing_state: 'cancelled' });
      expect((await self()).status).toBe(403);
      expect((await self()).body.message).toBe('This account has been cancelled.');
      expect((await manage('get', `/${account.id}`)).body).toMatchObject({
        billing_state: 'cancelled',
        sync_state: 'stopped',
      });
      expect(
        await rowsOf(server, `select 1 from sync_job where account_id = $1`, [account.id]),
      ).toEqual([]);
      expect((await manage('post', `/${account.id}/downgrade`)).body).toEqual(down.body);
      const up = await manage('post', `/${account.id}/upgrade`);
      expect(up.body).toEqual({
        success: 'true',
        ...(await manage('get', `/${account.id}`)).body,
      });
      expect(up.body).toMatchObject({ account_id: account.id, billing_state: 'paid' });
      expect((await self()).body).toMatchObject({ billing_state: 'paid', sync_state: 'running' });
      expect(
        await rowsOf(server, `select 1 from sync_job where account_id = $1`, [account.id]),
      ).toHaveLength(1);
    });

    it('leaves an account with refused credentials invalid when it is upgraded', async () => {
      await refuseCredentials(server, account.id);
      await manage('post', `/${account.id}/downgrade`);
      await manage('post', `/${account.id}/upgrade`);
      expect((await self()).body.sync_state).toBe('invalid');
    });

    it('revokes all tokens, or all but one', async () => {
      const kept = await secondToken();
      const wrong = await manage('post', `/${account.id}/revoke-all`, {
        keep_access_token: 'not-a-token',
      });
      expect(wrong.status).toBe(400);
      const stranger = await createAccount(server.app, application);
      expect(
        (await manage('post', `/${account.id}/revoke-all`, { keep_access_token: stranger.token }))
          .status,
      ).toBe(400);
      expect((await self()).status).toBe(200);
      const response = await manage('post', `/${account.id}/revoke-all`, {
        keep_access_token: kept,
      });
      expect(response.body).toEqual({ success: 'true' });
      expect((await self()).status).toBe(401);
      expect((await self({ authorization: `Bearer ${kept}` })).status).toBe(200);
      // PHP's client sends an empty list for an empty map.
      await manage('post', `/${account.id}/revoke-all`, []).expect(200);
      expect((await self({ authorization: `Bearer ${kept}` })).status).toBe(401);
      expect((await self(stranger.bearer)).status).toBe(200);
    });

    it('describes a token without showing the token', async () => {
      const reader = await createAccount(server.app, application, {
        scope: ['email.read_only', 'calendar'],
      });
      const info = (token: string) =>
        manage('post', `/${reader.id}/token-info`, { access_token: token });
      const valid = await info(reader.token);
      expect(valid.body).toEqual({
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
        scopes: 'email.read_only,calendar',
        state: 'valid',
      });
      await manage('post', `/${reader.id}/revoke-all`);
      expect((await info(reader.token)).body.state).toBe('invalid');
      const foreign = await info(account.token);
      expect(foreign.status).toBe(404);
      expect(foreign.text).not.toContain(account.token);
      expect((await manage('post', `/${reader.id}/token-info`, {})).body.missing_fields).toEqual([
        'access_token',
      ]);
      const all = await manage('post', `/${account.id}/token-info`, {
        access_token: account.token,
      });
      expect(all.body.scopes.split(',')).toContain('room_resources.read_only');
    });

    it('disconnects an account', async () => {
      const response = await manage('delete', `/${account.id}`, {});
      expect(response.status).toBe(200);
      expect(response.body).toEqual({ success: true });
      expect((await self()).status).toBe(401);
      expect((await manage('get', `/${account.id}`)).status).toBe(404);
    });

    it('answers 404 for accounts of other applications, exactly as for unknown ids', async () => {
      const foreign = await createAccount(server.app, await createApplication(server.app));
      for (const id of [foreign.id, '019aa1b2-0000-7000-8000-000000000001', 'x', '%00']) {
        for (const [method, path, body] of [
          ['get', '', undefined],
          ['put', '', { metadata: { a: 'b' } }],
          ['delete', '', {}],
          ['post', '/upgrade', undefined],
          ['post', '/downgrade', undefined],
          ['post', '/revoke-all', {}],
          ['post', '/token-info', { access_token: foreign.token }],
        ] as const) {
          const response = await manage(method, `/${id}${path}`, body);
          expect(response.status).toBe(404);
          expect(response.body).toMatchObject({
            type: 'invalid_request_error',
            message: expect.stringContaining("Couldn't find account"),
          });
        }
      }
      expect((await self(foreign.bearer)).status).toBe(200);
      expect((await manage('get', '', undefined, account.bearer)).status).toBe(401);
      const other = await createApplication(server.app);
      expect((await manage('get', '', undefined, other.secretBasic)).status).toBe(401);
    });
  });
});
