import os from 'node:os';
import type { INestApplicationContext, Type } from '@nestjs/common';
import type { Command } from 'commander';
import { withProgress } from '../../platform/base/progress.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import type { PageOf, TokenPage } from '../../platform/database/page-token.ts';
import { formatAnswer, formatJson, type OutputFormat, PageWriter } from '../terminal/output.ts';
import { formatTable, type TableRoom } from '../terminal/table.ts';
import type { OperatorServices } from './services.ts';

/** Environment and output of the commands. Tests pass their own. */
export interface OperatorIo {
  environment: Readonly<Record<string, string | undefined>>;
  /** Prints one result. The text has no final line break. */
  print(text: string): void;
  /** Writes help and errors of the command line, as commander formats them. */
  write(text: string): void;
  /** Asks for a secret on the terminal, or reads a line from a pipe. */
  askSecret?(question: string): Promise<string>;
  /** Whether `write` writes to a terminal. Default: no. */
  isTTY?: boolean;
  /** Resolves when what was printed has left this process. Default: at once. */
  drained?(): Promise<void>;
  /** Room for tables. Default: no limit. */
  room?: TableRoom;
}

/** Options of every command, which choose how results are printed. */
export interface OutputFlags {
  /** Errors as JSON too. */
  json?: boolean;
  output?: OutputFormat;
  display_columns?: string;
}

/** Options of a list with pages. */
export interface PageFlags {
  limit: number;
  pageToken?: string;
  all?: boolean;
}

/** A list as text: its rows, and the columns of tables and CSV. */
export interface TextList {
  rows: readonly object[];
  columns: readonly string[];
}

/** A row in the names of the API, with times in ISO 8601. */
export const readable = (row: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value instanceof Date ? value.toISOString() : (value as unknown),
    ]),
  );

/** Same as `readable`, nested objects and lists included. */
export function readableWhole(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readableWhole);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const whole = Object.entries(value).map(([name, one]) => [name, readableWhole(one)] as const);
  return readable(Object.fromEntries(whole));
}

function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown'); // a container whose user has no name
  }
}

/**
 * What the commands of `carillon` share: services, output, and who runs them. Services are loaded
 * when a command asks for them, so that help and completion start at once.
 */
export class OperatorCli {
  #format: OutputFormat = 'table';
  /** Columns of `--display_columns`. */
  #chosen: readonly string[] | undefined;
  readonly environment: OperatorIo['environment'];
  readonly #io: OperatorIo;

  constructor(io: OperatorIo) {
    this.#io = io;
    this.environment = io.environment;
  }

  /** Takes the options that choose how results are printed, before an action runs. */
  configure({ json = false, output, display_columns: columns }: OutputFlags): void {
    this.#format = output ?? (json ? 'json' : 'table');
    this.#chosen = columns?.split(',').map((column) => column.trim());
  }

  /** Who is recorded in the audit log for what this command changes. */
  get actor(): Actor {
    return { kind: 'operator', id: null, name: `${userName()}@${os.hostname()}`, address: null };
  }

  /** Asks for a secret on the terminal, or reads a line from a pipe. */
  async askSecret(question: string): Promise<string> {
    if (this.#io.askSecret) return this.#io.askSecret(question);
    const { askSecret } = await import('../terminal/ask.ts');
    return askSecret(question);
  }

  /**
   * Runs `work` with the database and plain services, and closes everything afterwards.
   * @throws {SchemaBehindError}, {DatabaseAccessError}
   */
  async withServices<T>(work: (services: OperatorServices) => Promise<T>): Promise<T> {
    const [{ withServices }, { actingAs }] = await Promise.all([
      import('./services.ts'),
      import('../../platform/audit/current-actor.ts'),
    ]);
    return actingAs(this.actor, () => withServices(this.environment, work));
  }

  /**
   * Runs `work` with Nest's container, which takes a second to load. Only for services that need
   * the ORM or providers.
   * @param more modules that only this command needs
   * @throws {SchemaBehindError}, {DatabaseAccessError}
   */
  async withContainer<T>(
    work: (context: INestApplicationContext) => Promise<T>,
    more: readonly Type[] = [],
  ): Promise<T> {
    const [{ withContainer }, { actingAs }] = await Promise.all([
      import('./container.ts'),
      import('../../platform/audit/current-actor.ts'),
    ]);
    return actingAs(this.actor, () => withContainer(this.environment, work, more));
  }

  /**
   * Shows progress on standard error while `work` runs; none if a program reads the result.
   * @param text the first step
   */
  withProgress<T>(text: string, work: (update: (text: string) => void) => Promise<T>): Promise<T> {
    const { write, isTTY } = this.#io;
    return withProgress(text, work, this.#format === 'table' ? { write, isTTY } : null);
  }

  /** Writes a line for people on standard error. */
  note(text: string): void {
    this.#io.write(`${text}\n`);
  }

  /** A table for `print` that fits the terminal. Without columns, `value` is a single object. */
  table(value: unknown, columns: readonly string[] = []): string {
    return formatTable(value, this.#columns(columns), this.room);
  }

  /** Room for tables. */
  get room(): TableRoom {
    return this.#io.room ?? {};
  }

  /**
   * Prints one result.
   * @param value what JSON shows; names in snake_case. Other formats for programs show it too,
   *   unless there is a list
   * @param text what is printed for people
   * @param list what JSON lines and CSV show
   */
  print(value: unknown, text: string | (() => string), list?: TextList): void {
    if (this.#format === 'table') return this.#io.print(typeof text === 'string' ? text : text());
    if (this.#format === 'json') return this.#io.print(formatJson(value));
    const shown = list ? list.rows.map(readable) : value;
    const columns = list?.columns ?? Object.keys(Object(value) as object);
    this.#printText(formatAnswer(shown, this.#format, this.#columns(columns)));
  }

  /**
   * Prints a list: as JSON all fields, otherwise its columns.
   * @param rows names in camelCase or snake_case
   * @param columns of tables and CSV, in snake_case
   * @param note a line after the table
   */
  printRows(rows: readonly object[], columns: readonly string[], note?: string): void {
    const shown = rows.map(readable);
    const table = (): string => withNote(this.table(shown, columns), note);
    this.print(shown, table, { rows: shown, columns });
  }

  /** Prints one object: all its fields. @param note a line after the table */
  printObject(object: object, note?: string): void {
    const shown = readable(object);
    this.print(shown, () => withNote(this.table(shown), note));
  }

  /**
   * Prints a page of a list, or with `--all` page after page as they arrive.
   * @param columns of tables and CSV, in snake_case
   * @param read reads a page
   * @param asText what tables and CSV show of an item. Default: the item
   */
  async printPages<T extends object>(
    { limit, pageToken, all = false }: PageFlags,
    columns: readonly string[],
    read: (page: TokenPage) => Promise<PageOf<T>>,
    asText: (item: T) => object = (item) => item,
  ): Promise<void> {
    const forPeople = this.#format === 'table' || this.#format === 'csv';
    const rowsOf = ({ items }: PageOf<T>): readonly unknown[] =>
      items.map((item) => readableWhole(forPeople ? asText(item) : item));
    const first = await read({ limit, pageToken });
    if (all)
      return this.#printAll(first, columns, rowsOf, (token) => read({ limit, pageToken: token }));
    if (this.#format === 'json') return this.print(readableWhole(first), '');
    this.#printText(formatAnswer(rowsOf(first), this.#format, this.#columns(columns), this.room));
    if (first.nextPageToken === null) return;
    const more = `More: --page-token ${first.nextPageToken} or --all`;
    if (this.#format === 'table') this.#io.print(more);
    else this.note(more);
  }

  async #printAll<T>(
    first: PageOf<T>,
    columns: readonly string[],
    rowsOf: (page: PageOf<T>) => readonly unknown[],
    read: (pageToken: string) => Promise<PageOf<T>>,
  ): Promise<void> {
    const writer = new PageWriter(this.#format, this.#columns(columns), this.room);
    let text = '';
    let page = first;
    for (;;) {
      text = this.#printLines(text + writer.page(rowsOf(page)));
      await this.#io.drained?.();
      if (page.nextPageToken === null) break;
      page = await read(page.nextPageToken);
    }
    this.#printText(text + writer.end());
  }

  /** Prints the complete lines of a text. @returns the rest, which is continued */
  #printLines(text: string): string {
    const end = text.lastIndexOf('\n');
    if (end >= 0) this.#io.print(text.slice(0, end));
    return text.slice(end + 1);
  }

  #printText(text: string): void {
    if (text !== '') this.#io.print(text.replace(/\n$/, ''));
  }

  #columns(own: readonly string[]): readonly string[] {
    return this.#chosen ?? own;
  }
}

const withNote = (table: string, note: string | undefined): string =>
  note === undefined ? table : `${table}\n${note}`;

/** Adds the commands of a group. `group` already has its name and description. */
export type AddCommands = (group: Command, cli: OperatorCli) => void;
