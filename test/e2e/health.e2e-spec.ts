import { MikroORM } from '@mikro-orm/postgresql';
import request from 'supertest';
import { Readiness } from '../../src/platform/work/readiness.ts';
import { Draining } from '../../src/platform/http/http.module.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

describe('health', () => {
  let server: TestApp;
  beforeEach(async () => {
    server = await startTestApp();
  });
  afterEach(() => server.close());

  const ready = () => request(server.url).get('/health/ready');
  const failed = async () => {
    const { status, body } = await ready();
    const checks = (body as { checks: { name: string; ok: boolean }[] }).checks;
    return { status, reported: body.status as string, failed: checks.filter(({ ok }) => !ok) };
  };

  it('is alive without credentials, and reports nothing else', async () => {
    const { status, body } = await request(server.url).get('/health/live');
    expect([status, body]).toEqual([200, { status: 'alive' }]);
  });

  it('is ready when the database responds and the schema is up to date', async () => {
    const { status, body } = await ready();
    expect(status).toBe(200);
    expect(body.status).toBe('ready');
    expect(body.checks).toEqual(
      expect.arrayContaining([
        { name: 'process', ok: true },
        { name: 'database', ok: true },
        { name: 'schema', ok: true },
      ]),
    );
  });

  it('is not ready, but alive, while the check of any module fails', async () => {
    const readiness = server.app.get(Readiness);
    readiness.register('kitchen', () => 'has no water');
    expect(await failed()).toEqual({
      status: 503,
      reported: 'not_ready',
      failed: [{ name: 'kitchen', ok: false, problem: 'has no water' }],
    });
    expect((await request(server.url).get('/health/live')).status).toBe(200);
    readiness.register('kitchen', () => null);
    expect((await ready()).status).toBe(200);
  });

  it('is not ready while the process stops', async () => {
    server.app.get(Draining).begin();
    expect(await failed()).toMatchObject({
      status: 503,
      failed: [{ name: 'process', problem: 'is stopping' }],
    });
  });

  it('is not ready while the schema is behind', async () => {
    const orm = server.app.get(MikroORM);
    await orm.em.getConnection().execute('delete from mikro_orm_migrations');
    expect(await failed()).toMatchObject({ status: 503, failed: [{ name: 'schema' }] });
  });

  it("is not ready, but alive, when the database is lost, and does not reveal the database's address", async () => {
    await server.database.drop();
    const { status, text } = await ready();
    expect(status).toBe(503);
    expect(text).not.toMatch(/127\.0\.0\.1|password|postgres/);
    expect((await request(server.url).get('/health/live')).status).toBe(200);
  });

  it('refuses other methods with 405', async () => {
    expect((await request(server.url).post('/health/live')).status).toBe(405);
  });
});
