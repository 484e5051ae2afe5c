import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { until } from '../support/until.ts';
import { runScript, type RunningScript, startScript } from '../support/npm-script.ts';

const LISTENS = /is listening on/;
/**
 * Enough for several processes one after the other, some of which create a database, and for the
 * waits of `until`.
 */
const PATIENCE_MS = 300_000;

/** Runs shell lines as a user would paste them. */
async function paste(lines: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-ec', lines], {
    env: { PATH: process.env['PATH'], HOME: os.tmpdir() },
  });
  return stdout;
}

/**
 * Follows the README of the example for sign-ins, but for the installation of Express, up to the
 * page on which the user signs in.
 * @param exports lines that the first start prints
 */
async function connectWithExample(exports: string): Promise<void> {
  const readme = fs.readFileSync('examples/sign-in-express/README.md', 'utf8');
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readme) ?? [];
  const [port = 0] = await freePorts(1);
  const lines = block
    .replaceAll('4000', String(port))
    .split('\n')
    .filter((line) => !/^(export|npm|#)/.test(line));
  const program = spawn('bash', ['-ec', `${exports}\n${lines.join('\n')}`], {
    cwd: 'examples/sign-in-express',
    env: { PATH: process.env['PATH'], HOME: os.tmpdir(), PORT: String(port) },
    detached: true,
    stdio: 'ignore',
  });
  try {
    const origin = `http://localhost:${port}`;
    const page = await until('the page of the example', () =>
      fetch(`${origin}/connect`).then(
        (response) => response.text(),
        () => false as const,
      ),
    );
    expect(page).toContain('name="password"');
  } finally {
    // The shell and the program that it started.
    if (program.pid !== undefined) process.kill(-program.pid, 'SIGINT');
  }
}

describe('npm start', () => {
  let folder: string;
  let environment: Record<string, string>;
  let otherPort: string;
  let running: RunningScript | undefined;

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-local-'));
    const [own, other] = await freePorts(2);
    environment = { DATA_DIR: path.join(folder, 'data'), PORT: String(own) };
    otherPort = String(other);
  });
  afterEach(async () => {
    running?.child.kill('SIGKILL');
    await running?.ended;
    running = undefined;
  }, PATIENCE_MS);
  afterAll(() =>
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }),
  );

  async function start(more: Record<string, string> = {}): Promise<string> {
    running = startScript('start', [], { ...environment, ...more });
    return running.printed(LISTENS);
  }
  async function stop(signal: NodeJS.Signals): Promise<number | null | undefined> {
    running?.child.kill(signal);
    return (await running?.ended)?.code;
  }
  /** Process id of the embedded PostgreSQL server. */
  const databasePid = (): number =>
    Number(
      fs.readFileSync(path.join(folder, 'data/postgres/postmaster.pid'), 'utf8').split('\n')[0],
    );

  it(
    'prints tokens, a client id and commands on the first start, and the commands work',
    async () => {
      await start();
      const welcome = (await running?.printed('carillon-api integrations get')) ?? '';
      const pasted = welcome.split('\n').filter((line) => /^(export|curl| {2}-d) /.test(line));
      expect(pasted.filter((line) => line.startsWith('curl'))).toHaveLength(3);
      const curl = (line: string): string =>
        line.replace(/^curl /, 'curl --silent --fail-with-body ');
      const lines = pasted.map(curl).join('\n');
      // The worker reads the mailbox in the background in well under a second, but the pasted lines
      // can be faster than that.
      const out = await until('the messages of Ada', async () => {
        const answers = await paste(lines);
        return answers.includes('"subject":"Welcome to your sandbox mailbox"') && answers;
      });
      expect(out).toContain('"email_address":"ada@sandbox.test"');
      expect(out).toContain('"status":"pending"');

      const api = welcome.split('\n').filter((line) => /^(export|carillon-api) /.test(line));
      const answers = await paste(api.join('\n'));
      expect(answers).toContain('This week');
      expect(answers).toContain('"name": "Team"');
      expect(answers).toContain('"name": "Sandbox"');
      await connectWithExample(api.filter((line) => line.startsWith('export')).join('\n'));

      const keys = fs.statSync(path.join(folder, 'data/encryption-keys'));
      expect(keys.mode & 0o777).toBe(0o600);
      const database = databasePid();
      expect(await stop('SIGINT')).toBe(0);
      expect(() => process.kill(database, 0)).toThrow('ESRCH');
      expect(fs.existsSync(path.join(folder, 'data/lock'))).toBe(false);
    },
    PATIENCE_MS,
  );

  it(
    'keeps the data and shows no secret on the second start',
    async () => {
      await start();
      const welcome = (await running?.printed('Or start afresh')) ?? '';
      expect(welcome).not.toContain('access token');
      expect(welcome).toContain('npm run carillon -- application list');
      const list = await runScript('carillon', ['application', 'list', '--json'], environment);
      expect(JSON.parse(list.output)).toMatchObject([
        { name: 'Demo', plan: 'standard', features: ['sms'] },
      ]);
      expect(await stop('SIGTERM')).toBe(0);
    },
    PATIENCE_MS,
  );

  it(
    'creates no demo application and shows no tokens when NODE_ENV is production',
    async () => {
      const own = {
        NODE_ENV: 'production',
        DATA_DIR: path.join(folder, 'production'),
        ENCRYPTION_KEYS: `main:${randomBytes(32).toString('base64')}`,
      };
      await start(own);
      const welcome = await running?.printed('application create');
      expect(welcome).toContain('no demo application is created and no tokens are shown');
      expect(welcome).not.toMatch(/access token|client secret|CARILLON_ACCESS_TOKEN/i);
      const list = await runScript('carillon', ['application', 'list', '--json'], {
        ...environment,
        ...own,
      });
      expect(JSON.parse(list.output)).toEqual([]);
      expect(await stop('SIGTERM')).toBe(0);
    },
    PATIENCE_MS,
  );

  it(
    'refuses a folder that another Carillon uses and a port that is taken, before it starts anything',
    async () => {
      await start();
      const folderTaken = await runScript('start', [], { ...environment, PORT: otherPort });
      expect(folderTaken).toMatchObject({ code: 1 });
      expect(folderTaken.output).toMatch(
        /^Another Carillon \(process \d+\) uses .*data\. Stop it, or .*DATA_DIR=/,
      );
      const other = path.join(folder, 'other');
      const portTaken = await runScript('start', [], { ...environment, DATA_DIR: other });
      expect(portTaken).toMatchObject({ code: 1 });
      expect(portTaken.output).toMatch(
        /^Port \d+ is taken\. Choose another one: PORT=\d+ npm start\n$/,
      );
      expect(fs.existsSync(path.join(other, 'postgres'))).toBe(false);
    },
    PATIENCE_MS,
  );

  it(
    'starts again after kill -9',
    async () => {
      await start();
      const database = databasePid();
      await stop('SIGKILL');
      await start();
      expect(databasePid()).not.toBe(database);
      expect(await stop('SIGINT')).toBe(0);
    },
    PATIENCE_MS,
  );

  it(
    'uses the server of DATABASE_URL, names the migration command if the schema is behind, and creates no demo data',
    async () => {
      const server = await startEmbeddedPostgres({ settings: { fsync: 'off' } });
      const own = {
        ...environment,
        DATA_DIR: path.join(folder, 'with-url'),
        DATABASE_URL: server.url,
      };
      try {
        const behind = await runScript('start', [], own);
        expect(behind.code).toBe(1);
        expect(behind.output).toContain('The database schema is behind');
        expect(behind.output).toContain('npm run db:migrate');

        const early = await runScript('carillon', ['application', 'list', '--json'], own);
        expect(early.code).toBe(5);
        expect(JSON.parse(early.output)).toMatchObject({ error: { kind: 'unavailable' } });

        const migrated = await runScript('db-migrate', [], own);
        expect(migrated).toMatchObject({ code: 0 });
        expect(migrated.output).toContain('Migrated: ');
        expect((await runScript('db-migrate', [], own)).output).toBe('The schema is up to date.\n');

        const unknown = await runScript('carillon', ['application', 'rotate-secret', 'x'], own);
        expect(unknown).toEqual({ code: 3, output: "Error: Couldn't find application x\n" });

        running = startScript('start', [], own);
        expect(await running.printed('No demo data')).not.toContain('access token');
        const client = new pg.Client({ connectionString: server.url });
        await client.connect();
        const { rows } = await client.query<{ count: string }>('select count(*) from application');
        await client.end();
        expect(rows).toEqual([{ count: '0' }]);
        expect(await stop('SIGINT')).toBe(0);
      } finally {
        await server.stop();
      }
    },
    PATIENCE_MS,
  );

  it.each([
    [{ PORT: 'many' }, 'PORT: must be a whole number'],
    [
      { DATABASE_URL: 'mysql://secret@host' },
      'DATABASE_URL: must start with postgres:// or postgresql://',
    ],
    [
      { DATABASE_URL: 'postgres://ada:secret@db1,db2/x?target_session_attrs=standby' },
      'DATABASE_URL: target_session_attrs must be read-write, primary or any; a standby accepts no writes',
    ],
    [{ ENCRYPTION_KEYS: 'c2VjcmV0' }, 'ENCRYPTION_KEYS: entry 1 must be'],
    [{ NODE_ENV: 'production' }, 'ENCRYPTION_KEYS: is required'],
    [
      { DATABASE_URL: 'postgres://127.0.0.1:1/x' },
      'Cannot use the database of DATABASE_URL: connect ECONNREFUSED',
    ],
  ])(
    'reports what is wrong with %j and exits with 1',
    async (wrong, message) => {
      const { code, output } = await runScript('start', [], {
        ...environment,
        DATA_DIR: path.join(folder, 'wrong'),
        ...(wrong as Record<string, string>),
      });
      expect({ code, output }).toEqual({
        code: 1,
        output: expect.stringContaining(message) as string,
      });
      expect(output).not.toContain('secret');
      expect(output).not.toContain('    at ');
    },
    PATIENCE_MS,
  );
});

describe('npm run demo', () => {
  it(
    'runs and verifies the whole demo and exits with 0',
    async () => {
      const { code, output } = await runScript('demo', [], {});
      expect(output).toMatch(/All \d+ checks of 18 steps are true/);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );
});
