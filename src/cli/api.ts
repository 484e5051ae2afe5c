#!/usr/bin/env node
import { Command, Option } from 'commander';
import { forTerminal } from '../platform/base/text/plain-text.ts';
import { assertKnown } from './api-document.ts';
import { ApiCommandError } from './api-error.ts';
import { readArguments, readBody, readQuery } from './api-input.ts';
import { formatJson, formatJsonLine, formatTable } from './api-output.ts';
import { type ApiRequest, callApi, downloadFile, uploadFiles } from './api-request.ts';
import { readSettings } from './api-settings.ts';
import type { Action, Group } from './api-group.ts';
import { GROUPS } from './groups.ts';

interface Flags {
  limit?: string;
  offset?: string;
  body?: string;
  query?: string[];
  raw?: boolean;
  unchecked?: boolean;
  output: 'json' | 'table';
  display_columns?: string;
}

function assertKnownRequest({ action, id, query, body }: ApiRequest): void {
  const { verb, path } = action;
  // With an optional id, the path is that of the list.
  const isOne = id !== undefined && !path.includes('{id}');
  assertKnown({
    verb,
    path: isOne ? `${path}/{id}` : path,
    query: query.map(([name]) => name),
    ...(body === undefined ? {} : { body }),
  });
}

async function run(
  name: string,
  group: Group,
  action: Action,
  words: readonly string[],
  flags: Flags,
): Promise<string> {
  const { id, tokenId, paths, filters } = readArguments(words, action);
  if (action.id === 'required' && !id)
    throw new ApiCommandError('This method needs an id: api <group> <method> <id>');
  if (action.tokenId && !tokenId)
    throw new ApiCommandError(
      'This method also needs the id of a token: api <group> <method> <id> <token_id>',
    );
  if (!action.id && id) throw new ApiCommandError(`This method takes no id (${id})`);
  if (flags.raw && (name !== 'messages' || !id))
    throw new ApiCommandError('--raw is only for: api messages get <id>');
  const paging = (['limit', 'offset'] as const).flatMap((key): [string, string][] =>
    flags[key] === undefined ? [] : [[key, flags[key]]],
  );
  const request: ApiRequest = {
    action,
    credentials: group.credentials ?? 'access token',
    id,
    tokenId,
    query: [...paging, ...readQuery(flags.query ?? []), ...filters],
    body: action.body ? await readBody(flags.body) : undefined,
    raw: flags.raw,
    onLine: action.lines ? (line) => process.stdout.write(`${formatJsonLine(line)}\n`) : undefined,
  };
  if (flags.body !== undefined && !action.body)
    throw new ApiCommandError('This method takes no body');
  if (!flags.unchecked) assertKnownRequest(request);
  const settings = readSettings({ ...flags }, process.env);
  if (action.transfer === 'download') {
    await downloadFile(request, settings, paths[0] ?? '-');
    return '';
  }
  if (action.transfer === 'upload' && paths.length === 0)
    throw new ApiCommandError('This method needs the path of a file: api files upload <path>');
  const answer =
    action.transfer === 'upload'
      ? await uploadFiles(request, settings, paths)
      : await callApi(request, settings);
  // A raw message: unchanged for a file or a program, without control characters for a terminal.
  if ('text' in answer) return process.stdout.isTTY ? forTerminal(answer.text) : answer.text;
  const columns =
    flags.display_columns?.split(',').map((column) => column.trim()) ??
    action.columns ??
    group.columns;
  return `${flags.output === 'table' ? formatTable(answer.json, columns) : formatJson(answer.json)}\n`;
}

/** Arguments after the id. */
const PATHS = { upload: '<path …> ', download: '[path] ', none: '' } as const;

function addGroup(program: Command, name: string, group: Group): void {
  const command = program
    .command(name)
    .description(group.summary)
    .configureHelp({
      subcommandTerm: (method) =>
        [method.name(), /^[<[]id[>\]]( <token_id>)?/.exec(method.usage())?.[0]].join(' '),
    });
  for (const [method, action] of Object.entries(group.actions)) {
    const placeholder = action.id === 'required' ? '<id>' : '[id]';
    const leaf = command
      .command(method)
      .description(`${action.summary} (${action.verb} ${action.path})`)
      .usage(
        `${action.id ? `${placeholder} ` : ''}${action.tokenId ? '<token_id> ' : ''}${PATHS[action.transfer ?? 'none']}[flags] [--filter=value …]`,
      )
      .argument('[words...]')
      .allowUnknownOption()
      .configureHelp({ showGlobalOptions: true, visibleArguments: () => [] });
    leaf.action(async (words: string[]) => {
      process.stdout.write(await run(name, group, action, words, leaf.optsWithGlobals<Flags>()));
    });
  }
}

function createProgram(): Command {
  const program = new Command('api')
    .description('Client of Carillon: one command per endpoint group.')
    .usage('<group> <method> [id] [flags]')
    .option('--limit <n>', 'page size')
    .option('--offset <n>', 'number of entries to skip')
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
        .choices(['json', 'table'])
        .default('json'),
    )
    .option('--display_columns <names>', 'columns of the table, separated by commas')
    .option('--access_token <token>', 'access token of an account (CARILLON_ACCESS_TOKEN)')
    .option('--client_id <id>', 'client id of the application (CARILLON_CLIENT_ID)')
    .option('--client_secret <secret>', 'client secret of the application (CARILLON_CLIENT_SECRET)')
    .option('--api_url <address>', 'default http://localhost:3000 (CARILLON_API_URL)')
    .option('--integrations_url <address>', 'default: the api_url (CARILLON_INTEGRATIONS_URL)')
    .option('--config_file <path>', 'JSON with these names; default ~/.carillon/config.json')
    .showHelpAfterError('(api --help lists the groups, api <group> --help its methods)');
  for (const [name, group] of Object.entries(GROUPS)) addGroup(program, name, group);
  return program;
}

/**
 * The `api` command. Prints the response on standard output, and errors on standard error with exit
 * code 1.
 */
export async function main(args: readonly string[]): Promise<void> {
  // The reader of a pipe may stop before everything is written (`api … | head`). This is not an
  // error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? 0 : 1),
  );
  try {
    await createProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    const isKnown = error instanceof ApiCommandError;
    const text = isKnown ? `Error: ${error.message}` : String((error as Error).stack);
    process.stderr.write(`${forTerminal(text)}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main(process.argv.slice(2));
