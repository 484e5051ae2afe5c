import { randomInt } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { AccountPrincipal } from '../../src/platform/auth/principal.ts';
import { firstIdAt, newId } from '../../src/platform/base/ids/ids.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../src/platform/changes/change-log.ts';
import type { ChangedObjects } from '../../src/deltas/changed-objects.ts';
import { toCursor } from '../../src/platform/waiting/cursor.ts';
import { DELTA_TYPES, type DeltaType } from '../../src/platform/changes/delta-types.ts';
import { ExpiredCursorError, InvalidCursorError } from '../../src/deltas/deltas.errors.ts';
import { DeltasRepository } from '../../src/deltas/deltas.repository.ts';
import { DeltasService } from '../../src/deltas/deltas.service.ts';
import { pruneChanges } from '../../src/platform/changes/prune-changes.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** Every requested object exists. */
const objects = {
  read: (_account: unknown, _type: unknown, ids: readonly string[]) =>
    Promise.resolve(new Map(ids.map((id) => [id, { id }]))),
} as unknown as ChangedObjects;

describe('the change log', () => {
  let own: TestDatabase;
  let database: Database;
  let deltas: DeltasService;
  const applicationId = firstIdAt(new Date(0));

  beforeAll(async () => {
    Logger.overrideLogger(false);
    own = await createTestDatabase();
    database = new Database({
      url: own.url,
      max: 20,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    deltas = new DeltasService(new DeltasRepository(database), objects);
    await database.query(
      `insert into application (id, client_id, name, secret_hash, secret_sealed, plan, features, region, redirect_uris, created_at, updated_at)
       values ($1, 'c', 'n', 'h', 's', 'standard', '{}', 'us', '{}', now(), now())`,
      [applicationId],
    );
  });
  afterAll(async () => {
    await database.close();
    await own.drop();
  });

  const account = (): AccountPrincipal =>
    ({ kind: 'account', accountId: newId(), scopes: null }) as never;
  const change = (
    { accountId }: AccountPrincipal,
    objectId: string = newId(),
    object: DeltaType = 'message',
    event: ChangeRecord['event'] = 'create',
  ): ChangeRecord => ({ applicationId, accountId, object, objectId, event, at: new Date() });
  const write = (sql: Sql, ...changes: ChangeRecord[]) => recordChanges(sql, changes);
  const read = (by: AccountPrincipal, cursor: string, types = DELTA_TYPES, limit = 100) =>
    deltas.read(by, { cursor, types, limit });
  const ids = async (by: AccountPrincipal, cursor = '0') =>
    (await read(by, cursor)).deltas.map(({ id }) => id);

  /** A transaction that stays open until the test ends it. */
  async function hold(work: (sql: Sql) => Promise<unknown>) {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<'commit' | 'rollback'>();
    const ended = database
      .transaction(async (sql) => {
        await work(sql);
        begun.resolve();
        if ((await end.promise) === 'rollback') throw new Error('rolled back');
      })
      .catch((error: unknown) => {
        begun.reject(error as Error);
      });
    await begun.promise;
    return async (how: 'commit' | 'rollback') => {
      end.resolve(how);
      await ended;
    };
  }

  it('gives readers every change once, while hundreds of transactions overlap and commit in any order', async () => {
    const accounts = [account(), account(), account()];
    const committed = new Map(accounts.map(({ accountId }) => [accountId, new Set<string>()]));
    let writing = true;

    const transact = async () => {
      const by = accounts[randomInt(accounts.length)] ?? account();
      const written = Array.from({ length: randomInt(1, 5) }, () => newId());
      const [first = '', ...others] = written;
      const pause = (sql: Sql) => sql.query('select pg_sleep($1)', [randomInt(0, 30) / 1000]);
      const rollsBack = randomInt(10) === 0;
      await database
        .transaction(async (sql) => {
          // The transaction may be older or younger than those with neighbouring numbers.
          if (randomInt(2) === 0) await sql.query('select pg_current_xact_id()');
          if (randomInt(2) === 0) await pause(sql);
          await write(sql, change(by, first));
          await pause(sql);
          await write(sql, ...others.map((id) => change(by, id)));
          if (randomInt(2) === 0) await pause(sql);
          if (rollsBack) throw new Error('rolled back');
        })
        .then(() => written.forEach((id) => committed.get(by.accountId)?.add(id)))
        .catch((error: Error) => expect(error.message).toBe('rolled back'));
    };
    const writer = async () => {
      for (let count = 0; count < 60; count += 1) await transact();
    };
    const reader = async (by: AccountPrincipal, limit: number) => {
      const seen: string[] = [];
      let cursor = '0';
      for (;;) {
        const last = !writing;
        const page = await read(by, cursor, DELTA_TYPES, limit);
        seen.push(...page.deltas.map(({ id }) => id));
        if (last && page.end === cursor) return { by, seen };
        cursor = page.end;
      }
    };

    const readers = accounts.flatMap((by) => [reader(by, 3), reader(by, 1000)]);
    await Promise.all(Array.from({ length: 10 }, writer));
    writing = false;
    for (const { by, seen } of await Promise.all(readers)) {
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.toSorted()).toEqual([...(committed.get(by.accountId) ?? [])].toSorted());
    }
  });

  it('never returns changes that come after those of an open transaction', async () => {
    const by = account();
    const [before, slow, quick, late] = [newId(), newId(), newId(), newId()];
    await write(database, change(by, before));
    const end = await hold((sql) => write(sql, change(by, slow)));
    await write(database, change(by, quick));
    expect(await ids(by)).toEqual([before]);
    const latest = await deltas.latestCursor(by);
    const { end: cursor } = await read(by, '0');
    await end('commit');
    await write(database, change(by, late));
    expect(await ids(by, cursor)).toEqual([slow, quick, late]);
    expect(await ids(by, latest)).toEqual([slow, quick, late]);
  });

  it('continues after a transaction that is rolled back', async () => {
    const by = account();
    const quick = newId();
    const end = await hold((sql) => write(sql, change(by)));
    await write(database, change(by, quick));
    expect(await ids(by)).toEqual([]);
    await end('rollback');
    expect(await ids(by)).toEqual([quick]);
  });

  it('does not wait for transactions of other accounts or without changes', async () => {
    const by = account();
    const id = newId();
    const ends = [
      await hold((sql) => sql.query('create table unrelated (id int)')),
      await hold((sql) => write(sql, change(account()))),
    ];
    await write(database, change(by, id));
    expect(await ids(by)).toEqual([id]);
    for (const end of ends) await end('rollback');
  });

  it('draws sequence numbers one by one, so that no connection keeps some back', async () => {
    const [sequence] = await database.query(
      `select cache_size as cache, increment_by as step from pg_sequences where sequencename = 'change_seq_seq'`,
    );
    expect(sequence).toEqual({ cache: 1, step: 1 });
  });

  it("reads through the account's index, and through that of the type if one is asked for", async () => {
    const by = account();
    await database.query(
      `insert into change (account_id, object, object_id, event)
       select (case when n % 10 = 0 then $1 else gen_random_uuid()::text end)::uuid,
         (array['message', 'thread', 'file', 'folder', 'draft', 'contact'])[1 + n % 6], gen_random_uuid(), 'create'
       from generate_series(1, 20000) n`,
      [by.accountId],
    );
    await database.query('analyze change');
    const texts: string[] = [];
    const spy: Sql = {
      async query(text: string, values: readonly unknown[] = []) {
        const plan = await database.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values, {
          prepared: false,
        });
        texts.push(plan.map((line) => line['QUERY PLAN']).join('\n'));
        return database.query(text, values) as never;
      },
    };
    const repository = new DeltasRepository(spy as Database);
    const { end } = await repository.state(by.accountId, 1, DELTA_TYPES);
    await repository.page(by.accountId, 0, end, DELTA_TYPES, { limit: 100, bytes: 1e6 });
    await repository.newest([by.accountId, newId()]);
    const read = texts.splice(0);
    expect(read).toHaveLength(3);
    for (const plan of read) {
      expect(plan).toMatch(/using change_pkey/);
      expect(plan).not.toMatch(/Seq Scan on change |Filter: \(\(?account_id/);
    }
    await database.query(
      `insert into change (account_id, object, object_id, event) values ($1, 'calendar', $1, 'create')`,
      [by.accountId],
    );
    const last = (await repository.state(by.accountId, 1, ['calendar'])).end;
    texts.length = 0;
    const limits = { limit: 100, bytes: 1e6 };
    const { changes } = await repository.page(by.accountId, 0, last, ['event', 'calendar'], limits);
    expect(changes.map(({ object }) => object)).toEqual(['calendar']);
    const [rare] = texts;
    expect(rare).toMatch(/using change_object on change .*\n\s*Index Cond: .*object = t\.object/);
    expect(rare).not.toMatch(/Seq Scan on change |Filter: .*object = /);
  });

  describe('cursors', () => {
    /** An account whose changes the log accepts. */
    async function connected(): Promise<AccountPrincipal> {
      const by = account();
      await database.query(
        `insert into "grant" (id, application_id, provider, email, name, status, sync_state, organization_unit, billing_state, metadata, settings_sealed, linked_at, created_at, updated_at)
         values ($1, $2, 'sandbox', $3, '', 'valid', 'running', 'folder', 'paid', '{}', '', now(), now(), now())`,
        [by.accountId, applicationId, `${by.accountId}@a.test`],
      );
      return by;
    }
    const age = (by: AccountPrincipal, days: number, object = '%') =>
      database.query(
        `update change set at = at - $2 * interval '1 day' where account_id = $1 and object like $3`,
        [by.accountId, days, object],
      );
    const prune = async () => {
      while ((await pruneChanges(database, new Date())) > 0);
    };

    it('are refused when they belong to another account, were altered, or lie beyond the log', async () => {
      const [by, other] = [account(), account()];
      await write(database, change(by), change(other));
      const { end } = await read(other, '0');
      const unheardOf = toCursor(by.accountId, { seq: 2 ** 40, at: Date.now() });
      for (const cursor of [
        end,
        `${end}0`,
        end.replace(/^./, '-'),
        '',
        '1',
        'x'.repeat(255),
        unheardOf,
      ])
        await expect(read(by, cursor)).rejects.toThrow(InvalidCursorError);
    });

    it('are refused when their change was lost with a restore, even when its number was used again', async () => {
      const by = account();
      await write(database, change(by));
      const { end } = await read(by, '0');
      await age(by, 1);
      await expect(read(by, end)).rejects.toThrow(InvalidCursorError);
    });

    it('expire when a change after them is deleted, and not before', async () => {
      const by = await connected();
      const none = await deltas.latestCursor(by);
      await write(database, change(by));
      const { end: first } = await read(by, '0');
      await write(database, change(by));
      const { end: second } = await read(by, '0');
      await age(by, 13.9);
      await prune();
      expect(await ids(by, none)).toHaveLength(2);
      await age(by, 1);
      await prune();
      await expect(read(by, none)).rejects.toThrow(ExpiredCursorError);
      await expect(read(by, first)).rejects.toThrow(ExpiredCursorError);
      const stays = await read(by, second);
      expect(stays).toMatchObject({ start: second, end: second, deltas: [] });
      const late = newId();
      await write(database, change(by, late));
      for (const cursor of [second, '0']) expect(await ids(by, cursor)).toEqual([late]);
    });

    it('of a reader of some types do not expire with changes of other types', async () => {
      const by = await connected();
      await write(database, change(by, newId(), 'event'));
      const { end } = await read(by, '0', ['event']);
      await write(database, change(by));
      await age(by, 15);
      await prune();
      expect((await read(by, end, ['event'])).deltas).toEqual([]);
      await expect(read(by, end, ['event', 'message'])).rejects.toThrow(ExpiredCursorError);
    });

    it('can be created after every change was deleted, and return later changes', async () => {
      const by = await connected();
      await write(database, change(by));
      await age(by, 15);
      await prune();
      const cursor = await deltas.latestCursor(by);
      expect((await read(by, cursor)).end).toBe(cursor);
      const id = newId();
      await write(database, change(by, id));
      expect(await ids(by, cursor)).toEqual([id]);
    });

    it('for a time lie before the first change since that time', async () => {
      const by = account();
      const [old, young] = [newId(), newId()];
      await write(database, change(by, old));
      await age(by, 3);
      await write(database, change(by, young));
      const at = (days: number) => deltas.cursorAt(by, new Date(Date.now() - days * 86_400_000));
      expect(await ids(by, await at(4))).toEqual([old, young]);
      expect(await ids(by, await at(2))).toEqual([young]);
      expect(await ids(by, await at(-1))).toEqual([]);
    });
  });

  it('moves past changes of other types, and returns the same cursor when there are none', async () => {
    const by = account();
    await write(database, change(by), change(by));
    const page = await read(by, '0', ['event']);
    expect(page.deltas).toEqual([]);
    expect(page.end).not.toBe('0');
    expect((await read(by, page.end)).end).toBe(page.end);
    expect((await read(by, '0', ['event'], 0)).end).toBe('0');
  });
});
