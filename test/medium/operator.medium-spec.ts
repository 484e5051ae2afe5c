import { randomBytes } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { MikroORM } from '@mikro-orm/postgresql';
import { run } from '../../src/cli/carillon.ts';
import { createOperatorContext } from '../../src/cli/operator-context.ts';
import { reseal, SEALED_COLUMNS } from '../../src/cli/reseal.ts';
import { SecretBox } from '../../src/common/crypto/secret-box.ts';
import { Credentials } from '../../src/auth/credentials.ts';
import { loadConfig } from '../../src/config/app-config.ts';
import { Database } from '../../src/database/sql.ts';
import { openGrantSettings } from '../../src/grants/grant-secrets.ts';
import { openRelaySettings, sealRelaySettings } from '../../src/relay/relay-secrets.ts';
import { createAccount, createApplication } from '../support/factories.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

interface Application {
  client_id: string;
  client_secret?: string;
  name: string;
  plan: string;
  features: string[];
  region: string;
}

describe('carillon', () => {
  const oldKey = newKey('old');
  let database: TestDatabase;
  let context: INestApplicationContext;
  let errors: string;

  const environmentWith = (keys: string) => ({
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: keys,
  });
  const carillon = async (...args: string[]): Promise<string> => {
    let output = '';
    errors = '';
    await run(args, {
      environment: environmentWith(oldKey),
      print: (text) => (output += text),
      write: (text) => (errors += text),
    });
    return output;
  };
  const json = async <T>(...args: string[]): Promise<T> => JSON.parse(await carillon('--json', ...args)) as T;

  beforeEach(async () => {
    database = await createTestDatabase();
    context = await createOperatorContext(loadConfig(environmentWith(oldKey)));
  });
  afterEach(async () => {
    await context.close();
    await database.drop();
  });

  it('makes an application whose secret authenticates, and lists it without the secret', async () => {
    const made = await json<Application>(
      ...'application create --plan quickstart --feature sms --region eu --name'.split(' '),
      'Front desk',
    );
    expect(made).toMatchObject({ name: 'Front desk', plan: 'quickstart', features: ['sms'], region: 'eu' });
    const credentials = new Credentials(context.get(Database));
    expect(await credentials.applicationBySecret(made.client_id, made.client_secret ?? '')).toMatchObject({
      plan: 'quickstart',
      features: ['sms'],
    });
    const list = await json<Application[]>('applications', 'list');
    expect(list).toEqual([expect.objectContaining({ client_id: made.client_id, name: 'Front desk' })]);
    expect(JSON.stringify(list)).not.toContain(made.client_secret);
    expect(await carillon('application', 'list')).toContain(made.client_id);
  });

  it('makes standard applications in the US by default', async () => {
    expect(await json<Application>('application', 'create', '--name', 'x')).toMatchObject({
      plan: 'standard',
      features: [],
      region: 'us',
    });
  });

  it('rotates a secret: the old one is refused, the new one works', async () => {
    const made = await json<Application>('application', 'create', '--name', 'x');
    const rotated = await json<Application>('application', 'rotate-secret', made.client_id);
    const credentials = new Credentials(context.get(Database));
    expect(rotated.client_secret).not.toBe(made.client_secret);
    expect(await credentials.applicationBySecret(made.client_id, made.client_secret ?? '')).toBeUndefined();
    expect(await credentials.applicationBySecret(made.client_id, rotated.client_secret ?? '')).toBeDefined();
  });

  it('changes plan and features and keeps the rest', async () => {
    const made = await json<Application>('application', 'create', '--name', 'x', '--plan', 'quickstart');
    const args = ['application', 'update', made.client_id];
    expect(await json<Application>(...args, '--plan', 'standard', '--feature', 'sms')).toMatchObject({
      name: 'x',
      plan: 'standard',
      features: ['sms'],
    });
    expect(await json<Application>(...args, '--name', 'y')).toMatchObject({ name: 'y', features: ['sms'] });
    expect(await json<Application>(...args, '--no-features')).toMatchObject({ name: 'y', features: [] });
  });

  it('refuses what it does not know and changes nothing', async () => {
    await expect(carillon('application', 'rotate-secret', 'nobody')).rejects.toThrow(
      "Couldn't find application nobody",
    );
    const wrong: string[][] = [
      ['application', 'create'],
      ['application', 'create', '--name', ' '],
      ['application', 'create', '--name', 'x', '--plan', 'gold'],
      ['application', 'create', '--name', 'x', '--feature', 'fax'],
      ['application', 'create', '--name', 'x', '--region', 'moon'],
      ['sms', 'list', '--limit', '0'],
      ['nonsense'],
    ];
    for (const args of wrong) {
      await expect(carillon(...args)).rejects.toMatchObject({ exitCode: 1 });
      expect(errors).toMatch(/^error: .*--(name|plan|feature|region|limit)|unknown command/);
    }
    expect(await json('application', 'list')).toEqual([]);
  });

  it('names the variable when the key ring is missing', async () => {
    const environment = { NODE_ENV: 'production', DATABASE_URL: database.url };
    await expect(
      run(['application', 'list'], { environment, print: () => undefined, write: () => undefined }),
    ).rejects.toThrow('ENCRYPTION_KEYS');
  });

  it('generates keys that the configuration accepts', async () => {
    const entry = await carillon('keys', 'generate');
    expect(loadConfig(environmentWith(entry)).encryptionKeys[0]?.key).toHaveLength(32);
    expect(await carillon('keys', 'generate')).not.toBe(entry);
  });

  it('lists recorded text messages, the latest first', async () => {
    await context.get(Database).query(
      `insert into sms_message (id, account_id, phone_number, text, dedupe)
       select ('019aa1b2-0000-7000-8000-00000000000' || n)::uuid, gen_random_uuid(), '+1555010' || n, 'text ' || n, n
       from generate_series(1, 3) n`,
    );
    const messages = await json<{ text: string; phone_number: string }[]>('sms', 'list', '--limit', '2');
    expect(messages.map(({ text }) => text)).toEqual(['text 3', 'text 2']);
    expect(messages[0]?.phone_number).toBe('+15550103');
    expect(await carillon('sms', 'list')).toContain('text 1');
  });

  describe('keys reseal', () => {
    const ringOf = (...keys: string[]) =>
      new SecretBox(loadConfig(environmentWith(keys.join(','))).encryptionKeys);

    it('seals everything with the newest key, in batches, and can be repeated', async () => {
      const application = await createApplication(context);
      const accounts = [];
      for (let index = 0; index < 5; index += 1) {
        accounts.push(await createAccount(context, application, { settings: { password: `p${index}` } }));
      }
      const key = newKey('new');
      const sql = context.get(Database);
      await sql.query(
        `insert into relay (application_id, kind, settings_sealed, created_at, updated_at)
         values ($1, 'smtp', $2, now(), now())`,
        [application.id, sealRelaySettings(ringOf(oldKey), application.id, { password: 'r' })],
      );
      expect(await reseal(sql, ringOf(key, oldKey), 2)).toEqual({ resealed: 7, unopened: [] });
      expect(await reseal(sql, ringOf(key, oldKey), 2)).toEqual({ resealed: 0, unopened: [] });
      const rows = await sql.query<{ id: string; sealed: string }>(
        'select id, settings_sealed as sealed from "grant" order by id',
      );
      expect(rows.map(({ id, sealed }) => openGrantSettings(ringOf(key), id, sealed))).toEqual(
        accounts.map((_, index) => ({ password: `p${index}` })),
      );
      const [relay] = await sql.query<{ sealed: string }>('select settings_sealed as sealed from relay');
      expect(openRelaySettings(ringOf(key), application.id, relay?.sealed ?? '')).toEqual({ password: 'r' });
    });

    it('tells what no key opens, leaves it alone and goes on', async () => {
      const application = await createApplication(context);
      const lost = await createAccount(context, application);
      const kept = await createAccount(context, application, { settings: { password: 'kept' } });
      const sql = context.get(Database);
      const sealed = ringOf(newKey('gone')).sealJson({}, `grant.settings:${lost.id}`);
      await sql.query('update "grant" set settings_sealed = $2 where id = $1', [lost.id, sealed]);
      const key = newKey('new');
      let output = '';
      await expect(
        run(['keys', 'reseal'], {
          environment: environmentWith(`${key},${oldKey}`),
          print: (text) => (output += text),
          write: () => undefined,
        }),
      ).rejects.toThrow(`grant ${lost.id}`);
      expect(output).toBe('2 values sealed with the newest key.');
      const rows = await sql.query<{ id: string; sealed: string }>(
        'select id, settings_sealed as sealed from "grant" order by id',
      );
      expect(rows[0]?.sealed).toBe(sealed);
      expect(openGrantSettings(ringOf(key), kept.id, rows[1]?.sealed ?? '')).toEqual({ password: 'kept' });
    });

    it('knows every sealed column of the schema', () => {
      const columns = [...context.get(MikroORM).getMetadata().getAll().values()].flatMap((entity) =>
        entity.props
          .flatMap(({ fieldNames }) => fieldNames)
          .filter((name) => name.endsWith('_sealed'))
          .map((name) => `${entity.tableName}.${name}`),
      );
      expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(columns.sort());
    });
  });
});
