import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SCOPES, type Scope } from '../../src/platform/auth/scopes.ts';
import type { Operation } from '../support/api-document.ts';
import { type AttackedOwners, startAttackedOwners } from '../support/attacked-owners.ts';
import { rowsOf } from '../support/connect.ts';
import { createAccount } from '../support/factories.ts';
import { HOSTILE_IDS } from '../support/hostile.ts';
import {
  addressOf,
  type Belongings,
  bodyOf,
  createBelongings,
  credentialsOf,
  idIn,
} from '../support/hostile-world.ts';
import { ROUTE_TABLE, type RouteRow } from './support/route-table.ts';
import { isOfOperators, routesOf } from './support/routes.ts';

jest.setTimeout(300_000);

type Headers = Record<string, string>;
const basic = (text: string): Headers => ({
  authorization: `Basic ${Buffer.from(text).toString('base64')}`,
});
const NOWHERE = HOSTILE_IDS['a random id'] ?? '';

describe('the authorization matrix', () => {
  let world: AttackedOwners;
  beforeAll(async () => {
    world = await startAttackedOwners();
  });
  afterAll(() => world.close());

  const rowOf = ({ name }: Operation): RouteRow => {
    const row = ROUTE_TABLE[name];
    if (!row) throw new Error(`${name} has no row in test/hostile/support/route-table.ts`);
    return row;
  };
  const guarded = () =>
    world.document.operations.filter((operation) => rowOf(operation).caller !== 'anybody');
  const ofAccounts = () =>
    world.document.operations.filter((operation) => rowOf(operation).caller === 'account');
  const hasId = ({ pathParameters }: Operation) =>
    pathParameters.some((name) => name !== 'client_id');
  const goodBody = (operation: Operation, owner: Belongings): string | undefined => {
    if (!operation.body) return undefined;
    const body = bodyOf(world.document, operation, owner) as Record<string, unknown>;
    if (!operation.path.startsWith('/neural/') || 'text' in body) return JSON.stringify(body);
    const list = (id: string) => (/^\/neural\/(?!ocr)\w+$/.test(operation.path) ? [id] : id);
    const object =
      'file_id' in body ? { file_id: owner.file } : { message_id: list(owner.message) };
    return JSON.stringify({ ...body, ...object });
  };
  /** A valid request of the owner, sent with other credentials. */
  const ask = (operation: Operation, headers: Headers) =>
    world.adversary.send(
      operation.method,
      addressOf(operation, world.own, idIn(operation, world.own)),
      headers,
      goodBody(operation, world.own),
    );
  const unchanged = async (work: () => Promise<unknown>) => {
    const before = await world.adversary.fingerprint();
    await work();
    expect(await world.adversary.fingerprint()).toBe(before);
  };
  const tokenOf = async (change: string, overrides: Parameters<typeof createAccount>[2] = {}) => {
    const account = await createAccount(world.server.app, world.own.application, overrides);
    if (change)
      await rowsOf(world.server, `update access_token set ${change} where grant_id = $1`, [
        account.id,
      ]);
    return account.bearer;
  };
  /** Each result that differs from the expected one, as `route: caller: status`. */
  async function wrongCells(
    operations: readonly Operation[],
    cells: Readonly<Record<string, readonly [headers: Headers, status: number]>>,
    request: typeof ask = ask,
  ): Promise<string[]> {
    const wrong: string[] = [];
    for (const operation of operations) {
      for (const [kind, [headers, status]] of Object.entries(cells)) {
        const answer = await request(operation, headers);
        const faults = world.adversary.faultsOf(answer, operation.path);
        if (answer.status !== status || faults.length > 0)
          wrong.push(`${operation.name}: ${kind}: ${answer.status} ${faults.join(', ')}`);
      }
    }
    return wrong;
  }

  it('has a row for every route that the program registers, and no row without a route', () => {
    const routes = new Set(routesOf(world.server).filter((route) => !isOfOperators(route)));
    expect(routes.size).toBeGreaterThan(150);
    expect([...routes].filter((route) => !(route in ROUTE_TABLE))).toEqual([]);
    expect(Object.keys(ROUTE_TABLE).filter((route) => !routes.has(route))).toEqual([]);
  });

  it('agrees with the documentation about who may call a route', () => {
    const scheme = {
      account: 'accessToken',
      application: 'application',
      secret: 'applicationSecret',
    };
    const wrong = world.document.operations.filter((operation) => {
      const { caller } = rowOf(operation);
      return operation.security[0] !== (caller === 'anybody' ? undefined : scheme[caller]);
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('has an object of its owner for every route with an id in its path', () => {
    const without = world.document.operations.filter(
      (each) => hasId(each) && idIn(each, world.own) === undefined,
    );
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  it('refuses every caller without valid credentials on every protected route, and stores nothing', async () => {
    const { clientId, clientSecret } = world.own.application;
    const invalidCredentials: Record<string, [Headers, number]> = {
      'no credential': [{}, 401],
      'a wrong token': [{ authorization: `Bearer ${'x'.repeat(50)}` }, 401],
      'a bearer of two words': [{ authorization: `Bearer a b` }, 401],
      'no base64': [{ authorization: 'Basic %%%' }, 401],
      'a NUL': [basic('a\0b:c\0d'), 401],
      'another scheme': [{ authorization: `Digest ${world.own.account.token}` }, 401],
    };
    await unchanged(async () => {
      expect(await wrongCells(guarded(), invalidCredentials)).toEqual([]);
      const tokens: typeof invalidCredentials = {
        'a client id and secret': [world.own.application.basic, 401],
        'a client secret': [world.own.application.secretBasic, 401],
      };
      expect(await wrongCells(ofAccounts(), tokens)).toEqual([]);
      const others: typeof invalidCredentials = {
        'an access token': [world.own.account.bearer, 401],
        'an access token as user name': [basic(`${world.own.account.token}:`), 401],
        'a secret of another application': [world.stranger.application.secretBasic, 401],
        'an id with the secret of another': [
          basic(`${clientId}:${world.stranger.application.clientSecret}`),
          401,
        ],
        'a secret with one character more': [basic(`${clientId}:${clientSecret}x`), 401],
      };
      const ofApplications = guarded().filter((operation) => rowOf(operation).caller !== 'account');
      expect(await wrongCells(ofApplications, others)).toEqual([]);
    });
  });

  it('refuses revoked, expired and cancelled accounts on every account route, and stores nothing', async () => {
    const revoked = await tokenOf('revoked_at = now()');
    const expired = await tokenOf("expires_at = now() - interval '1 second'");
    const cancelled = await tokenOf('', { billingState: 'cancelled' });
    await unchanged(async () => {
      const cells: Record<string, [Headers, number]> = {
        'a revoked token': [revoked, 401],
        'an expired token': [expired, 401],
        'a cancelled account': [cancelled, 403],
      };
      const operations = ofAccounts().filter(({ name }) => name !== 'POST /oauth/revoke');
      expect(await wrongCells(operations, cells)).toEqual([]);
    });
  });

  it('refuses writes of an account whose provider credentials are out of date, and stores nothing', async () => {
    const outOfDate = await tokenOf('', { status: 'invalid' });
    await unchanged(async () => {
      const writes = ofAccounts().filter((operation) => rowOf(operation).write);
      expect(
        await wrongCells(writes, { 'an account that is out of date': [outOfDate, 403] }),
      ).toEqual([]);
    });
  });

  it('accepts a token with one scope for exactly the routes that name the scope', async () => {
    const wrong: string[] = [];
    for (const scope of SCOPES) {
      const bearer = await tokenOf('', { scope: [scope] });
      for (const operation of ofAccounts().filter(({ name }) => name !== 'POST /oauth/revoke')) {
        const { scopes } = rowOf(operation);
        const allowed = scopes === null || scopes.includes(scope as Scope);
        // The object does not exist and the body is empty, so the status depends only on the
        // caller.
        const address = addressOf(operation, world.own, NOWHERE, 'cursor');
        const { status } = await world.adversary.send(operation.method, address, bearer, '{}');
        if ((status === 403) === allowed || status === 401 || status >= 500)
          wrong.push(`${operation.name}: ${scope}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('answers 404 for objects of other accounts and other applications, and changes none of them', async () => {
    const withId = guarded().filter(hasId);
    const foreign = async (operation: Operation, owner: Belongings) => {
      const asking = { ...credentialsOf(operation, owner) };
      const place = { ...owner, account: world.own.account };
      const address = addressOf(operation, place, idIn(operation, world.own));
      return world.adversary.send(operation.method, address, asking, goodBody(operation, owner));
    };
    await unchanged(async () => {
      const wrong: string[] = [];
      for (const operation of withId) {
        const isOfAccounts = rowOf(operation).caller === 'account';
        const callers = isOfAccounts
          ? { neighbour: world.neighbour, stranger: world.stranger }
          : { stranger: world.stranger };
        for (const [name, owner] of Object.entries(callers)) {
          const { status } = await foreign(operation, owner);
          if (status !== 404) wrong.push(`${operation.name}: ${name}: ${status}`);
        }
      }
      expect(wrong).toEqual([]);
    });
  });

  it('lists no objects of another account or another application', async () => {
    const idsOf = ({ account, spare, ...rest }: Belongings): string[] => {
      const ids = Object.values(rest).filter(
        (id) => typeof id === 'string' && id !== rest.sendgrid,
      );
      return [...(ids as string[]), account.id, account.email, spare.id, spare.email];
    };
    const lists = guarded().filter(
      (each) => each.method === 'GET' && !hasId(each) && !each.path.endsWith('/streaming'),
    );
    /** Texts in the response that belong to `own` only, and that `caller` must not see. */
    const seenBy = async (caller: Belongings, operation: Operation): Promise<string[]> => {
      const { text } = await world.adversary.send(
        'GET',
        addressOf(operation, caller).replace('cursor=0', 'cursor=0&timeout=1'),
        credentialsOf(operation, caller),
      );
      const shared = caller === world.own ? [] : idsOf(caller);
      return idsOf(world.own).filter((id) => !shared.includes(id) && text.includes(id));
    };
    const wrong: string[] = [];
    const rightly: string[] = [];
    for (const operation of lists) {
      rightly.push(...(await seenBy(world.own, operation)));
      const others =
        rowOf(operation).caller === 'account'
          ? [world.neighbour, world.stranger]
          : [world.stranger];
      for (const caller of others) {
        const seen = await seenBy(caller, operation);
        if (seen.length > 0) wrong.push(`${operation.name}: ${seen.join(', ')}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(new Set(rightly).size).toBeGreaterThan(12);
  });

  it('knows of every route of an application whether it leaves an entry in the audit log', () => {
    const unknown = guarded().filter((operation) => {
      const { caller, audit } = rowOf(operation);
      return caller !== 'account' && operation.method !== 'GET' && audit === undefined;
    });
    expect(unknown.map(({ name }) => name)).toEqual([]);
  });

  it('lets the right caller use every route, and records changes of the configuration', async () => {
    const owner = await createBelongings(world.server, world.service.origin);
    // An object must exist before it is read or deleted, and an inner object is deleted before the
    // one that contains it.
    const order = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'];
    const operations = guarded()
      .filter(({ path }) => !path.endsWith('/streaming'))
      .toSorted(
        (a, b) => order.indexOf(a.method) - order.indexOf(b.method) || (a.path < b.path ? 1 : -1),
      );
    const wrong: string[] = [];
    const recorded = async () => {
      const entries = await rowsOf(world.server, 'select action from audit_entry order by id');
      return entries.map(({ action }) => String(action));
    };
    for (const operation of operations) {
      // Some routes end an account or its tokens.
      owner.spare = await createAccount(world.server.app, owner.application);
      const { right, audit = null } = rowOf(operation);
      const before = await recorded();
      const { status, text } = await world.adversary.send(
        operation.method,
        addressOf(operation, owner, idIn(operation, owner)).replace(
          'cursor=0',
          'cursor=0&timeout=1',
        ),
        credentialsOf(operation, owner),
        goodBody(operation, owner),
      );
      if (right === undefined ? status >= 300 : status !== right)
        wrong.push(`${operation.name}: ${status} ${text.slice(0, 150)}`);
      const actions = (await recorded()).slice(before.length);
      if (audit === null ? actions.length > 0 : !actions.includes(audit))
        wrong.push(`${operation.name}: recorded ${actions.join(', ') || 'nothing'}`);
    }
    expect(wrong).toEqual([]);
  });
});
