import fs from 'node:fs';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import {
  type ClaimResultRow,
  claimStatement,
  FIRST_SUSPECTS,
} from '../../src/platform/work/queue/claim-statement.ts';
import type { AnyDispatcher } from '../../src/platform/work/queue/dispatcher.ts';
import { DISPATCHERS } from '../../src/platform/work/engine.ts';
import { ROW_CLAIMED, ROW_WAITING } from '../../src/platform/work/queue/row-state.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const PRINTED = new URL('../../src/platform/work/queue/claim-statement.sql', import.meta.url);
const WORKER = 1;

/** Ids of accounts and rows that tell them apart in a failed test. */
const uuid = (name: string) => `00000000-0000-7000-8000-${name.padStart(12, '0')}`;
const [A, B] = [uuid('aa'), uuid('bb')];
const ROWS = { a0: A, a1: A, a2: A, a3: A, b1: B };

/** Without the indentation of the TypeScript around it. */
const dedented = (text: string) => `${text.trimEnd().replaceAll(/^ {6}/gm, '')};\n`;

async function storeExample(sql: Sql): Promise<void> {
  await sql.query(
    `insert into account_gate (account_id, max_in_flight, slot_ms, closed_until, close_reason)
     values ($1, 2, 100, null, null), ($2, 8, 50, now() + interval '30 s', 'asked for a pause')`,
    [A, B],
  );
  for (const [name, account] of Object.entries(ROWS))
    await sql.query(
      `insert into send_job (id, account_id, run_at, due_at, retry_limit_at, state, worker_id)
       values ($1, $2, now() - interval '1 s', now() - interval '1 s', now() + interval '1 day', $3, $4)`,
      [uuid(name), account, ...(name === 'a0' ? [ROW_CLAIMED, WORKER] : [ROW_WAITING, null])],
    );
}

describe('the claim statement', () => {
  let server: TestApp;
  let statement: string;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    const dispatchers = server.app.get<AnyDispatcher[]>(DISPATCHERS);
    const send = dispatchers.find(({ table }) => table.queue === 'send');
    if (!send) throw new Error('there is no queue send');
    statement = claimStatement(send.table, send.recordLate !== undefined);
  });

  afterAll(() => server.close());

  // After a change that is meant: WRITE_CLAIM=1 npm run -s jest -- test/medium/claim-statement
  it('is printed for the queue send in claim-statement.sql', () => {
    const printed = fs.readFileSync(PRINTED, 'utf8');
    const header = printed.slice(0, printed.indexOf('with\n') + 'with\n'.length);
    const expected = `${header}${dedented(statement.replace(/^\s*with\s+/, ''))}`;
    if (process.env['WRITE_CLAIM']) fs.writeFileSync(PRINTED, expected);
    expect(fs.readFileSync(PRINTED, 'utf8')).toBe(expected);
  });

  it('takes and parks the rows of the worked example in claim-statement.sql', async () => {
    await server.app.get(Database).transaction(async (sql) => {
      await storeExample(sql);
      const values = [10, WORKER, '-infinity', 100, FIRST_SUSPECTS, [], 0];
      const taken = await sql.query<ClaimResultRow>(statement, values);
      expect(taken.map(({ id }) => id)).toEqual([uuid('a1')]);
      expect(taken[0]?.summary).toMatchObject({
        seen: 4,
        parked: 3,
        passedOver: false,
        late: null,
      });
      const waiting = await sql.query(
        `select id, (extract(epoch from run_at - now()) * 1000)::int as "inMs"
         from send_job where state = $1 order by id`,
        [ROW_WAITING],
      );
      expect(waiting).toEqual([
        { id: uuid('a2'), inMs: 100 },
        { id: uuid('a3'), inMs: 200 },
        { id: uuid('b1'), inMs: 30_050 },
      ]);
    });
  });
});
