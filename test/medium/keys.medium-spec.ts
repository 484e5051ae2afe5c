import { randomBytes } from 'node:crypto';
import type { NestExpressApplication } from '@nestjs/platform-express';
import request from 'supertest';
import { createApp } from '../../src/app/app.ts';
import { run } from '../../src/cli/carillon/program.ts';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import {
  openApplicationSecret,
  sealApplicationSecret,
} from '../../src/accounts/applications/application-secrets.ts';
import { ApplicationsService } from '../../src/accounts/applications/applications.service.ts';
import { webhookSecretContext } from '../../src/platform/webhooks/secrets/endpoint-secret.ts';
import { WebhookSecretsService } from '../../src/platform/webhooks/secrets/webhook-secrets.service.ts';
import { prepareReseal } from '../../src/app/keys/reseal.ts';
import { KeyWatch } from '../../src/app/keys/key-watch.ts';
import { Engine } from '../../src/platform/work/engine.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { createWebhook } from '../support/webhook-fixture.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

interface Ready {
  status: number;
  problem: string | undefined;
}

describe('encryption keys', () => {
  const [oldKey, nextKey] = [newKey('old'), newKey('next')];
  const apps: NestExpressApplication[] = [];
  let database: TestDatabase;
  let sql: SqlPool;

  beforeEach(async () => {
    database = await createTestDatabase();
    sql = new SqlPool({
      url: database.url,
      max: 2,
      statementTimeoutMs: 30_000,
      applicationName: 'test',
    });
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
    await sql.close();
    await database.drop();
  });

  const environment = (keys: readonly string[]) => ({
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: keys.join(','),
    LOG_LEVEL: 'silent',
    PORT: '0',
  });
  async function start(
    keys: readonly string[],
    roles = 'api,worker',
  ): Promise<NestExpressApplication> {
    const app = await createApp(loadConfig({ ...environment(keys), ROLES: roles }));
    apps.push(app);
    await app.listen(0, '127.0.0.1');
    return app;
  }
  async function stop(app: NestExpressApplication): Promise<void> {
    apps.splice(apps.indexOf(app), 1);
    await app.close();
  }
  async function ready(app: NestExpressApplication): Promise<Ready> {
    const { status, body } = await request(await app.getUrl()).get('/health/ready');
    const { checks } = body as { checks: { name: string; problem?: string }[] };
    return { status, problem: checks.find(({ name }) => name === 'keys')?.problem };
  }
  const workers = async () => (await sql.query('select id from worker')).length;
  async function carillon(keys: readonly string[], ...args: string[]): Promise<string> {
    let output = '';
    await run(args, {
      environment: environment(keys),
      print: (text) => (output += text),
      write: () => undefined,
    });
    return output;
  }

  it.each(['api', 'worker', 'api,worker'])(
    'that are missing keep a process with the roles %s from being ready and from claiming, even before any secret is stored',
    async (roles) => {
      await stop(await start([oldKey]));
      const app = await start([nextKey], roles);
      expect(await ready(app)).toEqual({
        status: 503,
        problem: 'ENCRYPTION_KEYS lacks "old"; secrets in this database are encrypted with it',
      });
      await app.get(Engine).tick();
      expect(await workers()).toBe(0);
    },
  );

  it('are reported when the id is right but the bytes differ', async () => {
    await stop(await start([oldKey]));
    const app = await start([newKey('old')]);
    const { status, problem } = await ready(app);
    expect(status).toBe(503);
    expect(problem).toContain('has different bytes under "old"');
    expect(await workers()).toBe(0);
  });

  it('that an older version used are recognised by the encrypted rows themselves', async () => {
    const app = await start([oldKey]);
    await createAccount(app, await createApplication(app));
    await stop(app);
    await sql.query('delete from sealing_key');
    expect((await ready(await start([nextKey]))).problem).toContain('lacks "old"');
    expect((await ready(await start([newKey('old')]))).problem).toContain(
      'different bytes under "old"',
    );
    expect(await ready(await start([nextKey, oldKey]))).toEqual({
      status: 200,
      problem: undefined,
    });
  });

  it('count as correct when only single rows are damaged', async () => {
    const app = await start([oldKey]);
    await createApplication(app);
    const damaged = await createApplication(app);
    await stop(app);
    await sql.query('delete from sealing_key');
    await sql.query(`update application set secret_sealed = secret_sealed || 'A' where id = $1`, [
      damaged.id,
    ]);
    expect(await ready(await start([oldKey]))).toEqual({ status: 200, problem: undefined });
  });

  it('let a process work as soon as the last value of the missing key is encrypted with another key', async () => {
    const app = await start([oldKey]);
    await createAccount(app, await createApplication(app));
    await stop(app);
    const waiting = await start([nextKey]);
    expect((await ready(waiting)).status).toBe(503);
    expect(await carillon([nextKey, oldKey], 'keys', 'reseal')).toContain(
      'Values encrypted with the newest key',
    );
    await waiting.get(KeyWatch).tick();
    await waiting.get(Engine).tick();
    expect(await ready(waiting)).toEqual({ status: 200, problem: undefined });
    expect(await workers()).toBe(1);
  });

  it('are replaced in the secrets of webhooks and in client secrets that were replaced', async () => {
    const app = await start([oldKey]);
    const application = await createApplication(app);
    const webhook = await createWebhook(app, application, 'https://app.example.test/hook');
    const { secret } = await app.get(WebhookSecretsService).create(application.id, webhook, 60);
    await app.get(ApplicationsService).rotateSecret(application.clientId, 3_600);
    await stop(app);
    await carillon([nextKey, oldKey], 'keys', 'reseal');
    const box = new SecretBox(loadConfig(environment([nextKey])).encryptionKeys);
    const [own] = await sql.query<{ id: string; sealed: string }>(
      'select id, secret_sealed as sealed from webhook_secret',
    );
    expect(box.open(own?.sealed ?? '', webhookSecretContext(own?.id ?? ''))).toBe(secret);
    const [row] = await sql.query<{ sealed: string }>(
      'select previous_secret_sealed as sealed from application',
    );
    expect(openApplicationSecret(box, application.id, row?.sealed ?? '')).toBe(
      application.clientSecret,
    );
  });

  it('that are lost can be given up by name, but only while they are missing', async () => {
    await stop(await start([oldKey]));
    await expect(carillon([nextKey], 'keys', 'forget', 'other')).rejects.toThrow(
      'Missing are: "old"',
    );
    await expect(carillon([oldKey], 'keys', 'forget', 'old')).rejects.toThrow('No key is missing');
    await carillon([nextKey], 'keys', 'forget', 'old');
    expect(await ready(await start([nextKey]))).toEqual({ status: 200, problem: undefined });
  });

  it('that are wrong let no application and no client secret be created', async () => {
    const app = await start([oldKey]);
    const { clientId } = await createApplication(app);
    await stop(app);
    const before = await sql.query('select * from application');
    await expect(carillon([nextKey], 'application', 'create', '--name=x')).rejects.toThrow(
      'lacks "old"',
    );
    await expect(carillon([nextKey], 'application', 'rotate-secret', clientId)).rejects.toThrow(
      'lacks "old"',
    );
    expect(await sql.query('select * from application')).toEqual(before);
  });

  it('are checked against a bounded number of rows', async () => {
    const app = await start([oldKey]);
    const application = await createApplication(app);
    const box = new SecretBox(loadConfig(environment([nextKey])).encryptionKeys);
    const ids = Array.from({ length: 1_000 }, () => newId());
    await sql.query(
      `insert into application
       select copy.* from application a, unnest($1::uuid[], $2::text[]) x(i, s),
         jsonb_populate_record(a, jsonb_build_object('id', i, 'client_id', i, 'secret_sealed', s,
           'secret_hash', '\\x' || replace(i::text, '-', ''))) copy`,
      [ids, ids.map((id) => sealApplicationSecret(box, id, 'secret'))],
    );
    await stop(app);
    expect(application.id < (ids[0] ?? '')).toBe(true);
    expect((await ready(await start([oldKey]))).problem).toContain('lacks "next"');
  });

  describe('re-encryption with the newest key', () => {
    it('requires that every running process of any role has the newest key', async () => {
      const api = await start([oldKey], 'api');
      const worker = await start([oldKey, nextKey], 'worker');
      await createApplication(api);
      const before = await sql.query('select secret_sealed from application');
      await expect(carillon([nextKey, oldKey], 'keys', 'reseal')).rejects.toThrow(
        new RegExp(`process ${process.pid} \\(api\\): lacks the key "next"[^]*--force`),
      );
      expect(await sql.query('select secret_sealed from application')).toEqual(before);
      expect(await sql.query('select id from sealing_key')).toEqual([{ id: 'old' }]);
      await stop(api);
      expect(await carillon([nextKey, oldKey], 'keys', 'reseal')).toBe(
        'Values encrypted with the newest key: 1.',
      );
      expect((await ready(worker)).status).toBe(200);
    });

    it('is refused while a process has different bytes under the same id', async () => {
      await start([oldKey, newKey('next')]);
      await expect(carillon([nextKey, oldKey], 'keys', 'reseal')).rejects.toThrow(
        'has different bytes under "next"',
      );
    });

    it('requires that the newest key has the bytes of earlier encryptions, even with --force', async () => {
      await stop(await start([nextKey, oldKey]));
      const other = [newKey('next'), oldKey];
      for (const flags of [[], ['--force']])
        await expect(carillon(other, 'keys', 'reseal', ...flags)).rejects.toThrow(
          'has different bytes under "next" than those that encrypted the secrets',
        );
    });

    it('keeps a process that starts meanwhile without the newest key from being ready', async () => {
      const running = await start([oldKey, nextKey]);
      await createApplication(running);
      const box = new SecretBox(loadConfig(environment([nextKey, oldKey])).encryptionKeys);
      await prepareReseal(sql, box);
      expect((await ready(await start([oldKey]))).problem).toContain('lacks "next"');
    });

    it('is refused while a worker of an older version runs, because it does not report its keys', async () => {
      await sql.query(`insert into worker (host, pid) values ('old-host', 7)`);
      await expect(carillon([nextKey, oldKey], 'keys', 'reseal')).rejects.toThrow(
        'old-host, process 7 (worker)',
      );
    });

    it('ignores processes that were silent for over a minute, and with --force all others too', async () => {
      await start([oldKey]);
      await carillon([nextKey, oldKey], 'keys', 'reseal', '--force');
      await sql.query(`update running_process set seen_at = now() - interval '61 s'`);
      await sql.query(`update worker set seen_at = now() - interval '61 s'`);
      await carillon([nextKey, oldKey], 'keys', 'reseal');
    });

    it('stores only a fingerprint of each key in the database', async () => {
      await start([oldKey]);
      const rows = JSON.stringify([
        await sql.query('select * from running_process'),
        await sql.query('select * from sealing_key'),
      ]);
      expect(rows).toContain('"old"');
      const bytes = Buffer.from(oldKey.slice(4), 'base64');
      for (const form of ['base64', 'base64url', 'hex'] as const)
        expect(rows).not.toContain(bytes.toString(form));
    });
  });
});
