import Table from 'cli-table3';
import { forTerminal, onOneLine } from '../../platform/base/text/plain-text.ts';
import { cell, isRow, pick, type Row } from './cells.ts';
import { cut, widthOf, wrapped } from './width.ts';

/** A value of a single object is broken into lines of this many columns. */
const WIDEST = 60;
/** A value of a single object may take this many columns, on several lines. */
const LONGEST = 300;
/** A column is never narrower, with the spaces around it. If there is no room, it is left out. */
const NARROWEST = 12;
/** Part of a cut id or time is of no use. */
const WHOLE = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$/;

const STYLE = { head: [], border: [] };

/** Where a table is shown. */
export interface TableRoom {
  /** Columns of the terminal. Default: no limit, as for a file or a pipe. */
  width?: number | undefined;
}

/** The room of standard output. */
export function terminalRoom(): TableRoom {
  const { isTTY, columns } = process.stdout;
  return isTTY && columns > 0 ? { width: columns } : {};
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** The list in a response: the response itself, or its `data` on the integrations address. */
export function contentOf(answer: unknown): unknown {
  return isRow(answer) && 'data' in answer ? answer['data'] : answer;
}

/**
 * Widths with which a table fits: the widest columns are narrowed first. If there is no room, the
 * last columns are left out, and the result is shorter.
 * @param widths as wide as the columns would like to be, with the spaces around their texts
 * @param whole whether a column must not be narrowed
 */
export function fittingWidths(
  widths: readonly number[],
  whole: readonly boolean[],
  room: number,
): number[] {
  for (let count = widths.length; count > 0; count -= 1) {
    const wanted = widths.slice(0, count);
    const least = wanted.map((width, index) => (whole[index] ? width : Math.min(width, NARROWEST)));
    const free = room - count - 1; // one character for each border
    if (sum(least) > free && count > 1) continue;
    const within = (most: number): number[] =>
      wanted.map((width, index) => Math.max(least[index] ?? 0, Math.min(width, most)));
    let most = Math.max(...wanted);
    while (most > NARROWEST && sum(within(most)) > free) most -= 1;
    return within(most);
  }
  return [];
}

/** The widths that a table has, read from its upper border. */
const widthsOf = (text: string): number[] =>
  text
    .slice(1, text.indexOf('\n') - 1)
    .split('┬')
    .map((part) => part.length);

/**
 * Draws rows.
 * @param widths of the columns, with a space on each side; default: as wide as their texts
 * @param fit fits a text into so many columns of the terminal. Default: cuts it
 */
function draw(
  columns: readonly string[],
  cells: readonly string[][],
  widths?: readonly number[],
  fit: (text: string, width: number) => string = cut,
): string {
  const table = new Table({
    head: columns.slice(0, widths?.length),
    style: STYLE,
    ...(widths ? { colWidths: [...widths] } : {}),
  });
  const fitting = (row: readonly string[]): string[] =>
    widths?.map((width, index) => fit(row[index] ?? '', width - 2)) ?? [...row];
  table.push(...cells.map(fitting));
  return table.toString();
}

/**
 * A table of rows. In a terminal, it fits: the longest columns are cut with `…`, and columns
 * without room are left out and named below. In a file or a pipe, it is as wide as its texts.
 * @param before widths of the tables before, so that the pages of a list look alike
 */
export function tableOf(
  rows: readonly Row[],
  columns: readonly string[],
  { width, before }: TableRoom & { before?: readonly number[] | undefined } = {},
): { text: string; widths: number[] } {
  const cells = rows.map((row) =>
    columns.map((column) => onOneLine(cell(pick(row, column), column))),
  );
  const natural = draw(columns, cells);
  const wanted = widthsOf(natural);
  if (width === undefined) {
    const widths = wanted.map((one, index) => Math.max(one, before?.[index] ?? 0));
    return { text: before ? draw(columns, cells, widths) : natural, widths };
  }
  const whole = columns.map((_, index) => cells.every((row) => WHOLE.test(row[index] ?? '')));
  const widths = before ? [...before] : fittingWidths(wanted, whole, width);
  const text = draw(columns, cells, widths);
  const left = columns.slice(widths.length);
  if (left.length === 0 || before) return { text, widths };
  const note = `No room for: ${left.join(', ')}. Widen the terminal, or choose columns with --display_columns.`;
  return { text: `${text}\n${note}`, widths };
}

/** A table whose long texts continue on further lines instead of being cut. */
export function wrappedTable(
  rows: readonly Row[],
  columns: readonly string[],
  { width }: TableRoom = {},
): string {
  const cells = rows.map((row) =>
    columns.map((column) => onOneLine(cell(pick(row, column), column))),
  );
  const wanted = widthsOf(draw(columns, cells));
  if (width === undefined || sum(wanted) + wanted.length + 1 <= width) return draw(columns, cells);
  const widths = fittingWidths(wanted, [], width);
  return draw(columns, cells, widths, wrapped);
}

/** One line for each field. Long values continue on further lines. */
function objectTable(object: Row, width: number | undefined): string {
  const names = Object.keys(object).map(onOneLine);
  // Each of the two columns has two spaces, and there are three borders.
  const left = Math.max(...names.map(widthOf)) + 7;
  const room = width === undefined ? WIDEST : Math.max(10, Math.min(WIDEST, width - left));
  const table = new Table({ style: STYLE });
  for (const [name, value] of Object.entries(object))
    table.push({ [onOneLine(name)]: wrapped(cut(onOneLine(cell(value, name)), LONGEST), room) });
  return table.toString();
}

/**
 * Formats a response as a table: a list with one column per field, a single object with one line
 * per field.
 */
export function formatTable(
  answer: unknown,
  columns: readonly string[],
  room: TableRoom = {},
): string {
  const content = contentOf(answer);
  if (Array.isArray(content)) {
    const rows = content.filter(isRow);
    // With `view=ids` the response is a list of strings.
    if (rows.length === 0)
      return content.length === 0
        ? '(none)'
        : content.map((item) => onOneLine(cell(item))).join('\n');
    return tableOf(rows, columns, room).text;
  }
  return isRow(content) ? objectTable(content, room.width) : forTerminal(cell(content));
}
