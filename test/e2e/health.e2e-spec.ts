import { MikroORM } from '@mikro-orm/postgresql';
import request from 'supertest';
import { randomBytes } from 'node:crypto';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { Database } from '../../src/platform/database/sql.ts';
import type { TwoListeners } from '../../src/platform/http/listeners/operator-listener.ts';
import { loggedLines } from '../support/log-watch.ts';
import { Readiness } from '../../src/platform/work/readiness.ts';
import { Draining } from '../../src/platform/http/http.module.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { createTestDatabase } from '../support/test-database.ts';

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

  it('is not ready while the schema is behind, and names the number and the command', async () => {
    const orm = server.app.get(MikroORM);
    await orm.em.getConnection().execute('delete from mikro_orm_migrations');
    expect(await failed()).toMatchObject({
      status: 503,
      failed: [
        {
          name: 'schema',
          problem: expect.stringMatching(
            /^is behind by \d+ migrations, from Migration\d+\w* on; run: carillon migrate$/,
          ),
        },
      ],
    });
  });

  it('names the key that ENCRYPTION_KEYS lacks, or whose bytes are wrong', async () => {
    const database = server.app.get(Database);
    const box = new SecretBox([{ id: 'lost', key: randomBytes(32) }]);
    await database.query(
      `insert into sealing_key (id, check_value, created_at) values ($1, $2, now())`,
      ['lost', box.seal('carillon', 'sealing_key.check:lost')],
    );
    const problems = async (keys: string) => {
      const other = await startTestApp({
        DATABASE_URL: server.database.url,
        ENCRYPTION_KEYS: keys,
        ROLES: 'api',
      });
      const { body } = await request(other.url).get('/health/ready');
      await other.close();
      return (body as { checks: { name: string; problem?: string }[] }).checks.find(
        ({ name }) => name === 'keys',
      )?.problem;
    };
    const key = () => randomBytes(32).toString('base64');
    expect(await problems(`new:${key()}`)).toContain('ENCRYPTION_KEYS lacks "lost"');
    expect(await problems(`lost:${key()}`)).toContain(
      'ENCRYPTION_KEYS has different bytes under "lost"',
    );
  });

  it('says that the database belongs to another installation, and the command that confirms it', async () => {
    const other = await startTestApp({ DATABASE_URL: server.database.url, INSTANCE_NAME: 'copy' });
    const { body } = await request(other.url).get('/health/ready');
    await other.close();
    expect((body as { checks: object[] }).checks).toContainEqual({
      name: 'instance',
      ok: false,
      problem: expect.stringMatching(
        /restored or moved \(name\).*runs: carillon instance confirm$/,
      ),
    });
  });

  it('names host, database and error of a lost database at the port of operators only', async () => {
    const lost = await createTestDatabase();
    const url = new URL(lost.url);
    url.password = 'password-of-the-database';
    const own = await startTestApp({ OPERATOR_PORT: '0', DATABASE_URL: url.href });
    const { operators } = own.app.getHttpAdapter() as unknown as TwoListeners;
    if (!operators) throw new Error('the server has no listener for operators');
    const { port } = operators.address() as { port: number };
    await lost.drop();
    const open = await request(own.url).get('/health/ready');
    const inside = await request(`http://127.0.0.1:${port}`).get('/health/ready');
    const logged = loggedLines().some((line) => line.includes('not ready: database'));
    await own.close();
    const { hostname, pathname, password } = url;
    const of = ({ body }: request.Response) =>
      (body as { checks: { name: string; problem?: string; detail?: string }[] }).checks.find(
        ({ name }) => name === 'database',
      );
    expect(of(open)).toEqual({
      name: 'database',
      ok: false,
      problem: expect.stringMatching(
        /^(does not exist on its server|is starting or stopping) \(\w+\)$/,
      ),
    });
    expect(of(inside)?.detail).toContain(decodeURIComponent(hostname));
    expect(of(inside)?.detail).toContain(pathname);
    expect(inside.text).not.toContain(password);
    expect(logged).toBe(true);
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
