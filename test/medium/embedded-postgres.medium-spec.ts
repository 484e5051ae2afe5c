import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { reachSocket } from '../../src/platform/database/embedded/embedded-access.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/database/embedded/embedded-postgres.ts';

const FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const NOBODY = 65_534;

async function ask<T extends object>(url: string, statement: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(statement)).rows;
  } finally {
    await client.end();
  }
}

describe('the embedded PostgreSQL', () => {
  let folder: string;
  let dataDir: string;
  let server: EmbeddedPostgres | undefined;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-embedded-'));
    // Every user can reach the parent folder, so only the data folder itself can keep users out.
    fs.chmodSync(folder, 0o755);
    dataDir = path.join(folder, 'postgres');
  });
  afterEach(async () => {
    await server?.stop();
    server = undefined;
    fs.rmSync(folder, { recursive: true, force: true });
  });

  const start = async () => (server = await startEmbeddedPostgres({ dataDir, settings: FAST }));

  it('listens on no network address, only on a socket in a folder that others cannot enter', async () => {
    const { url } = await start();
    const [shown] = await ask(url, `select current_setting('listen_addresses') as addresses`);
    expect(shown).toEqual({ addresses: '' });
    expect(fs.statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(fs.statSync(reachSocket(dataDir).path).isSocket()).toBe(true);
  });

  it('replaces the rules of an older data folder that let every local user in', async () => {
    await start();
    await server?.stop();
    fs.writeFileSync(
      path.join(dataDir, 'pg_hba.conf'),
      'local all all trust\nhost all all 127.0.0.1/32 trust\n',
    );
    const { url } = await start();
    const rules = await ask(url, 'select type, auth_method, options from pg_hba_file_rules');
    expect(rules).toEqual([{ type: 'local', auth_method: 'peer', options: ['map=carillon'] }]);
    const users = await ask<{ sys_name: string }>(
      url,
      'select sys_name from pg_ident_file_mappings',
    );
    expect(users.map(({ sys_name }) => sys_name).sort()).toEqual(
      [...new Set(['root', os.userInfo().username])].sort(),
    );
  });

  it('uses a private link when the path of its socket is too long for Linux', async () => {
    dataDir = path.join(folder, 'a'.repeat(60), 'b'.repeat(60), 'postgres');
    fs.mkdirSync(path.dirname(dataDir), { recursive: true });
    const { url } = await start();
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    const link = path.dirname(decodeURIComponent(new URL(url).hostname));
    expect(fs.statSync(link).mode & 0o777).toBe(0o700);
    await server?.stop();
    server = undefined;
    expect(fs.existsSync(link)).toBe(false);
  });

  /** Runs a program as another user; only root can. @returns what it prints */
  const runAs = (uid: number, program: string): string => {
    const node = path.join(folder, 'node');
    if (!fs.existsSync(node)) fs.copyFileSync(process.execPath, node);
    const { stdout } = spawnSync(node, ['-e', program], {
      uid,
      gid: uid,
      cwd: '/',
      env: {},
      encoding: 'utf8',
    });
    return stdout;
  };
  const accounts = () =>
    fs
      .readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .flatMap((line) => (line ? [Number(line.split(':')[2])] : []));
  /** Users who own something in the data folder. */
  const owners = () =>
    new Set(
      ['.', ...fs.readdirSync(dataDir, { recursive: true, encoding: 'utf8' })].map(
        (name) => fs.lstatSync(path.join(dataDir, name)).uid,
      ),
    );

  it('runs under root as a user of its own, whose files no account reaches through /proc', async () => {
    if (process.getuid?.() !== 0) return;
    await start();
    const [pid = ''] = fs.readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
    const { uid } = fs.statSync(`/proc/${pid}`);
    expect(accounts()).not.toContain(uid);
    expect([...owners()]).toEqual([uid]);
    const list = `try { console.log(require('node:fs').readdirSync('/proc/${pid}/cwd')) } catch (error) { console.log(error.code) }`;
    for (const account of accounts().filter((id) => id > 0))
      expect([account, runAs(account, list).trim()]).toEqual([account, 'EACCES']);
    expect(runAs(uid, list)).toContain('PG_VERSION');
  });

  it('takes the files of older versions from the account of the machine that had them', async () => {
    if (process.getuid?.() !== 0) return;
    await start();
    const before = owners();
    await server?.stop();
    for (const name of ['.', ...fs.readdirSync(dataDir, { recursive: true, encoding: 'utf8' })])
      fs.lchownSync(path.join(dataDir, name), NOBODY, NOBODY);
    // A link in the folder of an account must not give it other files of root.
    const own = path.join(folder, 'own');
    fs.writeFileSync(own, '');
    fs.symlinkSync(own, path.join(dataDir, 'link'));
    const { url } = await start();
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(owners()).toEqual(before);
    expect(fs.statSync(own).uid).toBe(0);
  });

  it('refuses another local user, even one who can open the socket', async () => {
    const { url } = await start();
    const named = await ask<{ sys_name: string }>(
      url,
      'select sys_name from pg_ident_file_mappings',
    );
    const others = named.filter(
      ({ sys_name }) => !['root', os.userInfo().username].includes(sys_name),
    );
    expect(others).toEqual([]);
    // Only root can switch to another user and try to connect.
    if (process.getuid?.() !== 0) return;
    const startup = Buffer.from('user\0postgres\0database\0postgres\0\0');
    const head = Buffer.alloc(8);
    head.writeInt32BE(8 + startup.length, 0);
    head.writeInt32BE(196_608, 4);
    const message = Buffer.concat([head, startup]).toString('hex');
    const knock = () => {
      const program = `
          const socket = require('node:net').connect(${JSON.stringify(reachSocket(dataDir).path)});
          socket.on('connect', () => socket.write(Buffer.from('${message}', 'hex')));
          socket.on('data', (data) => { console.log(data.toString('latin1')); process.exit(); });
          socket.on('error', (error) => { console.log(error.code); process.exit(); });
          setTimeout(() => process.exit(), 20000);`;
      return runAs(NOBODY, program);
    };
    expect(knock()).toContain('EACCES');
    fs.chmodSync(dataDir, 0o711);
    fs.chmodSync(reachSocket(dataDir).path, 0o777);
    expect(knock()).toMatch(/^E[^]*28000[^]*Peer authentication failed/);
  });
});
