import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '../../src/platform/database/sql.ts';

/** A column of a table, as information_schema describes it. */
interface Column {
  table: string;
  column: string;
  type: string;
  required: boolean;
}

/** A foreign key of one column. */
interface Reference {
  table: string;
  column: string;
  target: string;
}

const COLUMNS = `
  select c.table_name as "table", c.column_name as "column", c.udt_name as type,
    c.is_nullable = 'NO' and c.column_default is null as required
  from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
  where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
    and not exists (select 1 from pg_class p where p.oid = quote_ident(c.table_name)::regclass and p.relispartition)
  order by 1, c.ordinal_position`;
const REFERENCES = `
  select conrelid::regclass::text as "table", a.attname as "column", confrelid::regclass::text as target
  from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
  where k.contype = 'f' and k.conparentid = 0`;
const CHECKS = `
  select conrelid::regclass::text as "table", quote_ident(conname) as name from pg_constraint
  where contype = 'c' and connamespace = 'public'::regnamespace`;

/** References without a foreign key. */
const SOFT: readonly Reference[] = [
  { table: 'message_content', column: 'message_id', target: 'message' },
  { table: 'outbox_message', column: 'id', target: 'job_status' },
  { table: 'send_job', column: 'id', target: 'job_status' },
  { table: 'reminder_job', column: 'id', target: 'reminder' },
  { table: 'hook_job', column: 'webhook_id', target: 'webhook' },
  { table: 'hook_job', column: 'event_id', target: 'webhook_event' },
  { table: 'webhook_attempt', column: 'webhook_id', target: 'webhook' },
  { table: 'webhook_attempt', column: 'event_id', target: 'webhook_event' },
];

const unquoted = (name: string) => name.replaceAll('"', '');

/** All tables of a database: fills them for an owner, and finds an owner's rows in any of them. */
export class EveryTable {
  readonly #columns: Map<string, Column[]>;
  readonly #targets: Map<string, string>;

  private constructor(
    private readonly database: Database,
    columns: readonly Column[],
    references: readonly Reference[],
  ) {
    this.#columns = Map.groupBy(columns, ({ table }) => table);
    this.#targets = new Map(
      [...references, ...SOFT].map(({ table, column, target }) => [
        `${unquoted(table)}.${column}`,
        unquoted(target),
      ]),
    );
  }

  /** Reads the schema. Drops all check constraints, so that rows of any text can be stored. */
  static async of(database: Database): Promise<EveryTable> {
    for (const { table, name } of await database.query<{ table: string; name: string }>(CHECKS))
      await database.query(`alter table ${table} drop constraint ${name}`);
    return new EveryTable(
      database,
      await database.query<Column>(COLUMNS),
      await database.query<Reference>(REFERENCES),
    );
  }

  /** Names of the tables with at least one column of ids. */
  get withIds(): string[] {
    return [...this.#columns].flatMap(([table, columns]) => (columns.some(isId) ? [table] : []));
  }

  /** Names of all other tables. */
  get withoutIds(): string[] {
    const having = this.withIds;
    return [...this.#columns.keys()].filter((table) => !having.includes(table));
  }

  /**
   * Stores one row in each table that has ids. An id column gets the id of `owners` by its name,
   * else the id of the row that it refers to, else a new id.
   * @param owners ids by the name of a column or of a table
   * @param except tables to leave alone
   */
  async storeRows(
    owners: Readonly<Record<string, string>>,
    except: readonly string[],
  ): Promise<void> {
    const known = new Map(Object.entries(owners));
    let left = this.withIds.filter((table) => !except.includes(table));
    while (left.length > 0) {
      const ready = left.filter((table) =>
        (this.#columns.get(table) ?? []).every(({ column }) => {
          const target = this.#targets.get(`${table}.${column}`);
          return target === undefined || target === table || known.has(target) || known.has(column);
        }),
      );
      if (ready.length === 0) throw new Error(`cannot fill ${left.join(', ')}`);
      for (const table of ready) known.set(table, await this.#insert(table, known));
      left = left.filter((table) => !ready.includes(table));
    }
  }

  /** All ids that lead to the owner, directly or through other rows. */
  async closure(owner: string): Promise<Set<string>> {
    const found = new Set([owner]);
    for (let size = 0; size < found.size;) {
      size = found.size;
      for (const table of this.withIds) {
        if (!(this.#columns.get(table) ?? []).some(({ column }) => column === 'id')) continue;
        const rows = await this.#rows<{ id: string }>(table, 'id', found);
        for (const { id } of rows) found.add(id);
      }
    }
    return found;
  }

  /** Number of rows with one of these ids in any column; tables without such rows are absent. */
  async count(ids: ReadonlySet<string>): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const table of this.withIds) {
      const { length } = await this.#rows(table, '1', ids);
      if (length > 0) counts[table] = length;
    }
    return counts;
  }

  #rows<T extends object>(table: string, what: string, ids: ReadonlySet<string>): Promise<T[]> {
    const conditions = (this.#columns.get(table) ?? [])
      .filter(isId)
      .map(({ column, type }) =>
        type === 'uuid' ? `"${column}" = any($1::uuid[])` : `"${column}" && $1::uuid[]`,
      );
    return this.database.query<T>(
      `select ${what} from "${table}" where ${conditions.join(' or ')}`,
      [[...ids]],
    );
  }

  async #insert(table: string, known: ReadonlyMap<string, string>): Promise<string> {
    const id = randomUUID();
    const entries = (this.#columns.get(table) ?? []).flatMap(
      ({ column, type, required }): [string, unknown][] => {
        const target = this.#targets.get(`${table}.${column}`);
        if (column === 'id' && type === 'uuid' && target === undefined) return [[column, id]];
        const owner = known.get(column) ?? (target === undefined ? undefined : known.get(target));
        if (type === 'uuid' && owner !== undefined) return [[column, owner]];
        return required ? [[column, valueOf(type)]] : [];
      },
    );
    const names = entries.map(([name]) => `"${name}"`).join(', ');
    const places = entries.map((_, index) => `$${index + 1}`).join(', ');
    await this.database.query(
      `insert into "${table}" (${names}) values (${places}) on conflict do nothing`,
      entries.map(([, value]) => value),
    );
    return id;
  }
}

const isId = ({ type }: Column) => type === 'uuid' || type === '_uuid';

/** Any value of a type. Instants are tomorrow, so that no worker finds work that is due. */
function valueOf(type: string): unknown {
  if (type === 'uuid') return randomUUID();
  if (type.startsWith('_')) return [];
  if (type === 'bytea') return randomBytes(32);
  if (type === 'jsonb' || type === 'json') return '{}';
  if (type === 'bool') return false;
  if (type === 'tsvector') return '';
  if (/^(timestamptz|date)$/.test(type)) return new Date(Date.now() + 86_400_000);
  return /^(int|float|numeric)/.test(type) ? Math.floor(Math.random() * 30_000) : randomUUID();
}
