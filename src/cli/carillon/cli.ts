import os from 'node:os';
import type { INestApplicationContext, Type } from '@nestjs/common';
import type { Command } from 'commander';
import { withProgress } from '../../platform/base/progress.ts';
import type { Actor } from '../../platform/audit/actor.ts';
import { formatJson, formatTable } from '../terminal/output.ts';
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
  /** Whether results are printed as JSON (`--json`). Known when an action runs. */
  json = false;
  readonly environment: OperatorIo['environment'];
  readonly #io: OperatorIo;

  constructor(io: OperatorIo) {
    this.#io = io;
    this.environment = io.environment;
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
   * Shows progress on standard error while `work` runs; with `--json` none.
   * @param text the first step
   */
  withProgress<T>(text: string, work: (update: (text: string) => void) => Promise<T>): Promise<T> {
    const { write, isTTY } = this.#io;
    return withProgress(text, work, this.json ? null : { write, isTTY });
  }

  /**
   * Prints one result.
   * @param value what `--json` prints; names in snake_case
   * @param text what is printed otherwise
   */
  print(value: unknown, text: string | (() => string)): void {
    const shown = typeof text === 'string' ? text : text();
    this.#io.print(this.json ? formatJson(value) : shown);
  }

  /**
   * Prints a list: with `--json` all fields, otherwise a table.
   * @param rows names in camelCase or snake_case
   * @param columns of the table, in snake_case
   * @param note a line after the table
   */
  printRows(rows: readonly object[], columns: readonly string[], note?: string): void {
    const shown = rows.map(readable);
    this.print(shown, () => {
      const table = formatTable(shown, columns);
      return note === undefined ? table : `${table}\n${note}`;
    });
  }

  /** Prints one object: with `--json` all fields, otherwise one line for each field. */
  printObject(object: object, note?: string): void {
    const shown = readable(object);
    this.print(shown, () => {
      const table = formatTable(shown, []);
      return note === undefined ? table : `${table}\n${note}`;
    });
  }
}

/** Adds the commands of a group. `group` already has its name and description. */
export type AddCommands = (group: Command, cli: OperatorCli) => void;
