import request from 'supertest';
import { registerSandbox } from '../support/connect.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const CLIENT = '198.51.100.7';

describe('the address of a client', () => {
  let server: TestApp;
  let application: TestApplication;
  const start = async (environment: Record<string, string>) => {
    server = await startTestApp({ ROLES: 'api', ...environment });
    application = await createApplication(server.app);
    await registerSandbox(server, application);
  };
  afterEach(() => server.close());

  const addressOfGrant = async (forwarded: string): Promise<string> => {
    const { body } = await request(server.url)
      .post('/connect/grants')
      .set(application.basic)
      .set('X-Forwarded-For', forwarded)
      .set('Forwarded', 'for=203.0.113.1')
      .set('X-Real-Ip', '203.0.113.2')
      .send({ provider: 'sandbox', settings: { email: 'ada@sandbox.test', password: 'x' } })
      .expect(200);
    return body.data.ip as string;
  };

  it('is the address of the connection unless TRUST_PROXY is set, even if the client sends X-Forwarded-For', async () => {
    await start({});
    expect(await addressOfGrant(CLIENT)).toBe('127.0.0.1');
  });

  it('is the address that the trusted number of proxies added last, and not one that the client sent', async () => {
    await start({ TRUST_PROXY: '1' });
    expect(await addressOfGrant(`203.0.113.9, ${CLIENT}`)).toBe(CLIENT);
    expect(await addressOfGrant("'; drop table")).toBe('127.0.0.1');
    expect(await addressOfGrant('')).toBe('127.0.0.1');
  });

  it('is the last address that is not a trusted proxy, if the proxies are listed', async () => {
    await start({ TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8' });
    expect(await addressOfGrant(`203.0.113.9, ${CLIENT}, 10.1.2.3`)).toBe(CLIENT);
    await server.close();
    await start({ TRUST_PROXY: '10.0.0.0/8' });
    expect(await addressOfGrant(CLIENT)).toBe('127.0.0.1');
  });

  it('identifies the client that guesses feed addresses', async () => {
    await start({ TRUST_PROXY: '1' });
    const guess = (address: string) =>
      request(server.url)
        .get(`/feeds/${'x'.repeat(50)}.ics`)
        .set('X-Forwarded-For', address);
    for (let tries = 0; tries < 30; tries++) await guess(CLIENT).expect(404);
    await guess(CLIENT).expect(429);
    await guess('198.51.100.8').expect(404);
    // A customer has a whole IPv6 network, so the limit counts per network.
    for (let tries = 0; tries < 30; tries++) await guess(`2001:db8::${tries + 1}`).expect(404);
    await guess('2001:db8::ffff').expect(429);
    await guess('2001:db8:0:1::1').expect(404);
  });
});
