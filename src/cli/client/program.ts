import { Command, Option } from 'commander';
import { addCompletion, type Candidate } from '../terminal/completion.ts';
import { OUTPUT_FORMATS } from '../terminal/output.ts';
import { ownVersion } from '../terminal/version.ts';
import { addConnect } from './connect.ts';
import { ApiDocument } from './document.ts';
import type { Action, Group } from './groups/group.ts';
import { GROUPS } from './groups/groups.ts';
import { addListen } from './listen.ts';
import { methodHelp } from './help.ts';
import { type Flags, type Invocation, invoke } from './invoke.ts';
import { addProfiles } from './login.ts';

/** Arguments after the id. */
const PATHS = { upload: '<path …> ', download: '[path] ', none: '' } as const;

/** The methods, by their commands; for help and completion. */
const actions = new WeakMap<Command, Action>();

/** Runs a method, or only checks how it was called. */
type Perform = (invocation: Invocation) => Promise<unknown>;

function addMethod(
  parent: Command,
  [groupName, group]: [string, Group],
  method: string,
  perform: Perform,
): void {
  const action = group.actions[method];
  if (!action) return;
  const placeholder = action.id === 'required' ? '<id>' : '[id]';
  const leaf = parent
    .command(method)
    .description(`${action.summary} (${action.verb} ${action.path})`)
    .usage(
      `${action.id ? `${placeholder} ` : ''}${action.partId ? `<${action.partId}> ` : ''}${PATHS[action.transfer ?? 'none']}[flags] [--filter=value …]`,
    )
    .argument('[words...]')
    .allowUnknownOption()
    .configureHelp({ showGlobalOptions: true, visibleArguments: () => [] })
    .addHelpText('after', () =>
      methodHelp(ApiDocument.read(), `carillon-api ${groupName} ${method}`, action),
    );
  actions.set(leaf, action);
  leaf.action(async (words: string[]) => {
    await perform({ groupName, group, action, words, flags: leaf.optsWithGlobals<Flags>() });
  });
}

function addGroup(program: Command, [name, group]: [string, Group], perform: Perform): void {
  const command = program
    .command(name)
    .description(group.summary)
    .configureHelp({
      subcommandTerm: (method) =>
        [method.name(), /^[<[]id[>\]]( <\w+_id>)?/.exec(method.usage())?.[0]].join(' '),
    });
  for (const method of Object.keys(group.actions))
    addMethod(command, [name, group], method, perform);
}

function addOptions(program: Command): void {
  program
    .option('--limit <n>', 'page size')
    .option('--offset <n>', 'number of entries to skip')
    .option('--all', 'all pages of a list, printed as they arrive; --limit is the page size')
    .option('--body <json>', 'body of the request; default: standard input, if redirected')
    .option(
      '--query <name=value>',
      'filter of a list, repeatable; same as --name=value',
      (pair: string, all: string[] | undefined) => [...(all ?? []), pair],
    )
    .option('--raw', 'messages get <id>: the original message')
    .option(
      '--unchecked',
      'send filters and fields that this version does not know; the server may be newer',
    )
    .addOption(
      new Option('-o, --output <format>', 'format of the response')
        .choices(OUTPUT_FORMATS)
        .default('json'),
    )
    .option('--json', 'print errors as JSON too')
    .option('--display_columns <names>', 'columns of a table or of CSV, separated by commas')
    .option('--profile <name>', 'credentials stored by login (CARILLON_PROFILE)')
    .option('--access_token <token>', 'access token of an account (CARILLON_ACCESS_TOKEN)')
    .option('--client_id <id>', 'client id of the application (CARILLON_CLIENT_ID)')
    .option('--client_secret <secret>', 'client secret of the application (CARILLON_CLIENT_SECRET)')
    .option('--api_url <address>', 'default http://localhost:3000 (CARILLON_API_URL)')
    .option('--integrations_url <address>', 'default: the api_url (CARILLON_INTEGRATIONS_URL)')
    .option('--config_file <path>', 'JSON with these names; default ~/.carillon/config.json');
}

/**
 * @param isJson whether the caller prints errors, as JSON
 * @param perform what the methods do
 */
export function createProgram(isJson: boolean, perform: Perform = invoke): Command {
  const program = new Command('carillon-api')
    .description('Client of Carillon: one command per endpoint group.')
    .usage('<group> <method> [id] [flags]')
    .version(ownVersion(), '--version', 'print the version')
    .showHelpAfterError(
      isJson
        ? false
        : '(carillon-api --help lists the groups, carillon-api <group> --help its methods)',
    )
    .exitOverride()
    .configureOutput({
      writeErr: (text) => void (isJson || process.stderr.write(text)),
    });
  addOptions(program);
  addConnect(program);
  addProfiles(program);
  addCompletion(program, (text) => void process.stdout.write(text));
  for (const named of Object.entries(GROUPS)) addGroup(program, named, perform);
  const webhooks = program.commands.find((command) => command.name() === 'webhooks');
  if (webhooks) addListen(webhooks);
  return program;
}

/** Filters of a method, for completion. */
export function filterCandidates(command: Command): Candidate[] {
  const action = actions.get(command);
  if (!action) return [];
  const document = ApiDocument.read();
  return document
    .filters(document.operationOf(action))
    .filter(({ name }) => name !== 'limit' && name !== 'offset')
    .map(({ name, description, schema }) => ({
      word: `--${name}=`,
      description: description ?? schema?.description,
    }));
}
