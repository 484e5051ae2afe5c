import { tableWriters } from './table-uses.ts';

/**
 * Tables that are written both by the entity manager and by SQL (ADR 0003). The list only gets
 * shorter: a table has one style of writing.
 */
const BOTH = [
  'access_token',
  'application',
  'calendar',
  'event',
  'grant',
  'login_request',
  'webhook',
];

describe('tables', () => {
  it('are written by the entity manager or by SQL, and not by both', () => {
    const { byOrm, bySql } = tableWriters();
    expect([...byOrm].filter((table) => bySql.has(table)).toSorted()).toEqual(BOTH);
  });
});
