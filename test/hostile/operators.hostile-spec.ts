import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { createAccount, createApplication } from '../support/factories.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { OPERATOR_ROUTE_TABLE } from './support/operator-route-table.ts';
import { isOfOperators, routesOf } from './support/routes.ts';

type Headers = Record<string, string>;

describe('routes of operators', () => {
  let server: TestApp;
  let reader: TestOperator;
  let operator: TestOperator;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    reader = await createOperator(server, 'read');
    operator = await createOperator(server, 'operate');
  });
  afterAll(() => server.close());

  const routes = () => routesOf(server).filter(isOfOperators);
  const isOfConsole = (route: string) => route.includes(' /console');
  const protectedRoutes = (caller?: 'read' | 'operate') =>
    Object.entries(OPERATOR_ROUTE_TABLE)
      .filter(([, allowed]) => (caller ? allowed === caller : allowed !== 'anybody'))
      .map(([route]) => route);
  const ask = (route: string, headers: Headers) => {
    const [method = '', path = ''] = route.split(' ');
    const address = path.replaceAll(/\{\w+\}/g, '019aa1b2-0000-7000-8000-000000000001');
    const asked = request(server.url)[method.toLowerCase() as 'get'](address).redirects(0);
    return asked.set(headers);
  };
  /** Whether a response refuses the caller: with the status, or by leading to the sign-in. */
  const isRefused = ({ status, headers }: request.Response, wanted: number) =>
    status === wanted ||
    (wanted === 401 &&
      status === 303 &&
      String(headers['location']).startsWith('/console/sign-in'));

  it('are all in the table that says who may call them', () => {
    expect(routes().filter((route) => !(route in OPERATOR_ROUTE_TABLE))).toEqual([]);
    expect(Object.keys(OPERATOR_ROUTE_TABLE).filter((route) => !routes().includes(route))).toEqual(
      [],
    );
  });

  it('refuse everybody who is no operator', async () => {
    const application = await createApplication(server.app);
    const account = await createAccount(server.app, application);
    const callers: Record<string, Headers> = {
      'no credential': {},
      'a wrong token': { authorization: `Bearer ${'x'.repeat(40)}` },
      'a wrong session': { cookie: `carillon_operator=${'x'.repeat(40)}` },
      'an access token': account.bearer,
      'an application': application.basic,
      'a client secret': application.secretBasic,
    };
    const wrong: string[] = [];
    for (const route of protectedRoutes()) {
      const crossed = isOfConsole(route) ? operator.bearer : operator.cookie;
      for (const [kind, headers] of Object.entries({ ...callers, 'the other door': crossed })) {
        const answer = await ask(route, headers);
        if (!isRefused(answer, 401)) wrong.push(`${route}: ${kind}: ${answer.status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('that change something refuse an operator who may only read', async () => {
    const wrong: string[] = [];
    for (const route of protectedRoutes('operate')) {
      const headers = isOfConsole(route)
        ? { ...reader.cookie, 'x-csrf-token': reader.csrf }
        : reader.bearer;
      const { status } = await ask(route, headers);
      if (status !== 403) wrong.push(`${route}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('accept the right operator', async () => {
    const wrong: string[] = [];
    for (const route of protectedRoutes()) {
      const headers = isOfConsole(route)
        ? { ...operator.cookie, 'x-csrf-token': operator.csrf }
        : operator.bearer;
      const { status } = await ask(route, headers);
      if ([401, 403, 500].includes(status)) wrong.push(`${route}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('of the console that change something refuse forms of other sites', async () => {
    const wrong: string[] = [];
    // A session of its own: the test before has signed the operator out.
    const { cookie, csrf } = await createOperator(server, 'operate');
    const own = { ...cookie, 'x-csrf-token': csrf };
    const forms: Record<string, Headers> = {
      'no token': cookie,
      'the token of another session': { ...own, 'x-csrf-token': reader.csrf },
      'another site': { ...own, 'sec-fetch-site': 'cross-site' },
      'another origin': { ...own, origin: 'https://attacker.example' },
    };
    for (const route of protectedRoutes().filter(isOfConsole)) {
      if (route.startsWith('GET ')) continue;
      for (const [kind, headers] of Object.entries(forms)) {
        const { status } = await ask(route, headers);
        if (status !== 403) wrong.push(`${route}: ${kind}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('are not there in production without a port of their own', async () => {
    const production = await startTestApp({ NODE_ENV: 'production', ROLES: 'api' });
    try {
      for (const path of ['/admin/me', '/admin/openapi.json', '/console', '/metrics']) {
        const { status } = await request(production.url).get(path);
        expect([path, status]).toEqual([path, 404]);
      }
    } finally {
      await production.close();
    }
  });
});
