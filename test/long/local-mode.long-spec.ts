import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts';
import { LocalProgram, START_PATIENCE_MS } from '../support/local-program.ts';
import { runScript, startScript } from '../support/npm-script.ts';

/** `test/e2e/local-mode` has the first start. */
describe('npm start, later', () => {
  let local: LocalProgram;

  beforeAll(async () => {
    local = await LocalProgram.prepare();
  });
  afterEach(async () => {
    await local.stop('SIGKILL');
  }, START_PATIENCE_MS);
  afterAll(() => local.remove());

  it(
    'keeps the data and shows no secret on the second start',
    async () => {
      await local.start();
      expect(await local.stop('SIGINT')).toBe(0);
      const running = await local.start();
      const welcome = await running.printed('Or start afresh');
      expect(welcome).not.toContain('access token');
      expect(welcome).toContain('npm run carillon -- application list');
      const list = await runScript(
        'carillon',
        ['application', 'list', '--json'],
        local.environment,
      );
      expect(JSON.parse(list.output)).toMatchObject([
        { name: 'Demo', plan: 'standard', features: ['sms'] },
      ]);
      expect(await local.stop('SIGTERM')).toBe(0);
    },
    START_PATIENCE_MS,
  );

  it(
    'creates no demo application and shows no tokens when NODE_ENV is production',
    async () => {
      const own = {
        NODE_ENV: 'production',
        DATA_DIR: path.join(local.folder, 'production'),
        ENCRYPTION_KEYS: `main:${randomBytes(32).toString('base64')}`,
      };
      const running = await local.start(own);
      const welcome = await running.printed('application create');
      expect(welcome).toContain('no demo application is created and no tokens are shown');
      expect(welcome).not.toMatch(/access token|client secret|CARILLON_ACCESS_TOKEN/i);
      const list = await runScript('carillon', ['application', 'list', '--json'], {
        ...local.environment,
        ...own,
      });
      expect(JSON.parse(list.output)).toEqual([]);
      expect(await local.stop('SIGTERM')).toBe(0);
    },
    START_PATIENCE_MS,
  );

  it(
    'refuses a folder that another Carillon uses and a port that is taken, before it starts anything',
    async () => {
      await local.start();
      const folderTaken = await runScript('start', [], {
        ...local.environment,
        PORT: local.otherPort,
      });
      expect(folderTaken).toMatchObject({ code: 1 });
      expect(folderTaken.output).toMatch(
        /^Another Carillon \(process \d+\) uses .*data\. Stop it, or .*DATA_DIR=/,
      );
      const other = path.join(local.folder, 'other');
      const portTaken = await runScript('start', [], { ...local.environment, DATA_DIR: other });
      expect(portTaken).toMatchObject({ code: 1 });
      expect(portTaken.output).toMatch(
        /^Port \d+ is taken\. Choose another one: PORT=\d+ npm start\n$/,
      );
      expect(fs.existsSync(path.join(other, 'postgres'))).toBe(false);
    },
    START_PATIENCE_MS,
  );

  it(
    'starts again after kill -9',
    async () => {
      await local.start();
      const database = local.databasePid();
      await local.stop('SIGKILL');
      await local.start();
      expect(local.databasePid()).not.toBe(database);
      expect(await local.stop('SIGINT')).toBe(0);
    },
    START_PATIENCE_MS,
  );

  it(
    'uses the server of DATABASE_URL, names the migration command if the schema is behind, and creates no demo data',
    async () => {
      const server = await startEmbeddedPostgres({ settings: { fsync: 'off' } });
      const own = {
        ...local.environment,
        DATA_DIR: path.join(local.folder, 'with-url'),
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

        local.running = startScript('start', [], own);
        expect(await local.running.printed('No demo data')).not.toContain('access token');
        const client = new pg.Client({ connectionString: server.url });
        await client.connect();
        const { rows } = await client.query<{ count: string }>('select count(*) from application');
        await client.end();
        expect(rows).toEqual([{ count: '0' }]);
        expect(await local.stop('SIGINT')).toBe(0);
      } finally {
        await server.stop();
      }
    },
    START_PATIENCE_MS,
  );
});
