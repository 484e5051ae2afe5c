import Table from 'cli-table3';
import { escapedJson, forTerminal, onOneLine } from '../../platform/base/text/plain-text.ts';

type Row = Record<string, unknown>;

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a column; `a.b` reads field `b` of object `a`, or of each object if `a` is a list.
 */
export function pick(value: unknown, column: string): unknown {
  const [name = '', ...rest] = column.split('.');
  if (Array.isArray(value)) return value.map((item) => pick(item, column));
  const inner = isRow(value) ? value[name] : undefined;
  return rest.length === 0 ? inner : pick(inner, rest.join('.'));
}

const WIDEST = 60;
/** A value of a single object may take this many characters, on several lines. */
const LONGEST = 300;
/** Names of fields that contain Unix seconds. */
const TIME_FIELD = /(^|[._])(date|at|time|timestamp|datetime)$/;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
/** Smaller numbers are no times of mail: 1973. */
const FIRST_SECOND = 100_000_000;
const LAST_SECOND = 100_000_000_000;

const pad = (value: number): string => String(value).padStart(2, '0');

/** Local time, such as `2026-11-24 09:30:00`; the variable TZ chooses the time zone. */
function localTime(at: Date): string {
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

function timeOf(value: unknown, name: string): Date | undefined {
  if (typeof value === 'string' && ISO_TIME.test(value)) return new Date(value);
  const isSeconds =
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= FIRST_SECOND &&
    value < LAST_SECOND;
  return isSeconds && TIME_FIELD.test(name) ? new Date(value * 1000) : undefined;
}

function objectCell(object: Row): string {
  const { email, start_time: start, end_time: end } = object;
  if (typeof email === 'string') return email;
  if (typeof start === 'number' && typeof end === 'number')
    return `${cell(start, 'start_time')} – ${cell(end, 'end_time')}`;
  // `object` names the kind of what is shown, such as "timespan".
  return Object.entries(object)
    .filter(([name, value]) => name !== 'object' && value !== null && value !== undefined)
    .map(([name, value]) => `${name}: ${cell(value, name)}`)
    .join(', ');
}

/**
 * Text of a value for people: times in local time, an address object as its address, a time span as
 * its two times, any other object as its fields, a list as its items.
 * @param name of the field, which decides whether a number is a time
 */
export function cell(value: unknown, name = ''): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((item) => cell(item, name)).join(', ');
  const time = timeOf(value, name);
  if (time) return localTime(time);
  return isRow(value) ? objectCell(value) : String(value);
}

function shorten(text: string): string {
  const line = onOneLine(text);
  return line.length > WIDEST ? `${line.slice(0, WIDEST - 1)}…` : line;
}

/** Breaks a text into lines, so that the words of a provider are read to their end. */
function wrapped(text: string): string {
  const line = onOneLine(text);
  const shown = line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
  const broken = new RegExp(`(.{1,${WIDEST}})(?: +|$)|(.{${WIDEST}})`, 'gu');
  return shown
    .replaceAll(broken, (_, words?: string, letters?: string) => `${words ?? letters}\n`)
    .trimEnd();
}

/** The list in a response: the response itself, or its `data` on the integrations address. */
export function contentOf(answer: unknown): unknown {
  return isRow(answer) && 'data' in answer ? answer['data'] : answer;
}

const STYLE = { head: [], border: [] };

/** A table of rows, and the widths of its columns. */
function tableOf(
  rows: readonly Row[],
  columns: readonly string[],
  widths?: readonly number[],
): { text: string; widths: number[] } {
  const cells = rows.map((row) =>
    columns.map((column) => shorten(cell(pick(row, column), column))),
  );
  const table = new Table({
    head: [...columns],
    style: STYLE,
    ...(widths ? { colWidths: [...widths] } : {}),
  });
  table.push(...cells);
  const text = table.toString();
  // The upper border has one character for each column of the terminal.
  const border = text.slice(1, text.indexOf('\n') - 1);
  return { text, widths: border.split('┬').map((part) => part.length) };
}

/**
 * Formats a response as a table: a list with one column per field, a single object with one line
 * per field.
 */
export function formatTable(answer: unknown, columns: readonly string[]): string {
  const content = contentOf(answer);
  if (Array.isArray(content)) {
    const rows = content.filter(isRow);
    // With `view=ids` the response is a list of strings.
    if (rows.length === 0)
      return content.length === 0
        ? '(none)'
        : content.map((item) => onOneLine(cell(item))).join('\n');
    return tableOf(rows, columns).text;
  }
  if (!isRow(content)) return forTerminal(cell(content));
  const table = new Table({ style: STYLE });
  for (const [name, value] of Object.entries(content))
    table.push({ [shorten(name)]: wrapped(cell(value, name)) });
  return table.toString();
}

/**
 * Formats a response as JSON, for people and for `jq`. Control characters that a terminal would
 * obey are escaped.
 */
export function formatJson(answer: unknown): string {
  return escapedJson(JSON.stringify(answer, null, 2));
}

/** Formats a value as JSON on one line. */
export function formatJsonLine(value: unknown): string {
  return escapedJson(JSON.stringify(value));
}

/** Formats one line of a JSON stream the same way. A line that is not JSON is shown as text. */
export function formatStreamLine(line: string): string {
  try {
    return formatJsonLine(JSON.parse(line));
  } catch {
    return onOneLine(line);
  }
}

/** A spreadsheet would run these as a formula. Numbers such as -1 or +49123 are none. */
const FORMULA = /^(?![+-][\d .()/-]+$)[=+\-@]/;

/** The address of an address object; any other value as it is. */
const plainOf = (value: unknown): unknown =>
  isRow(value) && typeof value['email'] === 'string' ? value['email'] : value;

function csvText(value: unknown): string {
  const plain = Array.isArray(value) ? value.map(plainOf) : plainOf(value);
  if (Array.isArray(plain) && !plain.some((item) => typeof item === 'object'))
    return plain.map(String).join('; ');
  return typeof plain === 'object' && plain !== null ? JSON.stringify(plain) : String(plain ?? '');
}

function csvCell(value: unknown): string {
  const plain = csvText(value);
  const safe = FORMULA.test(plain) ? `'${plain}` : plain;
  const text = forTerminal(safe);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One line of CSV (RFC 4180). Values are those of the API: times stay Unix seconds. */
export function csvLine(values: readonly unknown[]): string {
  return values.map(csvCell).join(',');
}

/** How results are printed. */
export const OUTPUT_FORMATS = ['json', 'jsonl', 'csv', 'table'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/**
 * Writes a list page by page, so that a list of any length needs the memory of one page. Each
 * method returns the text to write.
 */
export class PageWriter {
  #rows = 0;
  #widths: number[] | undefined;

  readonly #format: OutputFormat;
  readonly #columns: readonly string[];

  constructor(format: OutputFormat, columns: readonly string[]) {
    this.#format = format;
    this.#columns = columns;
  }

  page(items: readonly unknown[]): string {
    const isFirst = this.#rows === 0;
    this.#rows += items.length;
    switch (this.#format) {
      case 'json':
        return items
          .map((item, index) => `${isFirst && index === 0 ? '[' : ','}\n${indented(item)}`)
          .join('');
      case 'jsonl':
        return items.map((item) => `${formatJsonLine(item)}\n`).join('');
      case 'csv':
        return this.#csv(items, isFirst);
      case 'table':
        return items.length === 0 ? '' : this.#table(items);
    }
  }

  end(): string {
    if (this.#format === 'json') return this.#rows === 0 ? '[]\n' : '\n]\n';
    return this.#format === 'table' && this.#rows === 0 ? '(none)\n' : '';
  }

  #csv(items: readonly unknown[], isFirst: boolean): string {
    const lines = items.map((item) =>
      csvLine(isRow(item) ? this.#columns.map((column) => pick(item, column)) : [item]),
    );
    if (isFirst && items.every(isRow)) lines.unshift(csvLine(this.#columns));
    return lines.map((line) => `${line}\n`).join('');
  }

  /** One table for each page, all with the widths of the first. */
  #table(items: readonly unknown[]): string {
    const rows = items.filter(isRow);
    if (rows.length === 0) return `${formatTable(items, this.#columns)}\n`;
    const { text, widths } = tableOf(rows, this.#columns, this.#widths);
    this.#widths ??= widths;
    return `${text}\n`;
  }
}

const indented = (item: unknown): string =>
  formatJson(item)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

/** Formats a whole response, with a line break at its end. */
export function formatAnswer(
  answer: unknown,
  format: OutputFormat,
  columns: readonly string[],
): string {
  if (format === 'json') return `${formatJson(answer)}\n`;
  if (format === 'table') return `${formatTable(answer, columns)}\n`;
  const content = contentOf(answer);
  const writer = new PageWriter(format, columns);
  const items = Array.isArray(content) ? content : [content];
  return `${writer.page(items)}${writer.end()}`;
}
