import pg from 'pg';
import utils from 'pg/lib/utils.js';

type Texts = readonly (string | null)[];
type Callback = (error: Error | null, result: pg.QueryResult) => void;

/** The parts of the driver's connection that a query uses. */
interface Connection {
  bind(options: object): void;
  execute(options: object): void;
  sync(): void;
}

/** The parts of the driver's query that are extended here. Version 8 of `pg`; not in its types. */
interface DriverQuery extends pg.Submittable {
  readonly name: string | undefined;
  readonly values: readonly unknown[];
  readonly _result: {
    fields: readonly pg.FieldDef[];
    parseRow: ReadRow;
  };
  _accumulateRows: boolean;
  prepare(connection: Connection): void;
  handleRowDescription(message: { fields: readonly pg.FieldDef[] }): void;
  handleCommandComplete(message: object, connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
}

const DriverQuery = pg.Query as unknown as new (
  statement: pg.QueryConfig,
  values: undefined,
  callback: Callback,
) => DriverQuery;

/** Makes a row from the texts of its columns, in their order. */
type ReadRow = (texts: Texts) => pg.QueryResultRow;

/** What the server says about the rows of a statement, and how they are read. */
interface Shape {
  fields: readonly pg.FieldDef[];
  readRow: ReadRow;
}

/** A statement without rows, for example an `update` without `returning`. */
const NO_ROWS: Shape = { fields: [], readRow: () => ({}) };

/** Shapes of the prepared statements of each connection, by the statements' names. */
const shapes = new WeakMap<Connection, Map<string, Shape>>();

/**
 * A query of the driver that asks for the columns of a prepared statement once per connection
 * (ADR 0146). The driver alone asks with each execution, and prepares to read the rows anew.
 *
 * PostgreSQL refuses a prepared statement whose columns have changed, and a new connection knows no
 * statement, so a kept shape is that of the rows for as long as it is used.
 */
export class KeptQuery extends DriverQuery {
  readonly #types: pg.CustomTypesConfig;
  #connection: Connection | undefined;

  /**
   * @param types how values are read: the same object for all connections, which share the compiled
   *   readers of rows
   * @param callback gets the result or the error
   */
  constructor(statement: pg.QueryConfig, types: pg.CustomTypesConfig, callback: Callback) {
    super(statement, undefined, callback);
    this.#types = types;
  }

  get #kept(): Map<string, Shape> | undefined {
    return this.#connection && shapes.get(this.#connection);
  }

  override prepare(connection: Connection): void {
    this.#connection = connection;
    const shape = this.name === undefined ? undefined : this.#kept?.get(this.name);
    if (!shape) return super.prepare(connection);
    this._result.fields = shape.fields;
    this._result.parseRow = shape.readRow;
    this._accumulateRows = true;
    try {
      connection.bind({
        statement: this.name,
        values: this.values,
        valueMapper: utils.prepareValue,
      });
    } catch (error) {
      // Nothing was sent. The driver needs an answer before it sends the next statement.
      connection.sync();
      return this.handleError(error, connection);
    }
    connection.execute({});
    connection.sync();
  }

  override handleRowDescription(message: { fields: readonly pg.FieldDef[] }): void {
    super.handleRowDescription(message);
    const { fields } = message;
    if (this.name !== undefined) this.#keep({ fields, readRow: rowReader(fields, this.#types) });
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    super.handleCommandComplete(message, connection);
    if (this.name !== undefined && !this.#kept?.has(this.name)) this.#keep(NO_ROWS);
  }

  #keep(shape: Shape): void {
    if (!this.#connection || this.name === undefined) return;
    const kept = shapes.get(this.#connection) ?? new Map<string, Shape>();
    shapes.set(this.#connection, kept.set(this.name, shape));
  }
}

type Parse = (text: string) => unknown;

/** Compiled readers by the names and types of the columns. All connections share them. */
const readers = new WeakMap<pg.CustomTypesConfig, Map<string, ReadRow>>();

function rowReader(fields: readonly pg.FieldDef[], types: pg.CustomTypesConfig): ReadRow {
  const known = readers.get(types) ?? new Map<string, ReadRow>();
  readers.set(types, known);
  const key = JSON.stringify(fields.map(({ name, dataTypeID }) => [name, dataTypeID]));
  const reader = known.get(key) ?? compileReader(fields, types);
  known.set(key, reader);
  return reader;
}

/**
 * Compiles a function that makes rows of these columns. A loop over them takes eight times as
 * long. The names come from statements of the program, and are quoted here as JSON.
 */
function compileReader(fields: readonly pg.FieldDef[], types: pg.CustomTypesConfig): ReadRow {
  const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text') as Parse);
  const columns = fields.map(
    ({ name }, at) =>
      `${JSON.stringify(name)}: texts[${at}] === null ? null : parsers[${at}](texts[${at}])`,
  );
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- see above
  const make = new Function(
    'parsers',
    `return (texts) => {
      if (texts.length !== ${fields.length}) throw new Error('a prepared statement has other columns than before');
      return { ${columns.join(', ')} };
    }`,
  ) as (parsers: readonly Parse[]) => ReadRow;
  return make(parsers);
}
