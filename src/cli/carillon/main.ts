import { once } from 'node:events';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import { allowClosedPipes, reportFailure } from '../terminal/report.ts';
import { terminalRoom } from '../terminal/table.ts';
import { failureOf } from './exit-codes.ts';
import { run } from './program.ts';

/**
 * Runs a command of `carillon` in this process, and ends the process if it fails. Prints results on
 * standard output and errors on standard error.
 * @param args arguments without the program name
 */
export async function main(args: readonly string[]): Promise<void> {
  allowClosedPipes();
  try {
    await run(args, {
      environment: process.env,
      print: (text) => void process.stdout.write(`${forTerminal(text)}\n`),
      write: (text) => void process.stderr.write(text),
      isTTY: process.stderr.isTTY,
      async drained() {
        if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
      },
      room: terminalRoom(),
    });
  } catch (error) {
    process.exit(reportFailure(error, args.includes('--json'), failureOf));
  }
}
