import { randomBytes } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { MikroORM } from '@mikro-orm/postgresql';
import { run } from '../../src/cli/carillon/program.ts';
import { createOperatorContext } from '../../src/cli/carillon/container.ts';
import { reseal } from '../../src/app/keys/reseal.ts';
import { SEALED_COLUMNS } from '../../src/app/keys/sealed-columns.ts';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { StoredCredentials } from '../../src/accounts/grants/credentials/stored-credentials.ts';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { publishEvents } from '../../src/platform/webhooks/events/publish-events.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { openGrantSettings } from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { openRelaySettings, sealRelaySettings } from '../../src/mail/relay/relay-secrets.ts';
import type { AuditRound } from '../../src/accounts/sync-schedule/mirror-audit.entity.ts';
import {
  auditState,
  finishAudit,
  storeRound,
} from '../../src/accounts/sync-schedule/mirror-audits.ts';
import { recordFailures } from '../../src/sync/failures/sync-failures.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
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
  /** What is typed when a command asks for a secret. */
  let typed = '';

  const environmentWith = (keys: string) => ({
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: keys,
    OPERATOR_SMTP_URL: 'smtp+plain://127.0.0.1:9',
    OPERATOR_MAIL_FROM: 'carillon@operator.test',
  });
  const carillon = async (...args: string[]): Promise<string> => {
    let output = '';
    errors = '';
    await run(args, {
      environment: environmentWith(oldKey),
      print: (text) => (output += text),
      write: (text) => (errors += text),
      askSecret: async () => typed,
    });
    return output;
  };
  const json = async <T>(...args: string[]): Promise<T> =>
    JSON.parse(await carillon('--json', ...args)) as T;

  beforeEach(async () => {
    database = await createTestDatabase();
    context = await createOperatorContext(loadConfig(environmentWith(oldKey)));
  });
  afterEach(async () => {
    await context.close();
    await database.drop();
  });

  it('log-level sets the level of all processes for a while, shows it and ends it', async () => {
    expect(await carillon('log-level')).toBe('Each process has the level of its LOG_LEVEL.');
    expect(await carillon('log-level', 'debug', '--for', '90s')).toMatch(
      /^All processes log at debug until 20\S+ \S+\.$/,
    );
    expect(await json('log-level')).toMatchObject({ level: 'debug' });
    expect(await json('log-level', 'default')).toEqual({ level: null, until: null });
    await expect(carillon('log-level', 'loud')).rejects.toThrow(
      'There is no level "loud". Levels: silent, fatal, error, warn, info, debug, trace; or default.',
    );
    await expect(carillon('log-level', 'debug', '--for', '25h')).rejects.toThrow('at most 24h');
    const [{ actions } = { actions: [] }] = await context
      .get(Database)
      .query<{ actions: string[] }>(
        `select array_agg(action order by id) as actions from audit_entry where target_id = 'log_level'`,
      );
    expect(actions).toEqual(['log-level.set', 'log-level.reset']);
  });

  it('creates an application whose secret authenticates, and lists it without the secret', async () => {
    const made = await json<Application>(
      ...'application create --plan quickstart --feature sms --region eu --name'.split(' '),
      'Front desk',
    );
    expect(made).toMatchObject({
      name: 'Front desk',
      plan: 'quickstart',
      features: ['sms'],
      region: 'eu',
    });
    const credentials = new StoredCredentials(context.get(Database), { note: () => undefined });
    expect(
      await credentials.applicationBySecret(made.client_id, made.client_secret ?? ''),
    ).toMatchObject({
      plan: 'quickstart',
      features: ['sms'],
    });
    const list = await json<Application[]>('applications', 'list');
    expect(list).toEqual([
      expect.objectContaining({ client_id: made.client_id, name: 'Front desk' }),
    ]);
    expect(JSON.stringify(list)).not.toContain(made.client_secret);
    expect(await carillon('application', 'list')).toContain(made.client_id);
  });

  it('creates standard applications in the US by default', async () => {
    expect(await json<Application>('application', 'create', '--name', 'x')).toMatchObject({
      plan: 'standard',
      features: [],
      region: 'us',
    });
  });

  it('rotates a secret and keeps the old one for a time', async () => {
    const made = await json<Application>('application', 'create', '--name', 'x');
    const rotate = (...flags: string[]) =>
      json<Application>('application', 'rotate-secret', made.client_id, ...flags);
    const credentials = new StoredCredentials(context.get(Database), { note: () => undefined });
    const accepts = async ({ client_secret: secret = '' }: Application) =>
      (await credentials.applicationBySecret(made.client_id, secret)) !== undefined;
    const second = await rotate('--keep-old=7d');
    expect([await accepts(made), await accepts(second)]).toEqual([true, true]);
    const third = await rotate('--keep-old=1h');
    expect([await accepts(made), await accepts(second), await accepts(third)]).toEqual([
      false,
      true,
      true,
    ]);
    await rotate();
    expect([await accepts(second), await accepts(third)]).toEqual([false, false]);
    await expect(rotate('--keep-old=31d')).rejects.toThrow('at most 30d');
  });

  it('rotates a secret: the old one is refused and the new one works', async () => {
    const made = await json<Application>('application', 'create', '--name', 'x');
    const rotated = await json<Application>('application', 'rotate-secret', made.client_id);
    const credentials = new StoredCredentials(context.get(Database), { note: () => undefined });
    expect(rotated.client_secret).not.toBe(made.client_secret);
    // Some clients encode `secret:` with a line break after 60 characters of Base64.
    for (const { client_secret: secret } of [made, rotated])
      expect(Buffer.from(`${secret}:`).toString('base64').length).toBeLessThanOrEqual(60);
    expect(
      await credentials.applicationBySecret(made.client_id, made.client_secret ?? ''),
    ).toBeUndefined();
    expect(
      await credentials.applicationBySecret(made.client_id, rotated.client_secret ?? ''),
    ).toBeDefined();
  });

  it('changes plan and features, and keeps the other fields', async () => {
    const made = await json<Application>(
      'application',
      'create',
      '--name',
      'x',
      '--plan',
      'quickstart',
    );
    const args = ['application', 'update', made.client_id];
    expect(
      await json<Application>(...args, '--plan', 'standard', '--feature', 'sms'),
    ).toMatchObject({
      name: 'x',
      plan: 'standard',
      features: ['sms'],
    });
    expect(await json<Application>(...args, '--name', 'y')).toMatchObject({
      name: 'y',
      features: ['sms'],
    });
    expect(await json<Application>(...args, '--no-features')).toMatchObject({
      name: 'y',
      features: [],
    });
  });

  it('sets, keeps and removes the contact address', async () => {
    const made = await json<Application>(
      ...'application create --name x --contact-email team@app.test'.split(' '),
    );
    expect(made).toMatchObject({ contact_email: 'team@app.test' });
    const args = ['application', 'update', made.client_id];
    expect(await json<Application>(...args, '--name', 'y')).toMatchObject({
      contact_email: 'team@app.test',
    });
    expect(await json<Application>('application', 'show', made.client_id)).toMatchObject({
      contact_email: 'team@app.test',
    });
    await expect(carillon(...args, '--contact-email', 'nobody')).rejects.toThrow(
      'It must be an email address.',
    );
    expect(await json<Application>(...args, '--no-contact-email')).toMatchObject({
      contact_email: null,
    });
  });

  it('sets the sign-in rules, and keeps those that are not named', async () => {
    const made = await json<Application>(
      ...'application create --access-token-expires-in 3600 --revoke-tokens-on-sign-in --name x'.split(
        ' ',
      ),
    );
    const rules = { access_token_expires_in: 3600, revoke_tokens_on_sign_in: true };
    expect(made).toMatchObject({ ...rules, allow_response_type_token: false });
    const args = ['application', 'update', made.client_id];
    expect(await json<Application>(...args, '--name', 'y')).toMatchObject(rules);
    expect(await json<Application>(...args, '--response-type-token')).toMatchObject({
      ...rules,
      allow_response_type_token: true,
    });
    expect(
      await json<Application>(
        ...args,
        '--access-token-expires-in',
        'never',
        '--no-revoke-tokens-on-sign-in',
      ),
    ).toMatchObject({
      access_token_expires_in: null,
      revoke_tokens_on_sign_in: false,
      allow_response_type_token: true,
    });
    const scoped = await json<Application>(...args, '--allowed-scopes', 'email.send,calendar');
    expect(scoped).toMatchObject({ allowed_scopes: ['email.send', 'calendar'] });
    expect(await json<Application>(...args, '--allowed-scopes', 'all')).toMatchObject({
      allowed_scopes: null,
    });
  });

  it('refuses unknown values and changes nothing', async () => {
    await expect(carillon('application', 'rotate-secret', 'nobody')).rejects.toThrow(
      "Couldn't find application nobody",
    );
    const wrong: string[][] = [
      ['application', 'create'],
      ['application', 'create', '--name', ' '],
      ['application', 'create', '--name', 'x', '--plan', 'gold'],
      ['application', 'create', '--name', 'x', '--feature', 'fax'],
      ['application', 'create', '--name', 'x', '--region', 'moon'],
      ['application', 'create', '--name', 'x', '--access-token-expires-in', '59'],
      ['application', 'create', '--name', 'x', '--access-token-expires-in', '1e9'],
      ['sms', 'list', '--limit', '0'],
      ['mailbox', 'failures', '--account', 'nobody'],
      ['nonsense'],
    ];
    for (const args of wrong) {
      await expect(carillon(...args)).rejects.toMatchObject({ exitCode: 1 });
      expect(errors).toMatch(
        /^error: .*--(name|plan|feature|region|access-token-expires-in|limit|account)|unknown command/,
      );
    }
    expect(await json('application', 'list')).toEqual([]);
  });

  it('lists messages that could not be read, newest first, and only those of one account if asked', async () => {
    const application = await createApplication(context);
    const ada = await createAccount(context, application);
    const bo = await createAccount(context, application);
    const sql = context.get(Database);
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 12, minute));
    await recordFailures(sql, ada.id, [{ providerId: 'INBOX;1;7', reason: 'too deep' }], at(0));
    const again = { providerId: 'INBOX;1;8', reason: 'refused', again: true };
    await recordFailures(sql, bo.id, [again], at(1));
    await recordFailures(sql, ada.id, [{ providerId: 'INBOX;1;7', reason: 'deeper still' }], at(2));
    const ofAda = {
      account_id: ada.id,
      email: ada.email,
      provider_id: 'INBOX;1;7',
      reason: 'deeper still',
      times: 2,
      first_at: at(0).toISOString(),
      last_at: at(2).toISOString(),
      retry_at: null,
    };
    const ofBo = expect.objectContaining({
      account_id: bo.id,
      reason: 'refused',
      times: 1,
      retry_at: at(2).toISOString(),
    }) as unknown;
    expect(await json('mailbox', 'failures')).toEqual([ofAda, ofBo]);
    expect(await json('mailbox', 'failures', '--limit', '1')).toEqual([ofAda]);
    expect(await json('mailbox', 'failures', '--account', bo.id)).toEqual([ofBo]);
    expect(await json('mailbox', 'failures', '--account', newId())).toEqual([]);
    expect(await carillon('mailbox', 'failures')).toContain('deeper still');
  });

  it('pauses and shows accounts, suspends and deletes applications, and shows the capacity', async () => {
    const application = await createApplication(context, { name: 'Front desk' });
    const ada = await createAccount(context, application);
    const words = ['--reason', 'asked to stop'];
    expect(await json('account', 'pause', ada.id, ...words)).toMatchObject({
      health: 'sending-paused',
      sending_paused: { reason: 'asked to stop' },
    });
    expect(await json('accounts', 'list', '--health', 'sending-paused')).toMatchObject({
      items: [{ id: ada.id, reason: 'asked to stop' }],
      next_page_token: null,
    });
    expect(await json('accounts', 'list', '--provider', 'sandbox')).toMatchObject({
      items: [{ id: ada.id }],
    });
    await expect(carillon('accounts', 'list', '--provider', 'gogle')).rejects.toThrow(
      /^provider: must be one of .*google \(or gmail\)/,
    );
    expect(await carillon('account', 'show', ada.id)).toContain('sending-paused: asked to stop');
    expect(await json('account', 'resume', ada.id)).toMatchObject({ sending_paused: null });
    const { clientId } = application;
    expect(await carillon('application', 'suspend', clientId)).toMatch(/suspended.*since 20/);
    expect(await json('application', 'list', '--state', 'suspended')).toMatchObject([
      { client_id: clientId, accounts: 1 },
    ]);
    expect(await json('application', 'unsuspend', clientId)).toMatchObject({ suspended: null });
    await expect(carillon('application', 'delete', clientId)).rejects.toThrow('--confirm');
    await expect(carillon('application', 'delete', clientId, '--confirm', 'x')).rejects.toThrow(
      'confirm: must be the client id',
    );
    expect(await json('application', 'delete', clientId, '--confirm', clientId)).toMatchObject({
      deletion: { step: 'accounts', accounts: 1, accounts_deleted: 0 },
    });
    expect(await carillon('application', 'deletions')).toContain(clientId);
    const audited = await context
      .get(Database)
      .query<{ action: string }>('select action from audit_entry order by id');
    expect(audited.map(({ action }) => action)).toEqual([
      'account.pause',
      'account.resume',
      'application.suspend',
      'application.unsuspend',
      'application.delete',
    ]);
    expect(await carillon('capacity')).toContain('set DATABASE_DISK_GB for a forecast');
    await expect(carillon('account', 'show', newId())).rejects.toThrow("Couldn't find account");
  });

  it('lists watches and subscriptions, those first that fail or end soon', async () => {
    const application = await createApplication(context);
    const sql = context.get(Database);
    const watched = await createAccount(context, application);
    const unreached = await createAccount(context, application);
    await sql.query(
      `insert into mailbox_watch (account_id, up_since, failures) values ($1, now(), 0), ($2, null, 3)`,
      [watched.id, unreached.id],
    );
    const subscribe = async (name: string, columns: string) => {
      const account = await createAccount(context, application, { email: `${name}@x.test` });
      await sql.query(
        `insert into push_subscription (id, account_id, provider, resource, due_at, expires_at, renew_at, failures, error)
         values ($1, $2, 'sandbox', 'mail', now(), ${columns})`,
        [newId(), account.id],
      );
    };
    await subscribe('later', `now() + interval '7 days', now() + interval '3 days', 0, null`);
    await subscribe('soon', `now() + interval '1 day', now() + interval '1 hour', 0, null`);
    await subscribe('late', `now() + interval '1 hour', now() - interval '2 hours', 0, null`);
    await subscribe('over', `now() - interval '1 hour', now() - interval '2 hours', 0, null`);
    await subscribe('fails', `now() + interval '2 days', now(), 4, 'status 503'`);
    await subscribe('new', `null, null, 0, null`);
    const { push_url: url, watches } = await json<{
      push_url: string | null;
      watches: { state: string; kind: string; name: string; error: string | null }[];
    }>('watches');
    expect(url).toBeNull();
    expect(watches.map(({ state, name }) => [state, name])).toEqual([
      ['failing', 'fails@x.test'],
      ['failing', unreached.email],
      ['expired', 'over@x.test'],
      ['expiring', 'late@x.test'],
      ['pending', 'new@x.test'],
      ['live', 'soon@x.test'],
      ['live', 'later@x.test'],
      ['live', watched.email],
    ]);
    expect(watches[0]).toMatchObject({ kind: 'subscription', error: 'status 503' });
    expect(await json('watches', '--limit', '1')).toMatchObject({ watches: [watches[0]] });
    expect(await carillon('watches')).toContain('set PUSH_URL or BASE_URL');
  });

  it('prints the address of the console that a running process serves', async () => {
    const sql = context.get(Database);
    const register = (consoleUrl: string | null, seconds: number) =>
      sql.query(
        `insert into running_process (id, host, pid, roles, sealing_key, keys, console_url, started_at, seen_at)
         values ($1, 'h', 1, '{api}', 'k', '{}', $2, now(), now() - make_interval(secs => $3))`,
        [newId(), consoleUrl, seconds],
      );
    await carillon('operator', 'create', 'ada');
    await register(null, 0);
    await register('http://localhost:3100', 90);
    expect(await carillon('operator', 'link')).toContain('http://localhost:3000/console/');
    await register('http://localhost:3200', 20);
    await register('https://mail.example.test:9400', 5);
    expect(await carillon('operator', 'link')).toContain('https://mail.example.test:9400/console/');
    expect(errors).toBe('');
    await register('http://localhost:3000', 30);
    expect(await carillon('operator', 'link')).toContain('http://localhost:3000/console/');
    expect(await carillon('operator', 'create', 'bo')).toContain(
      'To sign in to the console at https://mail.example.test:9400/console: carillon operator link bo',
    );
    await sql.query('delete from running_process');
    await carillon('operator', 'remove', 'ada');
    await carillon('operator', 'remove', 'bo');
  });

  it('creates operators with passwords, sign-in links and tokens, and removes them', async () => {
    typed = 'correct horse battery';
    expect(
      await carillon('operator', 'create', 'Ada', '--role', 'operate', '--password'),
    ).toContain('carillon operator link Ada');
    const listed = { name: 'ada', role: 'operate', has_password: true, sessions: 0, tokens: 0 };
    expect(await json('operator', 'list')).toEqual([expect.objectContaining(listed)]);
    const link = /^http:\/\/localhost:3000\/console\/sign-in\/link\?secret=\w{40}$/;
    expect(await carillon('operator', 'link')).toMatch(link);
    expect(errors).toContain('No running process serves the console.');
    expect(errors).toContain('http://localhost:3000 is from the default of PORT');
    const made = await json<{ id: string; token: string }>(
      ...'operator token create ada --note backups --role read --expires 90d'.split(' '),
    );
    expect(made.token).toMatch(/^\w{40}$/);
    const tokens = await json<object[]>('operator', 'token', 'list');
    expect(tokens).toEqual([
      expect.objectContaining({ id: made.id, operator: 'ada', note: 'backups', role: 'read' }),
    ]);
    expect(JSON.stringify(tokens)).not.toContain(made.token);
    await carillon('operator', 'token', 'revoke', made.id);
    expect(await json('operator', 'token', 'list')).toEqual([]);
    typed = 'short';
    await expect(carillon('operator', 'set-password', 'ada')).rejects.toThrow('12 to 200');
    const lastWays: [last: string, ...change: string[]][] = [
      ['who can sign in without a link', 'set-password', 'ada', '--none'],
      ['with the role operate', 'set-role', 'ada', '--role', 'read'],
    ];
    for (const [last, ...change] of lastWays) {
      await expect(carillon('operator', ...change)).rejects.toThrow(last);
      await carillon('operator', ...change, '--force');
    }
    const changed = { role: 'read', has_password: false };
    expect(await json('operator', 'list')).toEqual([expect.objectContaining(changed)]);
    expect(await carillon('operator', 'disable', 'ada')).toContain('can neither sign in');
    await expect(carillon('operator', 'link')).rejects.toThrow('carillon operator enable ada');
    await carillon('operator', 'enable', 'ada');
    expect(await carillon('operator', 'link')).toMatch(link);
    await carillon('operator', 'create', 'bo');
    await expect(carillon('operator', 'link')).rejects.toThrow('name: one of ada, bo');
    await carillon('operator', 'remove', 'ada');
    await carillon('operator', 'remove', 'bo');
    await expect(carillon('operator', 'link')).rejects.toThrow('carillon operator create');
    await expect(carillon('operator', 'token', 'create', 'ada')).rejects.toThrow(
      "Couldn't find operator ada",
    );
  });

  it('lists results of audits, accounts with differences first, and only one account if asked', async () => {
    const application = await createApplication(context);
    const ada = await createAccount(context, application);
    const bo = await createAccount(context, application);
    const sql = context.get(Database);
    const at = new Date(Date.UTC(2026, 0, 1, 12, 0));
    for (const [account, found, repaired] of [
      [ada, 0, 0],
      [bo, 5, 3],
    ] as const) {
      await scheduleSync(sql, account.id);
      await auditState(sql, account.id, { recentAt: at, fullAt: at, collectionsAt: at });
      const round: AuditRound = {
        kind: 'full',
        beganAt: at.toISOString(),
        since: null,
        wholeSince: null,
        whole: [],
        folders: [],
        surplusFolders: [],
        cursor: null,
        folderBeganAt: null,
        checked: 100,
        found,
        repaired,
        missing: found,
        surplus: 0,
        misplaced: 0,
        skipped: 0,
        counted: {},
      };
      await storeRound(sql, account.id, round);
      await finishAudit(sql, account.id, { at, recentAt: at, fullAt: at });
    }
    const nothing = (kind: string) =>
      Object.fromEntries(
        ['checked', 'repaired', 'missing', 'surplus', 'changed', 'skipped'].map((name) => [
          `${kind}_${name}`,
          0,
        ]),
      );
    const ofBo = {
      account_id: bo.id,
      email: bo.email,
      checked_at: at.toISOString(),
      overdue_since: at.toISOString(),
      messages_checked: 100,
      differences_found: 5,
      missing: 5,
      surplus: 0,
      misplaced: 0,
      repaired: 3,
      unrepaired: 2,
      folders_skipped: 0,
      ...nothing('events'),
      ...nothing('contacts'),
    };
    const ofAda = expect.objectContaining({ account_id: ada.id, unrepaired: 0 }) as unknown;
    expect(await json('mailbox', 'audits')).toEqual([ofBo, ofAda]);
    expect(await json('mailbox', 'audits', '--limit', '1')).toEqual([ofBo]);
    expect(await json('mailbox', 'audits', '--account', ada.id)).toEqual([ofAda]);
    expect(await carillon('mailbox', 'audits')).toContain(bo.email);
    const none = { compared: 0, missing: 0, surplus: 0, changed: 0, repaired: 0, skipped: 0 };
    expect(await json('mailbox', 'audits', '--totals')).toEqual([
      { kind: 'messages', ...none, audits: 2, compared: 200, missing: 5, repaired: 3 },
      { kind: 'events', ...none, audits: 0 },
      { kind: 'contacts', ...none, audits: 0 },
    ]);
  });

  it('lists an account whose mailbox was never compared as overdue a day after it was connected', async () => {
    const application = await createApplication(context);
    const [early, late] = [
      await createAccount(context, application, { mirrored: true }),
      await createAccount(context, application, { mirrored: true }),
    ];
    const sql = context.get(Database);
    await sql.query(`update "grant" set linked_at = '2026-01-01' where id = $1`, [early.id]);
    const overdue = async ({ id }: { id: string }) =>
      (await json('mailbox', 'audits', '--account', id)) as unknown;
    const since = (time: string | null) => [
      expect.objectContaining({ checked_at: null, overdue_since: time }) as unknown,
    ];
    expect(await overdue(early)).toEqual(since('2026-01-01T00:00:00.000Z'));
    expect(await overdue(late)).toEqual(since(null));
  });

  it('names the missing variable when there are no encryption keys', async () => {
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

  it('lists recorded text messages, newest first', async () => {
    await context.get(Database).query(
      `insert into sms_message (id, account_id, phone_number, text, dedupe)
       select ('019aa1b2-0000-7000-8000-00000000000' || n)::uuid, gen_random_uuid(), '+1555010' || n, 'text ' || n, n
       from generate_series(1, 3) n`,
    );
    const messages = await json<{ text: string; phone_number: string }[]>(
      'sms',
      'list',
      '--limit',
      '2',
    );
    expect(messages.map(({ text }) => text)).toEqual(['text 3', 'text 2']);
    expect(messages[0]?.phone_number).toBe('+15550103');
    expect(await carillon('sms', 'list')).toContain('text 1');
  });

  it("lists today's quota use, exhausted quotas first", async () => {
    const [used, reached, old] = [newId(), newId(), newId()];
    await context.get(Database).query(
      `insert into quota_use (id, quota, per, owner_id, day, used, alerted_at) values
         (gen_random_uuid(), 'sms', 'account', $1, (now() at time zone 'UTC')::date, 9, null),
         (gen_random_uuid(), 'sms', 'application', $2, (now() at time zone 'UTC')::date, 5, now()),
         (gen_random_uuid(), 'sms', 'account', $3, (now() at time zone 'UTC')::date - 1, 7, now())`,
      [used, reached, old],
    );
    const listed = await json<{ owner_id: string; used: number }[]>('quotas', 'list');
    expect(listed.map(({ owner_id, used: count }) => [owner_id, count])).toEqual([
      [reached, 5],
      [used, 9],
    ]);
    expect(await json<object[]>('quotas', 'list', '--reached')).toHaveLength(1);
    expect(await carillon('quotas', 'list')).toContain(used);
  });

  describe('instance', () => {
    interface Report {
      agrees: boolean;
      differences: string;
      here: Record<string, string>;
      messages: { open: number; overdue: number };
      reminders: { open: number; overdue: number };
    }
    let sql: Database;
    let overdue: string;
    let later: string;
    let held: string;

    const message = async (
      accountId: string,
      due: string,
      state = 0,
      worker: number | null = null,
    ) => {
      const id = newId();
      await sql.query(
        `with status as (
           insert into job_status (id, account_id, action, object, status, send_at, original_send_at)
           values ($1, $2, 'new_outbox', 'message', 'pending', now(), now()))
         insert into send_job (id, account_id, run_at, due_at, retry_limit_at, state, worker_id)
         values ($1, $2, now(), now() + $3::interval, now() + interval '1 day', $4, $5)`,
        [id, accountId, due, state, worker],
      );
      return id;
    };
    const reminder = (accountId: string, due: string) =>
      sql.query(
        `with scheduled as (
           insert into reminder (id, account_id, event_id, notification_id, participant, type, recipient, name, due_at,
                                 expires_at, status, created_at, updated_at)
           values ($1, $2, $1, $1, 'p', 'email', 'a@b.example', 'n', now() + $3::interval, now() + interval '2 days',
                   'scheduled', now(), now()) returning id, account_id, due_at)
         insert into reminder_job (id, account_id, run_at, due_at) select id, account_id, due_at, due_at from scheduled`,
        [newId(), accountId, due],
      );
    const statuses = async () =>
      Object.fromEntries(
        (
          await sql.query<{ id: string; status: string; reason: string | null }>(
            'select id, status, reason from job_status',
          )
        ).map(({ id, status, reason }) => [id, reason ? `${status}: ${reason}` : status]),
      );
    const CANCELLED = 'cancelled: cancelled: the database was restored from a copy';

    beforeEach(async () => {
      sql = context.get(Database);
      const application = await createApplication(context);
      const account = await createAccount(context, application);
      await sql.query(
        `insert into webhook (id, application_id, callback_url, state, triggers, subscribed_at, created_at, updated_at)
         values ($1, $2, 'https://hooks.example', 'failing', '{job.cancelled}', now(), now(), now())`,
        [newId(), application.id],
      );
      // The worker counts as alive no matter how long the command takes to start.
      await sql.query(
        `insert into worker (id, host, pid, seen_at) values (1, 'alive', 1, now() + interval '1 h')`,
      );
      await sql.query(
        `insert into worker (id, host, pid, seen_at) values (2, 'gone', 1, now() - interval '1 day')`,
      );
      overdue = await message(account.id, '-1 hour', 1, 2);
      later = await message(account.id, '1 hour');
      held = await message(account.id, '-1 hour', 1, 1);
      await reminder(account.id, '-1 minute');
      await reminder(account.id, '1 hour');
      await sql.query(
        `insert into instance (id, place, confirmed_at) values (1, '{"address": "old.example:5432/mail"}', now())`,
      );
    });

    it('shows which installation owns the database, and the work that waits in it', async () => {
      const report = await json<Report>('instance', 'show');
      expect(report).toMatchObject({
        agrees: false,
        messages: { open: 3, overdue: 2 },
        reminders: { open: 2, overdue: 1 },
        workers: 1,
        active_webhooks: 1,
      });
      expect(report.differences).toContain('address was old.example:5432/mail, is ');
      expect(await carillon('instance', 'show')).toContain(
        'messages to send: 3, 2 of them overdue',
      );
    });

    it('lists what would be sent, and changes nothing without --yes', async () => {
      await expect(carillon('instance', 'confirm', '--cancel-sends')).rejects.toThrow(
        /3, 2 of them overdue[^]*Nothing was changed/,
      );
      expect(await json<Report>('instance', 'show')).toMatchObject({
        agrees: false,
        messages: { open: 3 },
      });
    });

    it('takes over the database with all waiting work', async () => {
      expect(await json('instance', 'confirm', '--yes')).toMatchObject({
        messages_cancelled: 0,
        reminders_cancelled: 0,
        webhooks_paused: 0,
        instance: { agrees: true, messages: { open: 3 } },
      });
      expect(await carillon('instance', 'show')).toContain('They agree');
    });

    it('first cancels open jobs with a reason, except those that a live worker has claimed', async () => {
      expect(
        await json('instance', 'confirm', '--yes', '--cancel-sends', '--cancel-reminders'),
      ).toMatchObject({
        messages_cancelled: 2,
        reminders_cancelled: 2,
        instance: { agrees: true },
      });
      expect(await statuses()).toEqual({
        [overdue]: CANCELLED,
        [later]: CANCELLED,
        [held]: 'pending',
      });
      expect(await sql.query('select id from send_job')).toEqual([{ id: held }]);
      expect(await sql.query('select type from webhook_event')).toHaveLength(2);
      // Both are events of the same account, so they have one lane.
      await publishEvents(sql);
      expect(await sql.query('select from hook_job')).toHaveLength(1);
      expect(await sql.query(`select distinct status from reminder`)).toEqual([
        { status: 'cancelled' },
      ]);
      expect(await sql.query('select from reminder_job')).toEqual([]);
      expect(
        await sql.query('select action, details from audit_entry order by id desc limit 2'),
      ).toEqual([
        {
          action: 'instance.confirmed',
          details: { messages_cancelled: 2, reminders_cancelled: 2, webhooks_paused: 0 },
        },
        {
          action: 'instance.confirm',
          details: {
            differences: expect.any(String),
            address: expect.any(String),
            cancel_sends: 'all',
            cancel_reminders: 'all',
            pause_webhooks: false,
          },
        },
      ]);
    });

    it('cancels only overdue jobs when asked to', async () => {
      const args = ['--cancel-sends', 'overdue', '--cancel-reminders', 'overdue'];
      expect(await json('instance', 'confirm', '--yes', ...args)).toMatchObject({
        messages_cancelled: 1,
        reminders_cancelled: 1,
        instance: { messages: { open: 2, overdue: 1 }, reminders: { open: 1, overdue: 0 } },
      });
      expect(await statuses()).toMatchObject({ [overdue]: CANCELLED, [later]: 'pending' });
    });

    it('pauses webhooks before it cancels jobs, so that no webhook is sent', async () => {
      const args = ['--cancel-sends', '--pause-webhooks'];
      expect(await json('instance', 'confirm', '--yes', ...args)).toMatchObject({
        webhooks_paused: 1,
        messages_cancelled: 2,
      });
      expect(await sql.query('select from webhook_event')).toEqual([]);
      expect(await sql.query('select state, failing_since, failures from webhook')).toEqual([
        { state: 'inactive', failing_since: null, failures: 0 },
      ]);
    });

    it('refuses an unknown choice', async () => {
      await expect(
        carillon('instance', 'confirm', '--yes', '--cancel-sends', 'some'),
      ).rejects.toMatchObject({
        exitCode: 1,
      });
      expect(await json<Report>('instance', 'show')).toMatchObject({ agrees: false });
    });
  });

  describe('keys reseal', () => {
    const ringOf = (...keys: string[]) =>
      new SecretBox(loadConfig(environmentWith(keys.join(','))).encryptionKeys);

    it('encrypts every secret with the newest key, in batches, and can be repeated', async () => {
      const application = await createApplication(context);
      const accounts = [];
      for (let index = 0; index < 5; index += 1) {
        accounts.push(
          await createAccount(context, application, { settings: { password: `p${index}` } }),
        );
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
      const [relay] = await sql.query<{ sealed: string }>(
        'select settings_sealed as sealed from relay',
      );
      expect(openRelaySettings(ringOf(key), application.id, relay?.sealed ?? '')).toEqual({
        password: 'r',
      });
    });

    it('names values that no key decrypts, leaves them unchanged and continues', async () => {
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
      expect(output).toBe('Values encrypted with the newest key: 2.');
      expect(
        await sql.query('select action, details from audit_entry order by id desc limit 1'),
      ).toEqual([{ action: 'key.reseal', details: { resealed: 2, unopened: 1 } }]);
      const rows = await sql.query<{ id: string; sealed: string }>(
        'select id, settings_sealed as sealed from "grant" order by id',
      );
      expect(rows[0]?.sealed).toBe(sealed);
      expect(openGrantSettings(ringOf(key), kept.id, rows[1]?.sealed ?? '')).toEqual({
        password: 'kept',
      });
    });

    it('covers every encrypted column of the schema', () => {
      const columns = [...context.get(MikroORM).getMetadata().getAll().values()].flatMap((entity) =>
        entity.props
          .flatMap(({ fieldNames }) => fieldNames)
          .filter((name) => name.endsWith('_sealed'))
          .map((name) => `${entity.tableName}.${name}`),
      );
      expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(
        columns.sort(),
      );
    });
  });

  describe('lists', () => {
    const NAMES = ['ada', 'bo', 'cy'];
    /** Prints like a terminal: a line break after each text. */
    const linesOf = async (...args: string[]): Promise<string[]> => {
      let output = '';
      errors = '';
      await run(args, {
        environment: environmentWith(oldKey),
        print: (text) => (output += `${text}\n`),
        write: (text) => (errors += text),
      });
      return output.trimEnd().split('\n');
    };
    const made = ['audit', 'list', '--action', 'operator.create', '--limit', '2'];

    beforeEach(async () => {
      for (const name of NAMES) await carillon('operator', 'create', name);
    });

    it('with --all print every page in each format', async () => {
      const all = JSON.parse((await linesOf(...made, '--all', '--json')).join('\n')) as object[];
      expect(all).toMatchObject(NAMES.toReversed().map((name) => ({ details: { name } })));
      const lines = await linesOf(...made, '--all', '--output', 'jsonl');
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual(all);
      const columns = ['--display_columns', 'action,details.name'];
      expect(await linesOf(...made, '--all', '-o', 'csv', ...columns)).toEqual([
        'action,details.name',
        'operator.create,cy',
        'operator.create,bo',
        'operator.create,ada',
      ]);
      expect(
        (await linesOf(...made, '--all')).join('\n').match(/│ operator.create │/g),
      ).toHaveLength(3);
    });

    it('say how to read the next page, without disturbing what a program reads', async () => {
      const table = await linesOf(...made);
      expect(table.at(-1)).toMatch(/^More: --page-token \S+ or --all$/);
      const csv = await linesOf(...made, '--output', 'csv', '--display_columns', 'details.name');
      expect(csv).toEqual(['details.name', 'cy', 'bo']);
      const [, token = ''] = /^More: --page-token (\S+) or --all\n$/.exec(errors) ?? [];
      const rest = await json<{ items: object[] }>(...made, '--page-token', token);
      expect(rest).toMatchObject({ items: [{ details: { name: 'ada' } }], next_page_token: null });
    });

    it('without pages follow --output too, and refuse --all', async () => {
      const columns = ['--display_columns', 'name,role'];
      expect(await linesOf('operator', 'list', '--output', 'csv', ...columns)).toEqual([
        'name,role',
        ...NAMES.map((name) => `${name},read`),
      ]);
      const lines = await linesOf('operator', 'list', '--output', 'jsonl');
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
        NAMES.map((name) => ({ name, role: 'read' })),
      );
      await expect(linesOf('operator', 'list', '--all')).rejects.toThrow('unknown option');
    });

    it('print a single object in each format', async () => {
      const { client_id: id } = await json<Application>('application', 'create', '--name', 'x');
      const [names = '', values = ''] = await linesOf('application', 'show', id, '-o', 'csv');
      expect(names).toMatch(/^id,client_id,name/);
      expect(values).toContain(id);
      const [line = ''] = await linesOf('application', 'show', id, '-o', 'jsonl');
      expect(JSON.parse(line)).toMatchObject({ client_id: id });
    });
  });
});
