import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { LocalProgram, START_PATIENCE_MS } from '../support/local-program.ts';
import { freePorts } from '../support/mail-servers/processes.ts';
import { runScript } from '../support/npm-script.ts';
import { until } from '../support/until.ts';

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

/** `test/long/local-mode` has the later starts. */
describe('npm start', () => {
  let local: LocalProgram;

  beforeAll(async () => {
    local = await LocalProgram.prepare();
  });
  afterEach(async () => {
    await local.stop('SIGKILL');
  }, START_PATIENCE_MS);
  afterAll(() => local.remove());

  it(
    'prints tokens, a client id and commands on the first start, and the commands work',
    async () => {
      const running = await local.start();
      const welcome = await running.printed('carillon-api integrations get');
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

      const keys = fs.statSync(path.join(local.folder, 'data/encryption-keys'));
      expect(keys.mode & 0o777).toBe(0o600);
      const database = local.databasePid();
      expect(await local.stop('SIGINT')).toBe(0);
      expect(() => process.kill(database, 0)).toThrow('ESRCH');
      expect(fs.existsSync(path.join(local.folder, 'data/lock'))).toBe(false);
    },
    START_PATIENCE_MS,
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
        ...local.environment,
        DATA_DIR: path.join(local.folder, 'wrong'),
        ...(wrong as Record<string, string>),
      });
      expect({ code, output }).toEqual({
        code: 1,
        output: expect.stringContaining(message) as string,
      });
      expect(output).not.toContain('secret');
      expect(output).not.toContain('    at ');
    },
    START_PATIENCE_MS,
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
    START_PATIENCE_MS,
  );
});
