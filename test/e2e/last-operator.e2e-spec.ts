import request from 'supertest';
import { run } from '../../src/cli/carillon/program.ts';
import { OperatorOidcService } from '../../src/operator/access/operator-oidc.service.ts';
import { OperatorTokensService } from '../../src/operator/access/operator-tokens.service.ts';
import {
  type ListedOperator,
  OperatorsService,
} from '../../src/operator/access/operators.service.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { secret } from '../support/log-watch.ts';
import { OauthServer } from '../support/oauth-server.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { overviewOf } from '../support/operators-view.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { TestClock } from '../support/test-clock.ts';

const PASSWORD = 'correct horse battery';
const DAY = 86_400_000;
const KEY = `test:${Buffer.alloc(32, 7).toString('base64')}`;

describe('operators with full rights', () => {
  let provider: OauthServer;
  let server: TestApp;
  let clock: TestClock;
  let operators: OperatorsService;
  /** An operator with the role `operate` who can sign in by links only. */
  let boss: TestOperator;

  beforeAll(async () => {
    secret('password of an operator', PASSWORD);
    provider = await OauthServer.start();
  });
  afterAll(() => provider.stop());
  beforeEach(async () => {
    clock = new TestClock();
    server = await startTestApp(
      {
        ROLES: 'api',
        ENCRYPTION_KEYS: KEY,
        OPERATOR_URL: 'https://ops.example.test',
        OPERATOR_OIDC_ISSUER: provider.url,
        OPERATOR_OIDC_CLIENT_ID: 'carillon',
        OPERATOR_OIDC_CLIENT_SECRET: 'a-long-client-secret',
        OPERATOR_OIDC_ROLES: 'operate:admins,read:support',
      },
      { clock },
    );
    operators = server.app.get(OperatorsService);
    boss = await createOperator(server, 'operate', 'boss');
    provider.user = { sub: 'ada', aud: 'carillon', email: 'ada@example.test', groups: ['admins'] };
  });
  afterEach(() => server.close());

  const create = (name: string) =>
    operators.create(SYSTEM, { name, role: 'operate', password: PASSWORD });
  const listed = async (name: string): Promise<ListedOperator | undefined> =>
    (await operators.list()).find((one) => one.name === name);
  const post = (path: string, fields: object = {}, { cookie, csrf } = boss) =>
    request(server.url)
      .post(`/console/operators/${path}`)
      .type('form')
      .set(cookie)
      .redirects(0)
      .send({ csrf_token: csrf, ...fields });
  const carillon = (...args: string[]) =>
    run(['operator', ...args], {
      environment: { NODE_ENV: 'test', DATABASE_URL: server.database.url, ENCRYPTION_KEYS: KEY },
      print: () => undefined,
      write: () => undefined,
    });
  /** Signs in at the provider, as the groups of `provider.user` allow. */
  const signInAtProvider = async (): Promise<void> => {
    const signIn = server.app.get(OperatorOidcService);
    const now = Math.floor(clock.now().getTime() / 1000);
    Object.assign(provider.user, { iat: now, exp: now + 300 });
    const { url, cookie } = await signIn.begin('/console');
    const { searchParams } = new URL(await provider.visit(url));
    const session = await signIn.finish(searchParams, cookie, { address: '', presented: '' });
    secret('session of an operator', session.secret);
  };

  it('stay at least one who can sign in without a link, by console and command, unless forced', async () => {
    const id = await create('ada');
    const changes = { disable: {}, read: {}, 'reset-password': {}, remove: { confirm: 'ada' } };
    for (const [action, fields] of Object.entries(changes)) {
      const { status, text } = await post(`${id}/${action}`, fields);
      const words = 'ada is the last operator with the role operate who can sign in without a link';
      expect([action, status, text.includes(words)]).toEqual([action, 409, true]);
    }
    expect(await listed('ada')).toMatchObject({ role: 'operate', hasPassword: true });
    const commands = [
      ['disable', 'ada'],
      ['set-role', 'ada', '--role', 'read'],
      ['set-password', 'ada', '--none'],
      ['remove', 'ada'],
    ];
    for (const command of commands)
      await expect(carillon(...command)).rejects.toThrow('with --force');
    await carillon('remove', 'ada', '--force');
    // Now nobody can sign in without a link: the last one who can by a link stays.
    await expect(carillon('disable', 'boss')).rejects.toThrow('boss is the last operator');
    expect((await listed('boss'))?.disabledAt).toBeNull();
  });

  it('are not both removed if two are removed at the same moment', async () => {
    const ids = [await create('ada'), await create('grace')];
    const names = ['ada', 'grace'];
    const results = await Promise.all(
      ids.map((id, index) => post(`${id}/remove`, { confirm: names[index] })),
    );
    expect(results.filter(({ status }) => status === 409)).toHaveLength(1);
    expect((await Promise.all(names.map(listed))).filter(Boolean)).toHaveLength(1);
  });

  it('count those of the identity provider for 30 days after a sign-in', async () => {
    const id = await create('root');
    await signInAtProvider();
    clock.advance(30 * DAY);
    // The session of the boss is too old, so a command changes the operator.
    await expect(carillon('disable', 'root')).rejects.toThrow('root is the last operator');
    await expect(operators.disable(SYSTEM, 'root')).rejects.toThrow('root is the last operator');
    await signInAtProvider();
    await operators.disable(SYSTEM, 'root');
    expect((await operators.get(id)).disabledAt).not.toBeNull();
  });

  it('lose what the identity provider takes away, and the overview says so', async () => {
    const reader = await createOperator(server, 'read', 'reader');
    await signInAtProvider();
    await operators.disable(SYSTEM, 'boss');
    const titles = async () => (await overviewOf(server, reader)).map(({ title }) => title);
    const concern = 'No enabled operator has the role operate';
    expect(await titles()).not.toContain(concern);
    provider.user['groups'] = ['support'];
    await signInAtProvider();
    expect(await listed('ada@example.test')).toMatchObject({ role: 'read' });
    expect(await titles()).toContain(concern);
    provider.user['groups'] = ['admins'];
    await signInAtProvider();
    expect(await titles()).not.toContain(concern);
    provider.user['groups'] = [];
    await expect(signInAtProvider()).rejects.toThrow('is no operator of this server');
    expect(await titles()).toContain(concern);
  });

  it('get no role here if the identity provider decides it', async () => {
    await signInAtProvider();
    const ada = await listed('ada@example.test');
    const { text } = await post(`${ada?.id}/read`).expect(409);
    expect(text).toContain('which decides the role at each sign-in');
    await expect(
      carillon('set-role', 'ada@example.test', '--role', 'read', '--force'),
    ).rejects.toThrow('which decides the role');
  });

  it('of the identity provider have tokens that end 30 days after their last sign-in', async () => {
    await signInAtProvider();
    const made = await server.app.get(OperatorTokensService).create(SYSTEM, {
      operatorName: 'ada@example.test',
      note: 'backup',
      role: null,
      lifetimeSeconds: null,
    });
    expect(made).toMatchObject({ role: 'operate', expiresAt: null, signInDays: 30 });
    secret('token of an operator', made.token);
    const me = () =>
      request(server.url).get('/admin/me').set('authorization', `Bearer ${made.token}`);
    clock.advance(30 * DAY - 1_000);
    await me().expect(200);
    const [shown] = (await server.app.get(OperatorTokensService).list()).filter(
      ({ id }) => id === made.id,
    );
    expect(shown?.expiresAt).toEqual(new Date(clock.now().getTime() + 1_000));
    clock.advance(1_000);
    await me().expect(401);
    expect(await listed('ada@example.test')).toMatchObject({ tokens: 0 });
    // Tokens of others have no such end.
    await request(server.url).get('/admin/me').set(boss.bearer).expect(200);
    await signInAtProvider();
    await me().expect(200);
  });
});
