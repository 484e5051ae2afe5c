import { Command } from 'commander';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import {
  addCompletion,
  candidatesFor,
  COMPLETE,
  formatCandidates,
} from '../terminal/completion.ts';
import { ownVersion } from '../terminal/version.ts';
import { OperatorCli, type OperatorIo } from './cli.ts';
import { type CommandGroup, GROUPS } from './groups.ts';

/** The group that the arguments name; the options before it take no values. */
function groupOf(args: readonly string[]): CommandGroup | undefined {
  const words = args.filter((word) => !word.startsWith('-'));
  const name = words[0] === 'help' ? words[1] : words[0];
  return GROUPS.find((group) => group.name === name || group.alias === name);
}

async function createProgram(args: readonly string[], io: OperatorIo): Promise<Command> {
  const isJson = args.includes('--json');
  const cli = new OperatorCli(io);
  const program = new Command('carillon')
    .description(
      'Command for the operator of Carillon. Uses the database of DATABASE_URL, else the embedded one of DATA_DIR (.carillon).',
    )
    .version(ownVersion(), '--version', 'print the version')
    .option('--json', 'print results and errors as JSON')
    .showHelpAfterError(isJson ? false : '(more: carillon --help)')
    .exitOverride()
    // With --json the caller prints the error.
    .configureOutput({
      writeOut: (text) => io.print(text.trimEnd()),
      writeErr: (text) => (isJson ? undefined : io.write(forTerminal(text))),
    })
    .hook('preAction', (_, action) => {
      cli.json = action.optsWithGlobals<{ json?: boolean }>().json ?? false;
    });
  const wanted = groupOf(args);
  for (const group of GROUPS) {
    const command = program.command(group.name).description(group.description);
    if (group.alias !== undefined) command.alias(group.alias);
    if (group === wanted) (await group.load()).add(command, cli);
  }
  addCompletion(program, (text) => io.print(text.trimEnd()));
  return program;
}

/**
 * Runs one command.
 * @param args arguments without the program name
 * @throws {CommanderError} if the command line is wrong, and for `--help`; commander has already
 *   printed the message, except with `--json`
 */
export async function run(args: readonly string[], io: OperatorIo): Promise<void> {
  if (args[0] === COMPLETE) {
    const line = args[1] ?? '';
    const program = await createProgram(line.trim().split(/\s+/).slice(1), io);
    io.print(formatCandidates(candidatesFor(program, line)).trimEnd());
    return;
  }
  const program = await createProgram(args, io);
  await program.parseAsync(args, { from: 'user' });
}
