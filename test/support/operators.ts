import request from 'supertest';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { OperatorLinksService } from '../../src/operator/access/operator-links.service.ts';
import { OperatorSessionsService } from '../../src/operator/access/sessions/operator-sessions.service.ts';
import { OperatorTokensService } from '../../src/operator/access/operator-tokens.service.ts';
import { OperatorsService } from '../../src/operator/access/operators.service.ts';
import { csrfToken } from '../../src/operator/access/sessions/csrf.ts';
import type { OperatorRole } from '../../src/operator/access/operator-role.ts';
import { secret } from './log-watch.ts';
import type { TestApp } from './test-app.ts';

/** An operator of a test, with a token for the admin API and a session of the console. */
export interface TestOperator {
  id: string;
  name: string;
  /** Header for the admin API. */
  bearer: { authorization: string };
  /** Header for pages of the console. */
  cookie: { cookie: string };
  /** Value of the field `csrf_token` in the forms of the console. */
  csrf: string;
}

let made = 0;

/** Creates an operator without a password. */
export async function createOperator(
  { app }: Pick<TestApp, 'app'>,
  role: OperatorRole = 'operate',
  name = `operator-${(made += 1)}`,
): Promise<TestOperator> {
  const id = await app.get(OperatorsService).create(SYSTEM, { name, role, password: null });
  const { token } = await app
    .get(OperatorTokensService)
    .create(SYSTEM, { operatorName: name, note: 'test', role, lifetimeSeconds: null });
  const { url } = await app.get(OperatorLinksService).create(SYSTEM, name);
  const link = new URL(url).searchParams.get('secret') ?? '';
  const browser = { address: '127.0.0.1', presented: '' };
  const session = await app.get(OperatorSessionsService).signInByLink(link, browser, 'visit');
  for (const [what, value] of [
    ['token of an operator', token],
    ['session of an operator', session.secret],
    ['link of an operator', link],
  ] as const)
    secret(what, value);
  return {
    id,
    name,
    bearer: { authorization: `Bearer ${token}` },
    cookie: { cookie: `carillon_operator=${session.secret}` },
    csrf: csrfToken(session.secret),
  };
}

/** Reads a path of the admin API as an operator; fails if the status is not 200. */
export async function readAsOperator<T>(
  server: TestApp,
  operator: TestOperator,
  path: string,
): Promise<T> {
  const { body } = await request(server.url).get(path).set(operator.bearer).expect(200);
  return body as T;
}
