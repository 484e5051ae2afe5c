import { randomBytes } from 'node:crypto';
import path from 'node:path';
import request from 'supertest';
import { migrate } from '../../src/app/migrate.ts';
import { run } from '../../src/cli/carillon/program.ts';
import { shellBlocks } from '../support/docs/pages.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { SystemPostgres } from '../support/system-postgres.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const KEYS = { ENCRYPTION_KEYS: `main:${randomBytes(32).toString('base64')}` };

/** The lines of a block of docs/backup.md that contains this program, without its variables. */
function linesWith(program: string): string {
  const block = shellBlocks('docs/backup.md').find(({ text }) => text.includes(program));
  if (!block) throw new Error(`docs/backup.md has no block with ${program}`);
  return block.text.replaceAll(/^export .*$/gm, '');
}

describeWith(['pg_basebackup'], 'the backups of docs/backup.md', () => {
  let postgres: SystemPostgres;
  let server: TestApp;
  let account: TestAccount;
  let variables: Record<string, string>;

  beforeAll(async () => {
    postgres = new SystemPostgres();
    const BACKUPS = await postgres.makeFolder('backups');
    await postgres.makeFolder('backups/wal');
    const archive = `archive_command = 'test ! -f ${BACKUPS}/wal/%f && cp %p ${BACKUPS}/wal/%f'`;
    const first = await postgres.create('first', ['archive_mode = on', archive]);
    await postgres.run('createdb --maintenance-db="$FIRST" carillon', { FIRST: first });
    const DATABASE_URL = first.replace(/postgres$/, 'carillon');
    variables = { BACKUPS, DATABASE_URL };
    await migrate(DATABASE_URL);
    server = await startTestApp({ ...KEYS, DATABASE_URL });
    try {
      account = await createAccount(server.app, await createApplication(server.app));
      await ready(server, 200);
      await schedule('before the backups');
      await postgres.run(linesWith('pg_dump'), variables);
      await postgres.run(linesWith('pg_basebackup'), variables);
      await schedule('after the backups');
    } finally {
      await server.close();
    }
    await finishArchive(DATABASE_URL);
  });
  afterAll(async () => {
    await postgres.close();
  });

  const ready = ({ url }: TestApp, status: number) =>
    until(`readiness to be ${status}`, async () => {
      const response = await request(url).get('/health/ready');
      return response.status === status && response;
    });
  const schedule = async (subject: string): Promise<void> => {
    await request(server.url)
      .post('/v2/outbox')
      .set(account.bearer)
      .send({
        to: [{ email: 'bo@sandbox.test' }],
        subject,
        send_at: Math.floor(Date.now() / 1000) + 3_600,
      })
      .expect(202);
  };
  const openSubjects = async ({ url }: TestApp): Promise<string[]> => {
    const { status, body } = await request(url).get('/v2/outbox').set(account.bearer);
    expect({ status, body }).toMatchObject({ status: 200 });
    return (body as { original_data: { subject: string } }[])
      .map(({ original_data }) => original_data.subject)
      .toSorted();
  };

  /** Archives what was written last; archive_timeout would do so within a minute. */
  async function finishArchive(url: string): Promise<void> {
    const ask = (query: string) => postgres.run(`psql '${url}' -Atc "${query}"`);
    await ask('select pg_switch_wal()');
    await ask('checkpoint');
    await until('the archive to be complete', async () => {
      const open = `select count(*) from pg_ls_archive_statusdir() where name like '%.ready'`;
      return (await ask(open)).trim() === '0';
    });
  }

  /** Starts the restored database, confirms it, and cancels what it would send. */
  async function confirm(restored: string, subjects: readonly string[]): Promise<void> {
    const copy = await startTestApp({ ...KEYS, DATABASE_URL: restored });
    try {
      await until('the database to be taken for a restored one', async () => {
        const { body } = await request(copy.url).get('/health/ready');
        const checks = body.checks as { name: string; problem?: string }[];
        const problem = checks.find(({ name }) => name === 'instance')?.problem;
        return problem?.includes('restored or moved');
      });
      expect(await openSubjects(copy)).toEqual(subjects);
      let printed = '';
      await run(['instance', 'confirm', '--cancel-sends', '--yes'], {
        environment: { ...KEYS, DATABASE_URL: restored },
        print: (text) => (printed += text),
        write: () => {},
      });
      expect(printed).not.toBe('');
      await ready(copy, 200);
      expect(await openSubjects(copy)).toEqual([]);
    } finally {
      await copy.close();
    }
  }

  it('with pg_dump restore what was there, and nothing is sent before it is confirmed', async () => {
    const RESTORED_URL = `${variables['DATABASE_URL']}_restored`;
    await postgres.run(linesWith('pg_restore'), { ...variables, RESTORED_URL });
    await confirm(RESTORED_URL, ['before the backups']);
  });

  it('with pg_basebackup and the archive restore what was accepted after the backup, too', async () => {
    const PGDATA = path.join(postgres.folder, 'second');
    const [copy = '', ...rest] = linesWith('recovery.signal').trim().split('\n');
    await postgres.run(copy, { ...variables, PGDATA });
    const moved = await postgres.move(PGDATA);
    await postgres.run(rest.join('\n').replaceAll('pg_ctl ', 'pg_ctl --log=second.log '), {
      ...variables,
      PGDATA,
    });
    const restored = moved.replace(/postgres$/, 'carillon');
    await until('the server to have read the archive', async () => {
      const query = 'select pg_is_in_recovery()';
      return (await postgres.run(`psql '${restored}' -Atc '${query}'`)).trim() === 'f';
    });
    await confirm(restored, ['after the backups', 'before the backups']);
  });
});
