import { Conditions } from '../../src/platform/database/conditions.ts';
import {
  addMetadataCondition,
  metadataFilter,
  type MetadataQuery,
} from '../../src/platform/database/metadata-filter.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const ROWS = {
  empty: {},
  sales: { team: 'sales', level: '1' },
  ops: { team: 'ops', admin: true },
  blank: { team: '' },
};

describe('metadata filter', () => {
  let file: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    file = await createTestDatabase();
    database = new Database({
      url: file.url,
      max: 1,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
  });
  afterAll(async () => {
    await database.close();
    await file.drop();
  });

  async function matching(query: MetadataQuery): Promise<string[]> {
    const conditions = new Conditions();
    const from = `jsonb_each(${conditions.value(JSON.stringify(ROWS))}::jsonb) row(name, metadata)`;
    const filter = metadataFilter(query);
    if (filter) addMetadataCondition(conditions, 'row.metadata', filter);
    const text = `select row.name from ${from} where ${conditions.text} order by 1`;
    return (await database.query<{ name: string }>(text, conditions.values)).map(
      ({ name }) => name,
    );
  }

  it.each<[MetadataQuery, string[]]>([
    [{}, ['blank', 'empty', 'ops', 'sales']],
    [{ metadata_search: 'none' }, ['blank', 'empty', 'ops', 'sales']],
    [{ metadata_key: ['level'] }, ['sales']],
    [{ metadata_key: ['level', 'admin'] }, ['ops', 'sales']],
    [{ metadata_key: ['level', 'admin'], metadata_search: 'all' }, []],
    [{ metadata_key: ['level', 'team', 'team'], metadata_search: 'all' }, ['sales']],
    [{ metadata_key: ['level', 'admin'], metadata_search: 'none' }, ['blank', 'empty']],
    [{ metadata_value: ['1'] }, ['sales']],
    [{ metadata_value: ['true'] }, ['ops']],
    [{ metadata_value: [''] }, ['blank']],
    [{ metadata_value: ['sales', '1'], metadata_search: 'all' }, ['sales']],
    [{ metadata_pair: ['team:ops'] }, ['ops']],
    [{ metadata_pair: ['team:'] }, ['blank']],
    [{ metadata_pair: ['level:sales'] }, []],
    [{ metadata_pair: ['team:ops', 'level:1'] }, ['ops', 'sales']],
    [{ metadata_pair: ['team:sales', 'level:1'], metadata_search: 'all' }, ['sales']],
    [
      { metadata_pair: ['team:sales'], metadata_key: ['admin'], metadata_search: 'none' },
      ['blank', 'empty'],
    ],
    [{ metadata_pair: ['team:sales'], metadata_key: ['admin'] }, ['ops', 'sales']],
  ])('%j matches %j', async (query, names) => {
    expect(await matching(query)).toEqual(names);
  });

  it.each(['nocolon', ':value', ''])('refuses the pair "%s"', (pair) => {
    expect(() => metadataFilter({ metadata_pair: [pair] })).toThrow(
      'metadata_pair: must be of the form key:value',
    );
  });
});
