import { CommanderError } from 'commander';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import { formatJson } from '../api-output.ts';
import { EXIT_CODES, failureOf } from './exit-codes.ts';
import { run } from './program.ts';

/** Prints a failure on standard error. @returns the exit code */
function report(error: unknown, isJson: boolean): number {
  const isCommandLine = error instanceof CommanderError;
  if (isCommandLine && error.exitCode === 0) return 0; // --help and --version
  const { kind, message } = failureOf(error);
  const text = isJson ? formatJson({ error: { kind, message } }) : forTerminal(message);
  // Commander has already printed its errors as text.
  if (isJson || !isCommandLine) process.stderr.write(`${text}\n`);
  return EXIT_CODES[kind];
}

/**
 * Runs a command of `carillon` in this process, and ends the process if it fails. Prints results on
 * standard output and errors on standard error.
 * @param args arguments without the program name
 */
export async function main(args: readonly string[]): Promise<void> {
  // The reader of a pipe may stop before everything is written (`carillon … | head`).
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? 0 : EXIT_CODES.unexpected),
  );
  try {
    await run(args, {
      environment: process.env,
      print: (text) => void process.stdout.write(`${forTerminal(text)}\n`),
      write: (text) => void process.stderr.write(forTerminal(text)),
    });
  } catch (error) {
    process.exit(report(error, args.includes('--json')));
  }
}
