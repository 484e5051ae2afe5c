import { jest } from '@jest/globals';
import { ApplicationsService } from '../../src/accounts/applications/applications.service.ts';
import { hashToken } from '../../src/platform/base/crypto/token-hash.ts';
import { type ReceivedResponse, type Attack, messageOf } from '../support/adversary.ts';
import { jsonTypeOf, type Operation, type Schema } from '../support/api-document.ts';
import { type AttackedOwners, startAttackedOwners } from '../support/attacked-owners.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import {
  HOSTILE_BODIES,
  HOSTILE_IDS,
  HOSTILE_QUERIES,
  HOSTILE_VALUES,
  removeAt,
  replaceAt,
} from '../support/hostile.ts';
import { sized } from '../support/sized.ts';
import { addressOf, bodyOf, credentialsOf, idIn } from '../support/hostile-world.ts';

jest.setTimeout(600_000);

const MAX_BODY_BYTES = 200_000;
/** Kinds of ids that are refused before any object is searched for. */
const UNDECODABLE: readonly string[] = ['broken escape', 'no UTF-8'];
/**
 * Hostile values that are valid themselves but make another field wrong. The error then names one
 * of the listed fields.
 */
const LEADING_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'POST /a/{client_id}/webhooks state = null': ['callback_url'],
  'POST /send draft_id = long text': ['version'],
  'POST /v2/send draft_id = long text': ['version'],
};
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
describe('every operation', () => {
  let world: AttackedOwners;
  beforeAll(async () => {
    world = await startAttackedOwners({ MAX_BODY_BYTES: String(MAX_BODY_BYTES) });
  });
  afterAll(() => world.close());

  /** Whether a message names one of the fields on the way to `path`. */
  const names = (message: string, path: readonly string[]): boolean =>
    path.some((key) => /\D/.test(key) && message.includes(key));
  const unnamed = (answer: ReceivedResponse): string =>
    `not named: ${answer.status} ${messageOf(answer).slice(0, 200)}`;
  /** A path with which the operation would succeed. For DELETE, the id is a random one. */
  const goodPath = (operation: Operation, without?: string) =>
    addressOf(
      operation,
      world.own,
      operation.method === 'DELETE' ? HOSTILE_IDS['a random id'] : idIn(operation, world.own),
      without,
    );

  /** This path returns HTML pages to browsers. `oauth.e2e-spec` attacks it. */
  const PAGE = '/oauth/authorize';
  /** This path streams until its timeout. The tests of the long poll cover its parameters. */
  const ENDLESS = '/delta/streaming';

  const everyOperation = async (
    attack: (operation: Operation, attack: Attack) => Promise<void>,
    which: (operation: Operation) => boolean = () => true,
  ): Promise<Record<string, string[]>> => {
    const found: Record<string, string[]> = {};
    const chosen = world.document.operations.filter((each) => which(each) && each.path !== PAGE);
    expect(chosen.length).toBeGreaterThan(5);
    for (const operation of chosen) {
      const faults = await world.adversary.attack(operation, (run) => attack(operation, run));
      if (faults.length > 0) found[operation.name] = faults;
    }
    return found;
  };

  /** Hostile values for a field whose kind has already been tried with all of them. */
  const SAMPLE: readonly string[] = sized(
    ['null'],
    ['null', 'NUL', 'empty object', 'array of nulls', 'huge number', 'long text'],
  );

  const QUERY_SAMPLE: readonly string[] = sized(
    ['brackets'],
    ['empty', 'text', 'NUL', 'repeated 200 times', 'brackets', 'SQL'],
  );

  /**
   * Kinds of fields (by schema) and names of query parameters that have been tried with every
   * hostile value.
   */
  const triedFields = new Set<string>();
  const triedParameters = new Set<string>();
  const isFirst = (tried: Set<string>, kind: string): boolean =>
    tried.size !== tried.add(kind).size;

  /**
   * Hostile values for a field: all for the first field of its kind. That is its whole schema in
   * the long run, and otherwise its type. Later fields of that kind get a sample if they are at the
   * top of a body, and otherwise none.
   */
  const valuesFor = ({
    path,
    schema,
  }: {
    path: readonly string[];
    schema: Schema;
  }): [string, string][] => {
    const { description: _, ...whole } = world.document.resolve(schema) as Schema & {
      description?: string;
    };
    const { type, nullable, anyOf = [], allOf = [] } = whole;
    const kind = sized<object>({ type, nullable, of: anyOf.length + allOf.length }, whole);
    const all = Object.entries(HOSTILE_VALUES);
    if (isFirst(triedFields, JSON.stringify(kind))) return all;
    return path.length > 1 ? [] : all.filter(([name]) => SAMPLE.includes(name));
  };

  it('accepts a hostile value in a body field, or refuses the value, names the field and changes nothing', async () => {
    const found = await everyOperation(
      async (operation, attack) => {
        const schema = operation.body ?? {};
        const good = bodyOf(world.document, operation, world.own);
        const path = goodPath(operation);
        for (const field of world.document.fieldsOf(schema, good)) {
          const name = field.path.join('.');
          const types = world.document.typesOf(field.schema);
          for (const [kind, text] of valuesFor(field)) {
            const what = `${name} = ${kind}`;
            const body = replaceAt(good, field.path, text);
            const answer = await attack.send(what, path, body);
            const named = LEADING_ELSEWHERE[`${operation.name} ${what}`] ?? field.path;
            if (answer.status === 400 && !names(messageOf(answer), named))
              attack.fault(what, unnamed(answer));
            const type = jsonTypeOf(JSON.parse(text));
            // An empty list counts as an empty object: PHP encodes empty maps in this way.
            const allowed = text === '[]' && types?.has('object') ? true : types?.has(type);
            if (answer.status < 300 && allowed === false)
              attack.fault(what, `${type} was accepted`);
          }
          if (!field.required) continue;
          const body = JSON.stringify(removeAt(good, field.path));
          const answer = await attack.send(`without ${name}`, path, body);
          if (answer.status !== 400 || !messageOf(answer).includes(`${name} is required`))
            attack.fault(`without ${name}`, unnamed(answer));
        }
      },
      ({ body }) => body !== undefined,
    );
    expect(found).toEqual({});
  });

  it('refuses a hostile body with 400 or 413', async () => {
    const found = await everyOperation(
      async (operation, attack) => {
        const path = goodPath(operation);
        const bodies = {
          ...HOSTILE_BODIES,
          'too much': JSON.stringify({ name: 'x'.repeat(MAX_BODY_BYTES) }),
        };
        for (const [kind, body] of Object.entries(bodies)) {
          const { status } = await attack.send(kind, path, body);
          if (status !== (kind === 'too much' ? 413 : 400)) attack.fault(kind, String(status));
        }
        const encoded = { ...credentialsOf(operation, world.own), 'content-encoding': 'compress' };
        const { status } = await attack.send('encoding', path, '{}', encoded);
        if (status !== 400) attack.fault('encoding', String(status));
      },
      ({ body }) => body !== undefined,
    );
    expect(found).toEqual({});
  });

  it('accepts a hostile query parameter, or refuses the parameter by name', async () => {
    const found = await everyOperation(
      async (operation, attack) => {
        const body = operation.body && JSON.stringify(bodyOf(world.document, operation, world.own));
        for (const name of operation.queryParameters) {
          const all = Object.entries(HOSTILE_QUERIES);
          const again = !isFirst(triedParameters, name);
          for (const [kind, query] of all.filter(
            ([each]) => !again || QUERY_SAMPLE.includes(each),
          )) {
            const what = `${name}: ${kind}`;
            const good = goodPath(operation, name);
            const path = `${good}${good.includes('?') ? '&' : '?'}${query(name)}`;
            const answer = await attack.send(what, path, body);
            if (answer.status === 400 && !names(messageOf(answer), [name]))
              attack.fault(what, unnamed(answer));
          }
        }
      },
      ({ queryParameters, path }) => queryParameters.length > 0 && path !== ENDLESS,
    );
    expect(found).toEqual({});
  });

  it('finds nothing under a hostile id', async () => {
    const found = await everyOperation(async (operation, attack) => {
      const body = operation.body && JSON.stringify(bodyOf(world.document, operation, world.own));
      for (const [kind, id] of Object.entries(HOSTILE_IDS)) {
        const { status } = await attack.send(kind, addressOf(operation, world.own, id), body);
        if (status !== 404 && !(UNDECODABLE.includes(kind) && status === 400))
          attack.fault(kind, String(status));
      }
    }, hasId);
    expect(found).toEqual({});
  });

  it('answers 401 to a hostile client id', async () => {
    const found = await everyOperation(
      async (operation, attack) => {
        for (const [kind, id] of Object.entries(HOSTILE_IDS)) {
          const path = operation.path
            .replace('{client_id}', id)
            .replace('{id}', HOSTILE_IDS['a random id'] ?? '');
          const { status } = await attack.send(kind, path);
          if (status !== 401 && !(UNDECODABLE.includes(kind) && status === 400))
            attack.fault(kind, String(status));
        }
      },
      ({ path }) => path.includes('{client_id}'),
    );
    expect(found).toEqual({});
  });

  it.each(['account', 'application'] as const)(
    'answers 404 to the ids of another %s, exactly as to unknown ids',
    async (whose) => {
      const other = whose === 'account' ? world.neighbour : world.stranger;
      const found = await everyOperation(
        async (operation, attack) => {
          const body =
            operation.body && JSON.stringify(bodyOf(world.document, operation, world.own));
          const id = idIn(operation, other) ?? '';
          const unknown = HOSTILE_IDS['a random id'] ?? '';
          const ask = (each: string) =>
            attack.send(each, addressOf(operation, world.own, each), body);
          const foreign = await ask(id);
          const absent = await ask(unknown);
          if (foreign.status !== 404)
            attack.fault('foreign', `${foreign.status} ${foreign.text.slice(0, 200)}`);
          const messageWithoutId = ({ text }: ReceivedResponse) =>
            messageOf({ text }).replace(id, 'ID').replace(unknown, 'ID');
          if (messageWithoutId(foreign) !== messageWithoutId(absent))
            attack.fault('distinguishable from an unknown id', messageWithoutId(foreign));
        },
        // Accounts of one application share the objects of the application.
        (operation) =>
          hasId(operation) &&
          (whose === 'application' || operation.security.includes('accessToken')),
      );
      expect(found).toEqual({});
    },
  );

  it('refuses ids and tokens of other accounts in a body, and changes nothing', async () => {
    const { bearer } = world.own.account;
    const before = await world.adversary.fingerprint();
    for (const { calendar, message, account } of [world.neighbour, world.stranger]) {
      const event = JSON.stringify({
        calendar_id: calendar,
        title: 'x',
        when: { time: 1_900_000_000 },
      });
      const reply = JSON.stringify({
        to: [{ email: 'bo@example.test' }],
        reply_to_message_id: message,
      });
      const again = JSON.stringify({
        client_id: world.own.application.clientId,
        name: 'Ada',
        email_address: account.email,
        provider: 'sandbox',
        reauth_account_id: world.stranger.account.id,
      });
      const keep = JSON.stringify({ keep_access_token: account.token });
      const accounts = `/a/${world.own.application.clientId}/accounts/${world.own.spare.id}`;
      const refused = [
        await world.adversary.send('POST', '/events', bearer, event),
        await world.adversary.send(
          'PUT',
          `/events/${world.own.event}`,
          bearer,
          JSON.stringify({ calendar_id: calendar }),
        ),
        await world.adversary.send('POST', '/v2/outbox', bearer, reply),
        await world.adversary.send('PATCH', `/v2/outbox/${world.own.outbox}`, bearer, reply),
        await world.adversary.send('POST', '/connect/authorize', {}, again),
        await world.adversary.send(
          'POST',
          `${accounts}/revoke-all`,
          world.own.application.secretBasic,
          keep,
        ),
      ];
      expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400]);
      const info = JSON.stringify({ access_token: account.token });
      expect(
        (
          await world.adversary.send(
            'POST',
            `${accounts}/token-info`,
            world.own.application.secretBasic,
            info,
          )
        ).status,
      ).toBe(404);
    }
    expect(await world.adversary.fingerprint()).toBe(before);
  });

  it('refuses other methods with 405, and lists the supported ones', async () => {
    const paths = Map.groupBy(world.document.operations, ({ path }) => path);
    for (const operations of paths.values()) {
      const [operation] = operations;
      if (!operation) continue;
      const path = addressOf(operation, world.own, idIn(operation, world.own));
      // `/messages/search` also matches the path of a message.
      const supported = [
        ...new Set(
          world.document.operations
            .filter((other) => meets(other, path))
            .map(({ method }) => method),
        ),
      ];
      for (const method of METHODS.filter((each) => !supported.includes(each))) {
        const answer = await world.adversary.send(
          method,
          path,
          credentialsOf(operation, world.own),
        );
        expect([method, path, answer.status, ...world.adversary.faultsOf(answer, path)]).toEqual([
          method,
          path,
          405,
        ]);
        expect(answer.headers.get('allow')?.split(', ').sort()).toEqual([...supported].sort());
      }
    }
  });

  it('refuses wrong credentials with 401, and the token of a cancelled account with 403', async () => {
    const wrong = await wrongCredentials();
    // `test/hostile/authorization` tries every operation. Beside it, one for each method and each
    // kind of credentials is enough.
    const tried = new Set<string>();
    const isChosen = ({ method, security }: Operation) =>
      sized(isFirst(tried, `${method} ${security.join(' ')}`), true);
    const found = await everyOperation(
      async (operation, attack) => {
        const body = operation.body && JSON.stringify(bodyOf(world.document, operation, world.own));
        const path = addressOf(operation, world.own, idIn(operation, world.own));
        for (const [kind, { status: expected, headers }] of Object.entries(wrong(operation))) {
          const answer = await attack.send(kind, path, body, headers);
          if (answer.status !== expected)
            attack.fault(kind, `${answer.status} instead of ${expected}`);
          if (answer.status === 401 && !answer.headers.get('www-authenticate'))
            attack.fault(kind, 'no challenge');
        }
      },
      (operation) => operation.security.length > 0 && isChosen(operation),
    );
    expect(found).toEqual({});
  });

  it('refuses wrong client credentials in a body with 401', async () => {
    const { clientId, clientSecret } = world.own.application;
    const bodies = [
      { client_id: clientId, client_secret: world.stranger.application.clientSecret },
      { client_id: world.stranger.application.clientId, client_secret: clientSecret },
      { client_id: 'nobody', client_secret: clientSecret },
    ];
    const before = await world.adversary.fingerprint();
    for (const credentials of bodies) {
      for (const path of ['/connect/token', '/connect/detect-provider']) {
        const body = JSON.stringify({
          ...credentials,
          code: 'x',
          email_address: 'ada@sandbox.test',
        });
        const answer = await world.adversary.send('POST', path, world.own.application.basic, body);
        expect([path, answer.status, ...world.adversary.faultsOf(answer, path)]).toEqual([
          path,
          401,
        ]);
      }
    }
    expect(await world.adversary.fingerprint()).toBe(before);
  });

  interface Refusal {
    status: number;
    headers: Record<string, string>;
  }

  /** Credentials that an operation refuses, by what is wrong with them. */
  async function wrongCredentials(): Promise<(operation: Operation) => Record<string, Refusal>> {
    const { app } = world.server;
    const token = async (overrides: Parameters<typeof createAccount>[2] = {}) =>
      (await createAccount(app, world.own.application, overrides)).bearer;
    const former = await createApplication(app);
    await app.get(ApplicationsService).rotateSecret(former.clientId);
    const { clientId, clientSecret } = world.own.application;
    const basic = (text: string) => ({
      authorization: `Basic ${Buffer.from(text).toString('base64')}`,
    });
    const refused = (headers: Record<string, string>, status = 401): Refusal => ({
      status,
      headers,
    });
    const nobody = {
      none: refused({}),
      'empty bearer': refused({ authorization: 'Bearer ' }),
      'bearer of three parts': refused({ authorization: 'Bearer a b' }),
      'unknown token': refused({ authorization: `Bearer ${'x'.repeat(50)}` }),
      'long token': refused({ authorization: `Bearer ${'x'.repeat(5000)}` }),
      'no base64': refused({ authorization: 'Basic %%%' }),
      'empty basic': refused(basic(':')),
      'basic without a colon': refused(basic('nobody')),
      'NUL in basic': refused(basic('a\0b:c\0d')),
      'another scheme': refused({ authorization: `Digest ${world.own.account.token}` }),
      'hash instead of the secret': refused(
        basic(`${clientId}:${hashToken(clientSecret).toString('hex')}`),
      ),
    };
    const tokens = {
      'revoked token': refused(await token({ tokenRevokedAt: new Date() })),
      'expired token': refused(await token({ tokenExpiresAt: new Date(Date.now() - 1_000) })),
      'cancelled account': refused(await token({ billingState: 'cancelled' }), 403),
      'token cut short': refused({
        authorization: world.own.account.bearer['authorization']?.slice(0, -1) ?? '',
      }),
      'client credentials': refused(world.own.application.basic),
      'client secret': refused(world.own.application.secretBasic),
    };
    const strangers = {
      'access token': refused(world.own.account.bearer),
      'access token as user': refused(basic(`${world.own.account.token}:`)),
      'secret of another application': refused(world.stranger.application.secretBasic),
      'id with the secret of another': refused(
        basic(`${clientId}:${world.stranger.application.clientSecret}`),
      ),
      'secret that was replaced': refused(basic(`${former.clientId}:${former.clientSecret}`)),
      'secret with more behind a colon': refused(basic(`${clientId}:${clientSecret}:more`)),
      'password and user swapped': refused(basic(`${clientSecret}x:${clientId}`)),
    };
    // The token of a cancelled account may still be revoked.
    const { 'cancelled account': _, ...revoking } = tokens;
    return ({ security, path }) => ({
      ...nobody,
      ...(security.includes('accessToken')
        ? path === '/oauth/revoke'
          ? revoking
          : tokens
        : strangers),
      ...(security.includes('application')
        ? { 'client secret': refused(world.own.application.secretBasic) }
        : {}),
      ...(security.includes('applicationSecret')
        ? { 'client id and secret': refused(world.own.application.basic) }
        : {}),
    });
  }
});

const meets = ({ path }: Operation, address: string): boolean =>
  new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?|$)`).test(address);

const hasId = ({ pathParameters }: Operation): boolean =>
  pathParameters.some((name) => name !== 'client_id');
