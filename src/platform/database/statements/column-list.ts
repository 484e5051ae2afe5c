/**
 * The SQL of some properties of a row, made from the one list of their columns.
 * @param columns each property with its column and the column's type, such as `'sent_at
 *   timestamptz'`
 */
export function columnList<P extends string>(columns: Readonly<Record<P, string>>) {
  const columnOf = (property: P): string => columns[property].split(' ')[0]!;
  return {
    columnOf,

    /** Column list for INSERT; `table` is an optional prefix. */
    columnNames: (properties: readonly P[], table?: string): string =>
      properties
        .map((property) => (table === undefined ? '' : `${table}.`) + columnOf(property))
        .join(', '),

    /** Columns with their types, for `jsonb_to_recordset`. */
    typedColumns: (properties: readonly P[]): string =>
      properties.map((property) => columns[property]).join(', '),

    /**
     * Assignments for UPDATE that take every value from the column of the same name.
     * @param table where the values come from. Default: `x`
     */
    assignments: (properties: readonly P[], table = 'x'): string =>
      properties
        .map((property) => `${columnOf(property)} = ${table}.${columnOf(property)}`)
        .join(', '),

    /** One element of the JSON array that `jsonb_to_recordset` reads, keyed by column. */
    columnValues: <F extends P>(
      row: Readonly<Record<F, unknown>>,
      properties: readonly F[],
    ): Record<string, unknown> =>
      Object.fromEntries(properties.map((property) => [columnOf(property), row[property]])),
  };
}
