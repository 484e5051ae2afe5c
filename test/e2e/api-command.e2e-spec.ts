import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import request from 'supertest';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

describe('carillon-api', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let home: string;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app, { name: 'Command line' });
    ada = await createAccount(server.app, application);
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-api-'));
  });
  afterAll(async () => {
    fs.rmSync(home, { recursive: true, force: true });
    await server.close();
  });

  /**
   * Runs the command as Ada: her token and the application's credentials are in the environment.
   */
  function api(
    args: string[],
    { input, env = {} }: { input?: string; env?: Record<string, string> } = {},
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ['src/cli/carillon-api.ts', ...args], {
        env: {
          PATH: process.env['PATH'],
          HOME: home,
          CARILLON_API_URL: server.url,
          CARILLON_ACCESS_TOKEN: ada.token,
          CARILLON_CLIENT_ID: application.clientId,
          CARILLON_CLIENT_SECRET: application.clientSecret,
          ...env,
        },
        stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      });
      const outcome: Outcome = { code: null, stdout: '', stderr: '' };
      child.stdout?.on('data', (chunk: Buffer) => (outcome.stdout += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (outcome.stderr += chunk.toString()));
      child.once('error', reject);
      child.once('close', (code) => resolve({ ...outcome, code }));
      child.stdin?.end(input);
    });
  }

  /** Connects an account. @returns the command-line flag with the account's token */
  async function connect(email: string): Promise<string> {
    const { clientId: client_id, clientSecret: client_secret } = application;
    const authorize = await request(server.url)
      .post('/connect/authorize')
      .send({ client_id, name: 'Dora', email_address: email, provider: 'sandbox', settings: {} })
      .expect(200);
    const { code } = authorize.body as { code: string };
    const token = await request(server.url)
      .post('/connect/token')
      .send({ client_id, client_secret, code })
      .expect(200);
    return `--access_token=${(token.body as { access_token: string }).access_token}`;
  }

  const message = (subject: string) =>
    JSON.stringify({
      to: [{ email: 'bo@example.test' }],
      subject,
      send_at: Math.floor(Date.now() / 1000) + 7200,
    });

  it('prints the account of the token as JSON', async () => {
    const { code, stdout, stderr } = await api(['account', 'get']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ id: ada.id, email_address: ada.email });
  });

  it('sends the --body of a request, and changes and deletes objects by id', async () => {
    const created = await api(['outbox', 'post', `--body=${message('First')}`]);
    expect(created.stderr).toBe('');
    const { job_status_id: id } = JSON.parse(created.stdout) as { job_status_id: string };

    const changed = await api(['outbox', 'patch', id, '--body', '{"subject":"Second"}']);
    expect(JSON.parse(changed.stdout)).toMatchObject({ original_data: { subject: 'Second' } });

    expect(await api(['outbox', 'delete', id])).toMatchObject({ code: 0, stderr: '' });
    const status = await api(['job-statuses', 'get', id]);
    expect(JSON.parse(status.stdout)).toMatchObject({ status: 'cancelled' });
  });

  it('reads the body from standard input when there is no --body', async () => {
    const { code, stdout } = await api(['outbox', 'post'], { input: message('From a file') });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ original_data: { subject: 'From a file' } });
  });

  it('passes limit, offset and filters to the API', async () => {
    const two = await api(['outbox', 'get', '--limit=1', '--offset=0']);
    expect(JSON.parse(two.stdout)).toHaveLength(1);
    const refused = await api(['outbox', 'get', '--limit=100000']);
    expect(refused).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        'Error: limit: Cannot request more than 1000 resources at once. (invalid_request_error, HTTP 400)\n',
    });
    const byFilter = await api(['job-statuses', 'get', '--limit=0', '--query', 'view=ids']);
    expect(byFilter.code).toBe(0);
    expect(JSON.parse(byFilter.stdout)).toEqual([]);
  });

  it('refuses a filter that does not exist before it sends a request', async () => {
    const env = { CARILLON_API_URL: 'http://127.0.0.1:9' };
    const refused = await api(['messages', 'get', '--unred=true'], { env });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/^Error: Unknown query parameter unred; did you mean unread\?/);
  });

  it('accepts any name in metadata and settings', async () => {
    const made = await api(['calendars', 'post', '--body={"name":"M","metadata":{"any":"thing"}}']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const grant = '--body={"provider":"sandbox","settings":{"email":"x@sandbox.test","own":1}}';
    expect((await api(['grants', 'post', grant])).stderr).not.toContain('Unknown field');
  });

  it('sends unknown names with --unchecked, and says that the server ignored them', async () => {
    const sent = await api(['job-statuses', 'get', '--limit=0', '--unred=1', '--unchecked']);
    expect(sent).toEqual({
      code: 0,
      stdout: '[]\n',
      stderr: 'Warning: the server does not know and ignored: unred\n',
    });
    const created = await api([
      'calendars',
      'post',
      '--unchecked',
      '--body={"name":"x","colour":"red"}',
    ]);
    expect(created).toMatchObject({
      code: 0,
      stderr: 'Warning: the server does not know and ignored: colour\n',
    });
  });

  it('registers an integration, connects an account, and reads its mailbox as JSON and as raw messages', async () => {
    const integration = await api(['integrations', 'post'], {
      input: '{"name":"S","provider":"sandbox","settings":{}}',
    });
    expect(integration).toMatchObject({ code: 0, stderr: '' });
    const grant = await api([
      'grants',
      'post',
      '--body={"provider":"sandbox","settings":{"email":"dora@sandbox.test"}}',
    ]);
    expect(grant).toMatchObject({ code: 0, stderr: '' });
    expect((await api(['grants', 'get', '--output=table', '--provider=sandbox'])).stdout).toContain(
      'dora@sandbox.test',
    );

    const dora = await connect('dora@sandbox.test');
    const list = await until('the mailbox', async () => {
      const messages = JSON.parse((await api(['messages', 'get', '--limit=2', dora])).stdout) as {
        id: string;
      }[];
      return messages.length === 2 && messages;
    });
    const raw = await api(['messages', 'get', list[0]?.id ?? '', '--raw', dora]);
    expect(raw.stdout).toMatch(/^From: .+\r\n/);
    const both = await api(['messages', 'get', list.map(({ id }) => id).join(','), dora]);
    expect(JSON.parse(both.stdout)).toMatchObject(list.map(({ id }) => ({ id })));
    expect(
      (await api(['messages', 'get', '--has_attachment=true', '-o', 'table', dora])).stdout,
    ).toContain("This week's menu");
  });

  it('creates, lists and revokes access tokens of an account', async () => {
    const made = await api(['grants', 'tokens:make', ada.id, '--body={}']);
    expect(made.stderr).toBe('');
    const { id, access_token: token } = (
      JSON.parse(made.stdout) as { data: { id: string; access_token: string } }
    ).data;
    const flag = `--access_token=${token}`;
    expect(await api(['account', 'get', flag])).toMatchObject({ code: 0 });
    expect((await api(['grants', 'tokens', ada.id])).stdout).toContain(id);
    expect(await api(['grants', 'tokens:revoke', ada.id, id])).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect((await api(['account', 'get', flag])).stderr).toContain('HTTP 401');
    expect(await api(['account', 'get'])).toMatchObject({ code: 0 });
    expect((await api(['grants', '--help'])).stdout).toContain('tokens:revoke <id> <token_id>');
  });

  it('shows a list as a table with the requested columns', async () => {
    await api(['outbox', 'post', `--body=${message('In a table')}`]);
    const { stdout } = await api([
      'outbox',
      'get',
      '--output=table',
      '--display_columns=original_data.subject,original_data.to',
    ]);
    expect(stdout).toContain('│ original_data.subject │ original_data.to │');
    expect(stdout).toMatch(/│ In a table +│ bo@example\.test +│/);
    const one = await api(['account', 'get', '-o', 'table']);
    expect(one.stdout).toMatch(new RegExp(`│ id +│ ${ada.id} +│`));
  });

  it('prints a whole list page by page, as JSON lines and as CSV', async () => {
    const created = await Promise.all(
      ['One', 'Two', 'Three'].map((subject) =>
        request(server.url)
          .post('/v2/outbox')
          .set(ada.bearer)
          .send(JSON.parse(message(subject))),
      ),
    );
    expect(created.map(({ status }) => status)).toEqual([202, 202, 202]);
    const lines = await api(['outbox', 'get', '--all', '--limit=2', '--output=jsonl']);
    const subjects = lines.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { original_data: { subject: string } })
      .map((one) => one.original_data.subject);
    expect(subjects).toEqual(expect.arrayContaining(['One', 'Two', 'Three']));
    const columns = '--display_columns=original_data.subject';
    const csv = await api(['outbox', 'get', '--all', '--limit=2', '-o', 'csv', columns]);
    expect(csv.stdout).toBe(`original_data.subject\n${subjects.join('\n')}\n`);
  });

  it('signs in with a profile, whose token no command prints', async () => {
    const env = { CARILLON_API_URL: '', CARILLON_ACCESS_TOKEN: '', XDG_CONFIG_HOME: home };
    const login = ['login', '--profile=work', `--api_url=${server.url}`];
    expect(await api([...login, '--access_token=wrong'], { env })).toMatchObject({ code: 4 });
    expect(await api(['profiles'], { env })).toMatchObject({ stdout: '[]\n' });
    const made = await api([...login, `--access_token=${ada.token}`], { env });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toContain(`Stored the profile work: account ${ada.email}`);
    const read = await api(['account', 'get', '--profile=work'], { env });
    expect(JSON.parse(read.stdout)).toMatchObject({ id: ada.id });
    const listed = await api(['profiles'], { env });
    expect(made.stdout + listed.stdout).not.toContain(ada.token);
    expect(await api(['logout', '--profile=work'], { env })).toMatchObject({ code: 0 });
    const gone = await api(['account', 'get', '--profile=work', '--json'], { env });
    expect(gone.code).toBe(3);
    expect(JSON.parse(gone.stderr)).toMatchObject({ error: { kind: 'not-found' } });
  });

  it('connects a mailbox and stores its token as a profile that only its owner can read', async () => {
    const env = { XDG_CONFIG_HOME: home };
    const connected = await api(['connect', 'Eve@sandbox.test', '--name=Eve'], { env });
    expect(connected).toMatchObject({ code: 0, stderr: '' });
    expect(connected.stdout).toContain('Connected eve@sandbox.test (sandbox)');
    const file = path.join(home, 'carillon', 'profiles.json');
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    const profiles = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, object>;
    expect(Object.keys(profiles['Eve@sandbox.test'] ?? {})).toEqual(['api_url', 'access_token']);
    // The profile wins over Ada's token in the environment.
    const read = await api(['account', 'get', '--profile=Eve@sandbox.test'], { env });
    expect(JSON.parse(read.stdout)).toMatchObject({
      name: 'Eve',
      email_address: 'eve@sandbox.test',
    });
    const elsewhere = { ...env, CARILLON_API_URL: 'http://127.0.0.1:9' };
    const other = await api(['connect', 'Eve@sandbox.test'], { env: elsewhere });
    expect(other).toMatchObject({ code: 4, stdout: '' });
    expect(other.stderr).toContain(`The profile Eve@sandbox.test is for ${server.url}.`);
  });

  it.each([
    ['a mailbox at Microsoft', 4, ['eve@outlook.com'], 'Its users sign in at Microsoft'],
    ['text that is no address', 2, ['eve'], 'eve is no mail address'],
    ['a setting without a value', 2, ['e@x.test', '--setting=imap_host'], '--setting needs name='],
    ['a mailbox without a password', 2, ['e@x.test', '--provider=imap'], 'A password is needed'],
    [
      'an application without its id',
      2,
      ['e@x.test'],
      'This needs client_id',
      { CARILLON_CLIENT_ID: '' },
    ],
  ])(
    'refuses to connect %s, and says what to do',
    async (_, expected, args, text, env: Record<string, string> = {}) => {
      const { code, stdout, stderr } = await api(['connect', ...args], { env });
      expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
      expect(stderr).toContain(text);
    },
  );

  it('explains a method with its filters, fields and an example that the server accepts', async () => {
    const { stdout } = await api(['outbox', 'post', '--help']);
    expect(stdout).toMatch(/Filters:\n +--dry_run=… +true \| false/);
    expect(stdout).toMatch(/Fields of the body:[^]*\n +to +list of \{ email, name \}/);
    const [, body = ''] = /carillon-api outbox post --body='(.*)'/.exec(stdout) ?? [];
    await request(server.url)
      .post('/v2/outbox?dry_run=true')
      .set(ada.bearer)
      .send(JSON.parse(body) as object)
      .expect(200);
  });

  it("uses the application's own credentials for endpoints that require them", async () => {
    const { stdout } = await api(['applications', 'get'], { env: { CARILLON_ACCESS_TOKEN: '' } });
    expect(JSON.parse(stdout)).toMatchObject({ application_name: 'Command line' });
  });

  it('prefers flags to environment variables, and environment variables to the config file', async () => {
    const file = path.join(home, 'settings.json');
    fs.writeFileSync(file, JSON.stringify({ api_url: server.url, access_token: ada.token }));
    const bare = { CARILLON_API_URL: '', CARILLON_ACCESS_TOKEN: '' };
    expect(await api(['account', 'get', `--config_file=${file}`], { env: bare })).toMatchObject({
      code: 0,
    });

    fs.mkdirSync(path.join(home, '.carillon'), { recursive: true });
    fs.copyFileSync(file, path.join(home, '.carillon/config.json'));
    expect(await api(['account', 'get'], { env: bare })).toMatchObject({ code: 0 });
    expect(
      await api(['account', 'get'], { env: { CARILLON_ACCESS_TOKEN: 'wrong' } }),
    ).toMatchObject({
      code: 4,
    });
    const flag = await api(['--access_token', ada.token, 'account', 'get'], {
      env: { CARILLON_ACCESS_TOKEN: 'wrong' },
    });
    expect(flag.code).toBe(0);
    fs.rmSync(path.join(home, '.carillon'), { recursive: true });
  });

  it.each([
    [
      'a refused token',
      4,
      ['account', 'get', '--access_token=nope'],
      'Could not verify access credential. (invalid_request_error, HTTP 401)',
    ],
    [
      'an unknown id',
      3,
      ['job-statuses', 'get', 'nope'],
      "Couldn't find job status nope (invalid_request_error, HTTP 404)",
    ],
    [
      'a server that cannot be reached',
      5,
      ['account', 'get', '--api_url=http://127.0.0.1:9'],
      'Cannot reach http://127.0.0.1:9 (',
    ],
    [
      'an address that is not an http(s) address',
      2,
      ['account', 'get', '--api_url=localhost'],
      'api_url must be an http(s) address',
    ],
    [
      'a config file that does not exist',
      2,
      ['account', 'get', '--config_file=/nope.json'],
      'Cannot read /nope.json: ENOENT',
    ],
  ])(
    'writes what is wrong with %s to standard error and exits with %i',
    async (_, expected, args, text) => {
      const { code, stdout, stderr } = await api(args);
      expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
      expect(stderr).toContain(`Error: ${text}`);
    },
  );

  it('uploads files from paths and downloads files to paths', async () => {
    const [source, target] = [path.join(home, 'data.bin'), path.join(home, 'copy.bin')];
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_each, index) => (index * 7) % 256));
    fs.writeFileSync(source, bytes);
    const uploaded = await api(['files', 'upload', source, source]);
    expect(uploaded.stderr).toBe('');
    const [file] = JSON.parse(uploaded.stdout) as { id: string }[];
    expect(JSON.parse(uploaded.stdout)).toMatchObject([
      { filename: 'data.bin', size: bytes.length },
      { filename: 'data.bin', size: bytes.length },
    ]);
    const id = file?.id ?? '';
    expect(await api(['files', 'download', id, target])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(fs.readFileSync(target).equals(bytes)).toBe(true);
    // The command does not overwrite an existing file.
    expect((await api(['files', 'download', id, target])).stderr).toContain('Cannot write');
    expect(await api(['files', 'delete', id])).toMatchObject({ code: 0, stdout: 'null\n' });
    expect((await api(['files', 'download', id, path.join(home, 'none.bin')])).stderr).toContain(
      "Couldn't find file",
    );
    expect((await api(['files', 'upload'])).stderr).toContain(
      'This method needs the path of a file',
    );
    expect((await api(['files', 'upload', '/nope.bin'])).stderr).toContain(
      'There is no file /nope.bin',
    );
  });

  it('downloads the picture of a contact in the same way as a file', async () => {
    const bo = await createAccount(server.app, application, {
      mirrored: true,
      settings: { sample_messages: true },
    });
    const contact = await until('the samples', async () => {
      const list = await request(server.url).get('/contacts?email=bo@sandbox.test').set(bo.bearer);
      return (list.body as { id: string; picture_url: string | null }[]).find(
        (one) => one.picture_url,
      );
    });
    const served = await request(server.url).get(`/contacts/${contact.id}/picture`).set(bo.bearer);
    const target = path.join(home, 'bo.png');
    const done = await api([
      'contacts',
      'picture',
      contact.id,
      target,
      `--access_token=${bo.token}`,
    ]);
    expect(done).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(fs.readFileSync(target).equals(served.body as Buffer)).toBe(true);
  });

  it('never shows the token in an error', async () => {
    const { stderr } = await api(['job-statuses', 'get', 'nope']);
    expect(stderr).not.toContain(ada.token);
  });
});
