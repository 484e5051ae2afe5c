import { candidatesFor, COMPLETE, formatCandidates } from '../terminal/completion.ts';
import { allowClosedPipes, reportFailure } from '../terminal/report.ts';
import { failureOf } from './error.ts';
import { createProgram, filterCandidates } from './program.ts';

/**
 * The `carillon-api` command. Prints the response on standard output, and errors on standard error
 * with an exit code by the kind of error.
 */
export async function main(args: readonly string[]): Promise<void> {
  allowClosedPipes();
  const isJson = args.includes('--json');
  const program = createProgram(isJson);
  if (args[0] === COMPLETE) {
    const candidates = candidatesFor(program, args[1] ?? '', filterCandidates);
    process.stdout.write(formatCandidates(candidates));
    return;
  }
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = reportFailure(error, isJson, failureOf);
  }
}
