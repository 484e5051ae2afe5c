import request from 'supertest';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { OperatorTokensService } from '../../src/operator/access/operator-tokens.service.ts';
import {
  type ListedOperator,
  OperatorsService,
} from '../../src/operator/access/operators.service.ts';
import { csrfToken } from '../../src/operator/access/sessions/csrf.ts';
import { rowsOf } from '../support/connect.ts';
import { secret } from '../support/log-watch.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { PageBrowser } from '../support/page-browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'a newer horse battery';
const OWN_ACCESS = 'Ask another operator to do this';

/** A browser that is signed in to the console. */
interface Session {
  cookie: string;
  csrf: string;
}

describe('operators in the console', () => {
  let server: TestApp;
  let operators: OperatorsService;
  let boss: TestOperator;
  let session: Session;
  let made = 0;

  beforeAll(async () => {
    for (const password of [PASSWORD, NEW_PASSWORD]) secret('password of an operator', password);
    server = await startTestApp({ ROLES: 'api' });
    operators = server.app.get(OperatorsService);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    boss = await createOperator(server, 'operate', `boss-${(made += 1)}`);
    session = { cookie: boss.cookie.cookie, csrf: boss.csrf };
  });

  const get = (path: string, { cookie } = session) =>
    request(server.url).get(path).set({ cookie }).redirects(0);
  const post = (path: string, fields: object = {}, { cookie, csrf } = session) =>
    request(server.url)
      .post(path)
      .type('form')
      .set({ cookie })
      .redirects(0)
      .send({ csrf_token: csrf, ...fields });
  const listed = async (name: string): Promise<ListedOperator | undefined> =>
    (await operators.list()).find((one) => one.name === name);
  const idOf = async (name: string): Promise<string> => (await listed(name))?.id ?? '';
  const create = async (role: 'read' | 'operate', password: string | null = null) => {
    const name = `person-${(made += 1)}`;
    const id = await operators.create(SYSTEM, { name, role, password });
    return { id, name, path: `/console/operators/${id}` };
  };
  const auditOf = async (id: string) =>
    (
      await rowsOf<{ action: string; actor: string }>(
        server,
        'select action, actor_name as actor from audit_entry where target_id = $1 order by id',
        [id],
      )
    ).map(({ action, actor }) => `${action} by ${actor}`);
  /** The sign-in link that a page shows. */
  const linkIn = (page: string): string => {
    const [, escaped = ''] = /<code>(http[^<]*sign-in\/link[^<]*)<\/code>/.exec(page) ?? [];
    const link = escaped.replaceAll('&amp;', '&');
    secret('link of an operator', new URL(link).searchParams.get('secret') ?? '');
    return link;
  };
  /** Opens the sign-in link of a page and presses its button. */
  const signInBy = async (page: string): Promise<Session & { to: string | null }> => {
    const browser = new PageBrowser(server);
    await browser.get(linkIn(page));
    const { location: to } = await browser.submit('link');
    const value = browser.cookies.get('carillon_operator') ?? '';
    secret('session of an operator', value);
    return { cookie: `carillon_operator=${value}`, csrf: csrfToken(value), to };
  };
  const signIn = (name: string, password: string) =>
    request(server.url).post('/console/sign-in').type('form').send({ name, password }).redirects(0);

  it('are created with a link, by which the new operator signs in and chooses a password', async () => {
    const { text } = await post('/console/operators/new', { name: 'Grace', role: 'read' }).expect(
      200,
    );
    const grace = await signInBy(text);
    expect(grace.to).toBe('/console/password');
    await get('/console/jobs', grace).expect(200);
    await get('/console/operators/new', grace).expect(403);
    const chosen = await post('/console/password', { password: PASSWORD }, grace).expect(303);
    expect(chosen.headers['location']).toBe('/console/password?done=password-changed');
    // The old session has ended, the browser has a new one.
    await get('/console', grace).expect(303);
    expect(String(chosen.headers['set-cookie'])).toMatch(/carillon_operator=\w+;.*HttpOnly/);
    await signIn('grace', PASSWORD).expect(303);
    expect(await auditOf(await idOf('grace'))).toEqual([
      `operator.create by ${boss.name}`,
      `operator.link by ${boss.name}`,
      'operator.sign-in by grace',
      'operator.set-password by grace',
      'operator.sign-in by grace',
      'operator.sign-in by grace',
    ]);
    await post('/console/operators/new', { name: 'grace' }).expect(409);
    await post('/console/operators/new', { name: 'two words' }).expect(400);
  });

  it('sign in by the button of a link, which link previews and scanners do not use up', async () => {
    const { name, path } = await create('read');
    const link = linkIn((await post(`${path}/sign-in-link`).expect(200)).text);
    const { pathname, search } = new URL(link);
    for (const method of ['get', 'head'] as const) {
      const seen = await request(server.url)
        [method](pathname + search)
        .expect(200);
      expect(String(seen.headers['set-cookie'])).not.toContain('carillon_operator=');
      expect(seen.headers).toMatchObject({
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
    }
    const browser = new PageBrowser(server);
    await browser.get(link);
    const { fields } = browser.form('link');
    const cookie = `carillon_operator_link=${browser.cookies.get('carillon_operator_link')}`;
    const pressed = (headers: Record<string, string>, body = fields) =>
      request(server.url).post(pathname).type('form').set(headers).redirects(0).send(body);
    // Another site can send the form, but not with the cookie and the token of this browser.
    await pressed({}).expect(403);
    await pressed({ cookie: 'carillon_operator_link=another' }).expect(403);
    await pressed({ cookie, origin: 'https://evil.example' }).expect(403);
    await pressed({ cookie }, { ...fields, csrf_token: '' }).expect(403);
    await pressed({ cookie }, { ...fields, secret: '' }).expect(401);
    expect((await browser.follow('link')).text).toContain(name);
    // The second click of a double click, whose response the browser shows.
    await pressed({ cookie }).expect(303);
    const other = new PageBrowser(server);
    await other.get(link);
    expect((await other.follow('link')).text).toContain('was used before');
  });

  it('change their own password only with the current one, whatever their role', async () => {
    const { name } = await create('read', PASSWORD);
    const { headers } = await signIn(name, PASSWORD).expect(303);
    const [, value = ''] = /carillon_operator=(\w+)/.exec(String(headers['set-cookie'])) ?? [];
    secret('session of an operator', value);
    const own = { cookie: `carillon_operator=${value}`, csrf: csrfToken(value) };
    const change = (current: string, password: string) =>
      post('/console/password', { current, password }, own);
    expect((await change('a wrong password', NEW_PASSWORD).expect(400)).text).toContain(
      'Your current password is wrong.',
    );
    expect((await change(PASSWORD, 'short').expect(400)).text).toContain('12 to 200 characters');
    await signIn(name, PASSWORD).expect(303);
    await change(PASSWORD, NEW_PASSWORD).expect(303);
    await signIn(name, PASSWORD).expect(401);
    await signIn(name, NEW_PASSWORD).expect(303);
  });

  it('get a link to choose a new password when somebody resets the old one', async () => {
    const { name, path } = await create('operate', PASSWORD);
    const others = (await operators.list()).filter((one) => one.hasPassword && one.name !== name);
    for (const other of others) await operators.remove(SYSTEM, other.name);
    const refused = await post(`${path}/reset-password`).expect(409);
    expect(refused.text).toContain('the last operator with the role operate who can sign in');
    await create('operate', PASSWORD);
    const { text } = await post(`${path}/reset-password`).expect(200);
    await signIn(name, PASSWORD).expect(401);
    const again = await signInBy(text);
    expect(again.to).toBe('/console/password');
    expect((await get('/console/password', again).expect(200)).text).not.toContain(
      'Current password',
    );
  });

  it('who are disabled can use neither sessions nor passwords, links and tokens, until they are enabled', async () => {
    const { id, name, path } = await create('operate', PASSWORD);
    const { token } = await server.app
      .get(OperatorTokensService)
      .create(SYSTEM, { operatorName: name, note: '', role: 'operate', lifetimeSeconds: null });
    secret('token of an operator', token);
    const asToken = () =>
      request(server.url).get('/admin/me').set('authorization', `Bearer ${token}`);
    const link = await post(`${path}/sign-in-link`).expect(200);
    const own = await signInBy(link.text);
    await get('/console', own).expect(200);
    const done = await post(`${path}/disable`).expect(303);
    expect(done.headers['location']).toBe(`${path}?done=operator-disabled`);
    await get('/console', own).expect(303);
    await asToken().expect(401);
    expect((await signIn(name, PASSWORD).expect(403)).text).toContain(`${name} is disabled`);
    await signIn(name, 'a wrong password').expect(401);
    await post(`${path}/sign-in-link`).expect(403);
    expect((await get('/console/operators').expect(200)).text).toContain('disabled');
    await post(`${path}/enable`).expect(303);
    await asToken().expect(200);
    await signIn(name, PASSWORD).expect(303);
    expect(await auditOf(id)).toEqual(
      expect.arrayContaining([
        `operator.disable by ${boss.name}`,
        `operator.enable by ${boss.name}`,
      ]),
    );
  });

  it('who are disabled keep their password when somebody resets it, and get no tokens', async () => {
    const { id, name, path } = await create('operate', PASSWORD);
    await operators.disable(SYSTEM, name);
    expect((await post(`${path}/reset-password`).expect(403)).text).toContain('is disabled');
    expect(await operators.get(id)).toMatchObject({ hasPassword: true });
    await post(`${path}/tokens`, { note: 'backup', role: 'read' }).expect(403);
    await operators.enable(SYSTEM, name);
    await signIn(name, PASSWORD).expect(303);
  });

  it('get no token with a stronger role than their own, and are offered none', async () => {
    const { path, id } = await create('read');
    const offered = async (page: string) =>
      [...(await get(`${page}/tokens/new`)).text.matchAll(/<option value="(read|operate)"/g)].map(
        ([, role]) => role,
      );
    expect(await offered(path)).toEqual(['read']);
    expect(await offered((await create('operate')).path)).toEqual(['read', 'operate']);
    const { text } = await post(`${path}/tokens`, { note: 'script', role: 'operate' }).expect(400);
    expect(text).toContain('has only the role read');
    expect(await operators.get(id)).toMatchObject({ tokens: 0 });
    await post(`${path}/tokens`, { note: 'script', role: 'read' }).expect(200);
  });

  it('cannot remove, disable or restrict themselves, so that somebody is left who can', async () => {
    const path = `/console/operators/${boss.id}`;
    const wanted = { remove: { confirm: boss.name }, disable: {}, read: {}, 'reset-password': {} };
    for (const [action, fields] of Object.entries(wanted)) {
      const { status, text } = await post(`${path}/${action}`, fields);
      expect([action, status, text.includes(OWN_ACCESS)]).toEqual([action, 409, true]);
    }
    await get('/console').expect(200);
    expect((await get(path).expect(200)).text).not.toContain('Remove…');
  });

  it('who remove each other at the same moment do not both succeed', async () => {
    const other = await createOperator(server, 'operate', `boss-${(made += 1)}`);
    const theirs = { cookie: other.cookie.cookie, csrf: other.csrf };
    const results = await Promise.all([
      post(`/console/operators/${other.id}/remove`, { confirm: other.name }),
      post(`/console/operators/${boss.id}/remove`, { confirm: boss.name }, theirs),
    ]);
    const left = await Promise.all([boss.name, other.name].map(listed));
    expect(left.filter(Boolean)).toHaveLength(1);
    // The second one is refused, or is not signed in any more (303 to the sign-in).
    expect(
      results.filter(({ headers }) =>
        String(headers['location']).includes('done=operator-removed'),
      ),
    ).toHaveLength(1);
  });

  it('are removed and restricted by others, after a page that asks', async () => {
    const { id, name, path } = await create('operate', PASSWORD);
    expect((await get(`${path}/read`).expect(200)).text).toContain('Nothing has been changed yet');
    await post(`${path}/read`).expect(303);
    expect((await listed(name))?.role).toBe('read');
    await post(`${path}/operate`).expect(303);
    await post(`${path}/remove`, { confirm: 'somebody else' }).expect(400);
    const { headers } = await post(`${path}/remove`, { confirm: name }).expect(303);
    expect(headers['location']).toBe('/console/operators?done=operator-removed');
    expect(await listed(name)).toBeUndefined();
    expect(await auditOf(id)).toContain(`operator.remove by ${boss.name}`);
    await post(`${path}/remove`, { confirm: name }).expect(404);
    await get(`${path}/enlarge`).expect(404);
  });

  it('have tokens for the admin API, which are made and revoked on their page', async () => {
    const { path } = await create('operate');
    const { text } = await post(`${path}/tokens`, {
      note: 'backup',
      role: 'read',
      lifetime: '86400',
    }).expect(200);
    const [, token = ''] = /class="secret">.*?<code>(\w+)<\/code>/s.exec(text) ?? [];
    secret('token of an operator', token);
    const me = () => request(server.url).get('/admin/me').set('authorization', `Bearer ${token}`);
    expect((await me().expect(200)).body).toMatchObject({ role: 'read' });
    const page = await get(path).expect(200);
    const [, revoke = ''] = /href="([^"]*\/revoke)"/.exec(page.text) ?? [];
    // The token belongs to this operator only.
    await post(revoke.replace(path, `/console/operators/${boss.id}`)).expect(404);
    await post(revoke).expect(303);
    await me().expect(401);
  });
});
