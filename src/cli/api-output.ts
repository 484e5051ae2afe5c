import Table from 'cli-table3';
import { escapedJson, forTerminal, onOneLine } from '../platform/base/text/plain-text.ts';

type Row = Record<string, unknown>;

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a column; `a.b` reads field `b` of object `a`. */
function pick(row: Row, column: string): unknown {
  let value: unknown = row;
  for (const key of column.split('.')) value = isRow(value) ? value[key] : undefined;
  return value;
}

const WIDEST = 60;

/**
 * Text of a value: an address object becomes its address, a list its items, any other object JSON.
 */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(cell).join(', ');
  if (isRow(value))
    return typeof value['email'] === 'string' ? value['email'] : JSON.stringify(value);
  return String(value);
}

function shorten(text: string): string {
  const line = onOneLine(text);
  return line.length > WIDEST ? `${line.slice(0, WIDEST - 1)}…` : line;
}

/** The list in a response: the response itself, or its `data` on the integrations address. */
function rowsOf(answer: unknown): unknown {
  return isRow(answer) && 'data' in answer ? answer['data'] : answer;
}

const STYLE = { head: [], border: [] };

/**
 * Formats a response as a table: a list with one column per field, a single object with one line
 * per field.
 */
export function formatTable(answer: unknown, columns: readonly string[]): string {
  const content = rowsOf(answer);
  if (Array.isArray(content)) {
    const rows = content.filter(isRow);
    // With `view=ids` the response is a list of strings.
    if (rows.length === 0)
      return content.length === 0
        ? '(none)'
        : content.map((item) => onOneLine(cell(item))).join('\n');
    const table = new Table({ head: [...columns], style: STYLE });
    for (const row of rows) table.push(columns.map((column) => shorten(cell(pick(row, column)))));
    return table.toString();
  }
  if (!isRow(content)) return forTerminal(cell(content));
  const table = new Table({ style: STYLE });
  for (const [name, value] of Object.entries(content))
    table.push({ [shorten(name)]: shorten(cell(value)) });
  return table.toString();
}

/**
 * Formats a response as JSON, for people and for `jq`. Control characters that a terminal would
 * obey are escaped.
 */
export function formatJson(answer: unknown): string {
  return escapedJson(JSON.stringify(answer, null, 2));
}

/** Formats one line of a JSON stream the same way. A line that is not JSON is shown as text. */
export function formatJsonLine(line: string): string {
  try {
    return escapedJson(JSON.stringify(JSON.parse(line)));
  } catch {
    return onOneLine(line);
  }
}
