import { escapedJson, forTerminal, onOneLine } from '../../platform/base/text/plain-text.ts';
import { isRow, pick } from './cells.ts';
import { contentOf, formatTable, tableOf, type TableRoom } from './table.ts';

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
  readonly #room: TableRoom;

  constructor(format: OutputFormat, columns: readonly string[], room: TableRoom = {}) {
    this.#format = format;
    this.#columns = columns;
    this.#room = room;
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
    if (rows.length === 0) return `${formatTable(items, this.#columns, this.#room)}\n`;
    const { text, widths } = tableOf(rows, this.#columns, { ...this.#room, before: this.#widths });
    this.#widths = widths;
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
  room: TableRoom = {},
): string {
  if (format === 'json') return `${formatJson(answer)}\n`;
  if (format === 'table') return `${formatTable(answer, columns, room)}\n`;
  const content = contentOf(answer);
  const writer = new PageWriter(format, columns, room);
  const items = Array.isArray(content) ? content : [content];
  return `${writer.page(items)}${writer.end()}`;
}
