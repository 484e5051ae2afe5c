import request from 'supertest';
import { adminDocumentOf, apiDocumentOf } from '../support/documents.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { loggedLines } from '../support/log-watch.ts';
import { createOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import {
  type DocumentedOperation,
  freeFields,
  operationsOf,
  unknownFieldsCases,
  type UnknownFieldsCase,
} from '../support/unknown-fields.ts';

const IGNORED = 'x-carillon-ignored';
const START = 1_900_000_000;
const when = { start_time: START, end_time: START + 3600 };

/** A server with an account of an application. */
interface World {
  server: TestApp;
  application: TestApplication;
  ada: TestAccount;
  calendarId: string;
}

async function startWorld(environment: Record<string, string> = {}): Promise<World> {
  const server = await startTestApp(environment);
  const application = await createApplication(server.app);
  const ada = await createAccount(server.app, application);
  const made = await request(server.url).post('/calendars').set(ada.bearer).send({ name: 'Team' });
  return { server, application, ada, calendarId: (made.body as { id: string }).id };
}

/** Sends the body of a case with the credentials that its operation wants. */
const sendCase = (world: World, each: UnknownFieldsCase) => sendTo(world, each).send(each.body);

/** A request to an operation with the credentials that it wants. */
function sendTo(
  { server, application, ada }: World,
  { verb, path, security }: Pick<DocumentedOperation, 'verb' | 'path' | 'security'>,
  query = '',
) {
  const headers = security.includes('accessToken')
    ? ada.bearer
    : security.includes('applicationSecret')
      ? application.secretBasic
      : security.includes('application')
        ? application.basic
        : {};
  const target = path.replace('{client_id}', application.clientId).replaceAll(/\{\w+\}/g, 'nope');
  return request(server.url)
    [verb](target + query)
    .set(headers);
}

/** Operations whose standard says that they ignore unknown names. */
const IGNORING = ['/oauth/authorize', '/oauth/token'];

const refusesIt = (response: request.Response): boolean =>
  response.status === 400 && messageOf(response).includes('zzqq_unknown');

const messageOf = ({ body }: request.Response): string =>
  String(
    (body as { message?: string }).message ??
      (body as { error?: { message?: string } }).error?.message,
  );

describe('fields of a body that an endpoint does not know', () => {
  let world: World;
  let earlierLines: number;
  beforeAll(async () => {
    earlierLines = loggedLines().length;
    world = await startWorld();
  });
  afterAll(() => world.server.close());

  const post = (path: string, body: object) =>
    request(world.server.url).post(path).set(world.ada.bearer).send(body);
  const event = (more: object) => post('/events', { calendar_id: world.calendarId, when, ...more });

  it('have no effect, and the response names them and the nearest known name', async () => {
    const { status, headers } = await event({ titel: 'Review', metadta: { team: 'sales' } });
    expect(status).toBe(200);
    expect(headers[IGNORED]).toBe('titel, metadta');
    expect(headers['warning']).toBe(
      '299 - "Unknown fields were ignored: titel (did you mean title?), metadta (did you mean metadata?)"',
    );
  });

  it('are reported with their path in objects and lists, once for a list', async () => {
    const { headers } = await event({
      participants: [
        { email: 'bo@example.test' },
        { email: 'cy@example.test', phone: '+15550100' },
        { email: 'di@example.test', phone: '+15550101' },
      ],
      notifications: [
        { type: 'email', minutes_before_event: 5, subject: '', body: '', message: 'Soon' },
      ],
      conferencing: { provider: 'WebEx', details: { urll: 'https://meet.example.test/1' } },
    });
    expect(headers[IGNORED]).toBe(
      'participants.1.phone, notifications.0.message, conferencing.details.urll',
    );
    expect(headers['warning']).toContain('conferencing.details.urll (did you mean url?)');
  });

  it('are reported next to unknown query parameters', async () => {
    const { headers } = await post('/calendars?notify=1', { name: 'A', descripton: 'B' });
    expect(headers[IGNORED]).toBe('notify, descripton');
    expect(headers['warning']).toBe(
      '299 - "Unknown query parameters were ignored: notify", 299 - "Unknown fields were ignored: descripton (did you mean description?)"',
    );
  });

  it('are reported when the request is refused for another reason', async () => {
    const { status, headers } = await event({ participants: [{ emial: 'bo@example.test' }] });
    expect([status, headers[IGNORED]]).toEqual([400, 'participants.0.emial']);
  });

  it('are reported whatever the content type says', async () => {
    for (const type of ['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']) {
      const { headers } = await request(world.server.url)
        .post('/calendars')
        .set(world.ada.bearer)
        .set('content-type', type)
        .send('{"name": "A", "colour": "red"}');
      expect([type, headers[IGNORED]]).toEqual([type, 'colour']);
    }
  });

  it('are reported by endpoints without a body, for which an empty object is nothing', async () => {
    const { server, ada } = world;
    for (const [body, ignored] of [
      [{}, undefined],
      [{ force: true }, 'force'],
    ] as const) {
      const read = await request(server.url).get('/calendars').set(ada.bearer).send(body);
      const deleted = await request(server.url).delete('/events/nope').set(ada.bearer).send(body);
      expect([read.headers[IGNORED], deleted.headers[IGNORED]]).toEqual([ignored, ignored]);
    }
  });

  it('are reported for forms with files, whose files are stored', async () => {
    const { status, headers } = await request(world.server.url)
      .post('/files')
      .set(world.ada.bearer)
      .field('descripton', 'x')
      .attach('file', Buffer.from('x'), 'a.txt');
    expect([status, headers[IGNORED]]).toEqual([200, 'descripton']);
  });

  it('are not reported in metadata, whose keys the client chooses', async () => {
    const { headers } = await event({ metadata: { anything: 'x' } });
    expect([headers[IGNORED], headers['warning']]).toEqual([undefined, undefined]);
  });

  it('are not reported if official clients send them back', async () => {
    const { server, ada } = world;
    const { body } = await event({ title: 'Review' });
    const { id, object, account_id, status, owner } = body as Record<string, string>;
    const { headers } = await request(server.url)
      .put(`/events/${id}`)
      .set(ada.bearer)
      .send({ id, object, account_id, status, owner, when: { object: 'timespan', ...when } });
    expect(headers[IGNORED]).toBeUndefined();
  });

  it('are reported in a folder that may also be empty', async () => {
    const { server, ada } = world;
    for (const [folder, ignored] of [
      [{ id: 'nope', nmae: 'x' }, 'folder.nmae'],
      [{ name: 'drafts', display_name: 'Drafts', id: 'nope' }, undefined],
      [{}, undefined],
    ] as const) {
      const response = await request(server.url)
        .put('/messages/nope')
        .set(ada.bearer)
        .send({ folder });
      expect([folder, response.headers[IGNORED]]).toEqual([folder, ignored]);
    }
  });

  it('are all known only in fields whose keys the client chooses', () => {
    const { app } = world.server;
    expect(freeFields(adminDocumentOf(app))).toEqual([]);
    // The provider or the service checks `settings`; a folder may be an empty object.
    expect(freeFields(apiDocumentOf(app))).toEqual(['folder', 'metadata', 'settings']);
  });

  it('are reported in a change of a grant', async () => {
    const { headers } = await request(world.server.url)
      .patch(`/connect/grants/${world.ada.id}`)
      .set(world.application.basic)
      .send({ provider: 'imap', metadata: {} });
    expect(headers[IGNORED]).toBe('provider');
  });

  it('are not reported by OAuth, which must ignore them', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'application/json']) {
      const body = { client_id: 'x', client_secret: 'x', code: 'x', audience: 'y' };
      const { status, headers } = await request(world.server.url)
        .post('/oauth/token')
        .set('content-type', type)
        .send(body);
      expect([type, status, headers[IGNORED]]).toEqual([type, 401, undefined]);
    }
  });

  it('are refused if they are misspelt and would let a message leave with less than was meant', async () => {
    const to = [{ email: 'bo@sandbox.test' }];
    const many = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`zz${index}`, 1]));
    for (const [path, body, text] of [
      ['/v2/outbox', { to, ...many, send_att: START }, 'send_att (did you mean send_at?)'],
      ['/v2/send', { to, bc: to }, 'bc (did you mean cc?)'],
      ['/send', { to, tracking: { openss: true } }, 'tracking.openss (did you mean opens?)'],
    ] as const) {
      const response = await post(path, body);
      expect([path, response.status]).toEqual([path, 400]);
      expect(messageOf(response)).toContain(`Unknown fields: ${text}; known `);
    }
    const late = await post('/send', { to, send_at: START });
    expect([late.status, messageOf(late)]).toEqual([
      400,
      'send_at: must be absent: POST /v2/outbox sends a message later',
    ]);
  });

  it('take little room in the headers, however many and long they are, and cannot break them', async () => {
    const names = Array.from({ length: 900 }, (_, index) => [`🙂"\r\n,${index}`.repeat(50), 1]);
    const { headers } = await event(Object.fromEntries(names) as object);
    expect(headers[IGNORED]?.split(', ')).toHaveLength(10);
    expect(headers[IGNORED]?.length).toBeLessThanOrEqual(10 * (40 * 9 + 2));
    expect(headers['warning']).toMatch(/^299 - "[^"]*"$/);
  });

  it('are logged once for each endpoint and name, without their values and indexes', async () => {
    const unlogged = { unlogged: 'value-of-it' };
    for (const participants of [[unlogged], [{}, unlogged]]) await event({ participants });
    const lines = loggedLines().slice(earlierLines);
    const logged = lines.filter((line) => line.includes('unknown field participants.unlogged of'));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('EventsController.create');
    expect(lines.join('')).not.toContain('value-of-it');
  });

  it('are reported by every operation, in each object of its body', async () => {
    const found: unknown[] = [];
    for (const each of unknownFieldsCases(apiDocumentOf(world.server.app))) {
      const response = await sendCase(world, each);
      found.push([
        each.verb,
        each.path,
        response.headers[IGNORED]?.split(', ').sort() ?? messageOf(response),
      ]);
    }
    const expected = unknownFieldsCases(apiDocumentOf(world.server.app)).map(
      ({ verb, path, unknown }) => {
        if (path === '/oauth/token')
          return [verb, path, 'client_id is required; client_secret is required; code is required'];
        if (path === '/threads/{id}')
          return [verb, path, expect.stringContaining(`Unknown fields: ${unknown[0]}`)];
        return [verb, path, unknown.toSorted()];
      },
    );
    expect(found).toEqual(expected);
    expect(found.length).toBeGreaterThan(40);
  });

  it('are refused by every operation of the admin API', async () => {
    const { server } = world;
    const operator = await createOperator(server);
    for (const { verb, path, body, unknown } of unknownFieldsCases(adminDocumentOf(server.app))) {
      const target = path.replaceAll(/\{\w+\}/g, 'nope');
      const response = await request(server.url)[verb](target).set(operator.bearer).send(body);
      expect([path, response.status]).toEqual([path, 400]);
      for (const name of unknown)
        expect([path, messageOf(response)]).toEqual([path, expect.stringContaining(name)]);
    }
  });
});

describe('fields that an endpoint does not know, with STRICT_REQUESTS=true', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ STRICT_REQUESTS: 'true' });
  });
  afterAll(() => world.server.close());

  it('are refused with the nearest known name and those known in their place, and nothing is changed', async () => {
    const { server, ada, calendarId } = world;
    const response = await request(server.url)
      .post('/events')
      .set(ada.bearer)
      .send({ calendar_id: calendarId, when, titel: 'x', participants: [{ emial: 'x' }] });
    expect(response.status).toBe(400);
    expect(messageOf(response)).toMatch(
      /^Unknown fields: titel \(did you mean title\?\), participants\.0\.emial \(did you mean email\?\); known here: calendar_id, when, .*; known in participants\.0: email, name, phone_number, comment, status$/,
    );
    const events = await request(server.url).get('/events?view=count').set(ada.bearer);
    expect(events.body).toEqual({ count: 0 });
  });

  it('are refused in forms with files, and no file is stored', async () => {
    const { server, ada } = world;
    const response = await request(server.url)
      .post('/files')
      .set(ada.bearer)
      .field('descripton', 'x')
      .attach('file', Buffer.from('x'), 'a.txt');
    expect([response.status, messageOf(response)]).toEqual([
      400,
      'Unknown fields: descripton; this endpoint knows no fields',
    ]);
    const files = await request(server.url).get('/files?view=count').set(ada.bearer);
    expect(files.body).toEqual({ count: 0 });
  });

  it('are refused by endpoints without a body', async () => {
    const { server, ada } = world;
    const response = await request(server.url)
      .delete('/events/nope')
      .set(ada.bearer)
      .send({ force: true });
    expect([response.status, messageOf(response)]).toEqual([
      400,
      'Unknown fields: force; this endpoint knows no fields',
    ]);
  });

  it('do not matter in a message that is composed already', async () => {
    const { server, ada } = world;
    const response = await request(server.url)
      .post('/send')
      .set(ada.bearer)
      .set('content-type', 'message/rfc822')
      .send('To: bo@sandbox.test\r\nSubject: Hi\r\nX-Unknown: 1\r\n\r\nHi');
    expect(response.status).toBe(200);
  });

  it('are refused by every operation in its query, and in a body if it has none', async () => {
    const { app } = world.server;
    const found: unknown[] = [];
    for (const operation of operationsOf(apiDocumentOf(app))) {
      if (IGNORING.includes(operation.path)) continue;
      const queried = await sendTo(world, operation, '?zzqq_unknown=1');
      const bodied = await (operation.bodies.length > 0
        ? sendTo(world, operation, '?zzqq_unknown=1')
        : sendTo(world, operation).send({ zzqq_unknown: 1 }));
      if ([queried, bodied].some((response) => !refusesIt(response)))
        found.push([operation.verb, operation.path, queried.status, bodied.status]);
    }
    expect(found).toEqual([]);
  });

  it('are refused by every operation, in each object of its body', async () => {
    for (const each of unknownFieldsCases(apiDocumentOf(world.server.app))) {
      if (each.path === '/oauth/token') continue;
      const response = await sendCase(world, each);
      expect([each.verb, each.path, response.status]).toEqual([each.verb, each.path, 400]);
      for (const name of each.unknown)
        expect([each.path, messageOf(response)]).toEqual([
          each.path,
          expect.stringContaining(name),
        ]);
    }
  });
});
