/*
 * The few parts of Nest that services use, without the rest of it. `@nestjs/common` has 400 files,
 * half of them of rxjs, and takes 0.1 s to load. Import from here what a command of `carillon` also
 * uses (docs/adr/0093).
 */
import 'reflect-metadata';
import { forTerminal } from '../base/text/plain-text.ts';

export { Injectable } from '@nestjs/common/decorators/core/injectable.decorator.js';

/** What `Logger` writes to. */
interface LineWriter {
  warn(message: unknown, ...more: unknown[]): void;
  error(message: unknown, ...more: unknown[]): void;
}

const textOf = (value: unknown): string => {
  if (value instanceof Error) return value.stack ?? value.message;
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** Standard error, one line for each call: for commands, which have no log. */
function terminalWriter(): LineWriter {
  const write = (...values: unknown[]): void =>
    void process.stderr.write(`${forTerminal(values.map(textOf).join(' '))}\n`);
  return { warn: write, error: write };
}

let writerOf: (context: string) => LineWriter = terminalWriter;

/**
 * Says where log lines go from now on. A server sends them to Nest's logger (`nest-logs.ts`).
 * Default: standard error.
 */
export function writeLogsWith(make: (context: string) => LineWriter): void {
  writerOf = make;
}

/** The warnings and errors of Nest's `Logger`, whose 26 files load only with a server. */
export class Logger {
  readonly #context: string;
  #writer: { of: typeof writerOf; lines: LineWriter } | undefined;

  constructor(context: string) {
    this.#context = context;
  }

  warn(message: unknown, ...more: unknown[]): void {
    this.#lines().warn(message, ...more);
  }

  error(message: unknown, ...more: unknown[]): void {
    this.#lines().error(message, ...more);
  }

  #lines(): LineWriter {
    if (this.#writer?.of !== writerOf)
      this.#writer = { of: writerOf, lines: writerOf(this.#context) };
    return this.#writer.lines;
  }
}
