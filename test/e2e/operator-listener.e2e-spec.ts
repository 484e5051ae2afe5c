import { once } from 'node:events';
import net from 'node:net';
import request from 'supertest';
import { OperatorsService } from '../../src/operator/access/operators.service.ts';
import { SYSTEM } from '../../src/platform/audit/actor.ts';
import { closeApp } from '../../src/app/app.ts';
import { listen, PortTakenError, requireFreePort } from '../../src/app/startup.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { Draining } from '../../src/platform/http/http.module.ts';
import type { TwoListeners } from '../../src/platform/http/listeners/operator-listener.ts';
import { SERVER_LIMITS } from '../../src/platform/http/listeners/server-limits.ts';
import { createOperator, type TestOperator } from '../support/operators.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('the listener of operators', () => {
  let server: TestApp;
  beforeAll(async () => {
    // A worker in production: the listener is there in every role.
    server = await startTestApp({
      NODE_ENV: 'production',
      ROLES: 'worker',
      OPERATOR_PORT: '0',
      TRUST_PROXY: '1',
    });
  });
  afterAll(() => server.close());

  const at = (url: string, path: string) => request(url).get(path).set('connection', 'keep-alive');

  it('serves the API for operators, its documentation, and health checks', async () => {
    const operator = await createOperator(server, 'read', 'ada');
    const me = await at(server.operatorUrl, '/admin/me').set(operator.bearer).expect(200);
    expect(me.body).toEqual({ id: operator.id, name: 'ada', role: 'read' });
    await at(server.operatorUrl, '/admin/openapi.json').expect(200);
    await at(server.operatorUrl, '/health/ready').expect(200);
  });

  it('serves nothing else, and the main port serves nothing of it', async () => {
    for (const path of ['/messages', '/v2/outbox', '/connect/grants', '/docs', '/openapi.json']) {
      const { status, body } = await at(server.operatorUrl, path);
      expect([path, status]).toEqual([path, 404]);
      expect(JSON.stringify(body)).toContain('is not served at the port of operators');
    }
    for (const path of ['/admin/me', '/admin/docs', '/console', '/console/x', '/metrics']) {
      const { status, body } = await at(server.url, path);
      expect([path, status, body]).toEqual([
        path,
        404,
        { message: `There is nothing at ${path}`, type: 'invalid_request_error' },
      ]);
    }
    await at(server.url, '/health/live').expect(200);
  });

  it('has the limits of the main one against slow and malformed requests', async () => {
    const { operators } = server.app.getHttpAdapter() as unknown as TwoListeners;
    expect(operators).toMatchObject(SERVER_LIMITS);
    const socket = net.connect(Number(new URL(server.operatorUrl).port), '127.0.0.1');
    socket.end('NONSENSE\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1.1 400 Bad Request/);
  });

  it('tells clients to reconnect while the process stops', async () => {
    const draining = server.app.get(Draining);
    expect((await at(server.operatorUrl, '/health/live')).headers['connection']).not.toBe('close');
    draining.begin();
    const { headers, status } = await at(server.operatorUrl, '/health/ready');
    expect([status, headers['connection']]).toEqual([503, 'close']);
  });
});

describe('the address of an operator', () => {
  const FORWARDED = '198.51.100.7';
  const PASSWORD = 'a-long-password-of-eve';
  let server: TestApp;
  let reader: TestOperator;
  afterEach(() => server.close());

  const start = async (environment: Record<string, string>) => {
    server = await startTestApp({ ROLES: 'api', OPERATOR_PORT: '0', ...environment });
    const eve = { name: 'eve', role: 'operate' as const, password: PASSWORD };
    await server.app.get(OperatorsService).create(SYSTEM, eve);
    reader = await createOperator(server, 'read');
  };
  const signIn = (password: string, address: string) =>
    request(server.operatorUrl)
      .post('/console/sign-in')
      .type('form')
      .set('X-Forwarded-For', address)
      .send({ name: 'eve', password });
  const recordedAddress = async (): Promise<string | null> => {
    const { body } = await request(server.operatorUrl)
      .get('/admin/audit-log?action=operator.sign-in&limit=1')
      .set(reader.bearer)
      .expect(200);
    const { items } = body as { items: { actor: { address: string | null } }[] };
    return items[0]?.actor.address ?? null;
  };

  it('is the address of the connection, even if TRUST_PROXY names proxies of the main listener', async () => {
    await start({ TRUST_PROXY: '1' });
    await signIn(PASSWORD, FORWARDED).expect(303);
    expect(await recordedAddress()).toBe('127.0.0.1');
  });

  it('cannot be changed to guess more passwords', async () => {
    await start({ TRUST_PROXY: '1' });
    for (let tries = 0; tries < 10; tries++)
      await signIn('wrong', `198.51.100.${tries}`).expect(401);
    await signIn('wrong', '198.51.100.200').expect(429);
  });

  it('is the address that a proxy in OPERATOR_TRUST_PROXY reports, so that nobody locks others out', async () => {
    await start({ OPERATOR_TRUST_PROXY: '1' });
    for (let tries = 0; tries < 10; tries++) await signIn('wrong', '203.0.113.9').expect(401);
    await signIn(PASSWORD, '203.0.113.9').expect(429);
    await signIn(PASSWORD, `203.0.113.9, ${FORWARDED}`).expect(303);
    expect(await recordedAddress()).toBe(FORWARDED);
  });
});

describe('a server with OPERATOR_PORT', () => {
  it('names the port that is taken, before and while it starts, and closes both when it stops', async () => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const server = await startTestApp({ OPERATOR_PORT: '0' });
    const config = loadConfig({
      DATABASE_URL: 'postgres://x',
      ENCRYPTION_KEYS: `a:${Buffer.alloc(32).toString('base64')}`,
      PORT: '0',
      OPERATOR_PORT: String(port),
    });
    const refusal = new PortTakenError(port, 'OPERATOR_PORT');
    await expect(requireFreePort(config)).rejects.toEqual(refusal);
    expect(refusal.message).toContain(`OPERATOR_PORT=${port + 1}`);
    const second = await startTestApp({ OPERATOR_PORT: '0' });
    const { operators } = second.app.getHttpAdapter() as unknown as TwoListeners;
    operators?.close();
    await expect(listen(second.app, config)).rejects.toEqual(refusal);
    await second.close();
    taken.close();

    await closeApp(server.app);
    for (const url of [server.url, server.operatorUrl])
      await expect(fetch(`${url}/health/live`)).rejects.toThrow('fetch failed');
    await server.database.drop();
  });
});
