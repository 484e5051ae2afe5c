import pg from 'pg';
import { migrate, TooOldError } from '../../src/app/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const INITIAL = 'Migration20261124004334_initial';
/** The last migration of the release before; the initial one replaces it and those before it. */
const LAST_REPLACED = 'Migration20261124004334_audit_figures';

describe('the initial migration', () => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const recorded = async () =>
    (await client.query('select name from mikro_orm_migrations order by name')).rows.map(
      ({ name }) => name as string,
    );

  it('counts as run in a database of the release before', async () => {
    const before = await recorded();
    await client.query('update mikro_orm_migrations set name = $2 where name = $1', [
      INITIAL,
      LAST_REPLACED,
    ]);
    expect(await migrate(database.url)).toEqual([]);
    expect(await recorded()).toEqual([...before, LAST_REPLACED].toSorted());
  });

  it('refuses a database that is older than that, and changes nothing', async () => {
    await client.query('truncate mikro_orm_migrations');
    await client.query(
      `insert into mikro_orm_migrations (name) values ('Migration20261121000000')`,
    );
    await expect(migrate(database.url)).rejects.toThrow(TooOldError);
    expect(await recorded()).toEqual(['Migration20261121000000']);
  });
});
