import { Command, Option } from 'commander';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import {
  addCompletion,
  candidatesFor,
  COMPLETE,
  formatCandidates,
} from '../terminal/completion.ts';
import { OUTPUT_FORMATS } from '../terminal/output.ts';
import { ownVersion } from '../terminal/version.ts';
import { OperatorCli, type OperatorIo, type OutputFlags } from './cli.ts';
import { type CommandGroup, GROUPS } from './groups.ts';

/** Whether an argument names the group. A value of an option may do so too, which does no harm. */
const isNamed = ({ name, alias }: CommandGroup, args: readonly string[]): boolean =>
  args.includes(name) || (alias !== undefined && args.includes(alias));

/** After an error, each command says how to get its own help. */
function showOwnHelp(command: Command, line: string): void {
  command.showHelpAfterError(`(more: ${line} --help)`);
  for (const inner of command.commands) showOwnHelp(inner, `${line} ${inner.name()}`);
}

function addOptions(program: Command): void {
  program
    .addOption(
      new Option('-o, --output <format>', 'format of the result; default: table').choices(
        OUTPUT_FORMATS,
      ),
    )
    .option('--json', 'print the result as JSON, and errors too')
    .option('--display_columns <names>', 'columns of a table or of CSV, separated by commas');
}

/** @param args arguments without the program name; only the groups that they name are loaded */
export async function createProgram(args: readonly string[], io: OperatorIo): Promise<Command> {
  const isJson = args.includes('--json');
  const cli = new OperatorCli(io);
  const program = new Command('carillon')
    .description(
      'Command for the operator of Carillon. Uses the database of DATABASE_URL, else the embedded one of DATA_DIR (.carillon).',
    )
    .version(ownVersion(), '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    // With --json the caller prints the error.
    .configureOutput({
      writeOut: (text) => io.print(text.trimEnd()),
      writeErr: (text) => (isJson ? undefined : io.write(forTerminal(text))),
    })
    .hook('preAction', (_, action) => cli.configure(action.optsWithGlobals<OutputFlags>()));
  addOptions(program);
  for (const group of GROUPS) {
    const command = program.command(group.name).description(group.description);
    if (group.alias !== undefined) command.alias(group.alias);
    if (isNamed(group, args)) (await group.load()).add(command, cli);
  }
  addCompletion(program, (text) => io.print(text.trimEnd()));
  if (!isJson) showOwnHelp(program, program.name());
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
