import { CommanderError } from 'commander';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import { EXIT_CODES, type Failure } from './exit-codes.ts';
import { formatJson } from './output.ts';

/**
 * Prints an error of a command on standard error, as text or as JSON.
 * @param failureOf classifies errors that are not about the command line
 * @returns the exit code; 0 for `--help` and `--version`
 */
export function reportFailure(
  error: unknown,
  isJson: boolean,
  failureOf: (error: unknown) => Failure,
): number {
  const isCommandLine = error instanceof CommanderError;
  if (isCommandLine && error.exitCode === 0) return 0;
  const { kind, message }: Failure = isCommandLine
    ? { kind: 'usage', message: error.message.replace(/^error: /, '') }
    : failureOf(error);
  // Commander has already printed its errors as text.
  if (isJson) process.stderr.write(`${formatJson({ error: { kind, message } })}\n`);
  else if (!isCommandLine) process.stderr.write(`${forTerminal(`Error: ${message}`)}\n`);
  return EXIT_CODES[kind];
}

/**
 * Ends the process quietly when the reader of a pipe stops before everything is written (`… |
 * head`).
 */
export function allowClosedPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? 0 : EXIT_CODES.unexpected),
  );
}
