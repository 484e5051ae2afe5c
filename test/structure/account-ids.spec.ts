import { FILLED_TABLES } from '../../src/app/scheduler/account-fills.ts';
import { insertsOf } from './table-uses.ts';

describe('statements that insert rows of accounts', () => {
  it.each(FILLED_TABLES.map(({ table }) => table))('into %s store account_id', (table) => {
    const inserts = insertsOf(table);
    expect(inserts.length).toBeGreaterThan(0);
    expect(inserts.filter(({ columns }) => !columns.includes('account_id'))).toEqual([]);
  });
});
