import { once } from 'node:events';
import { withProgress } from '../../platform/base/progress.ts';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import {
  formatAnswer,
  formatStreamLine,
  type OutputFormat,
  PageWriter,
} from '../terminal/output.ts';
import { contentOf, terminalRoom } from '../terminal/table.ts';
import { readArguments, readBody, readPairs } from './arguments.ts';
import { assertKnown } from './check.ts';
import { ApiDocument } from './document.ts';
import { ApiCommandError } from './error.ts';
import type { Action, Group } from './groups/group.ts';
import { type ApiRequest, callApi, downloadFile, uploadFiles } from './request.ts';
import { type ApiSettings, readSettings } from './settings.ts';

/** Flags that every method has. */
export interface Flags {
  limit?: string;
  offset?: string;
  all?: boolean;
  body?: string;
  query?: string[];
  raw?: boolean;
  unchecked?: boolean;
  output: OutputFormat;
  display_columns?: string;
}

/** A method, as it was called. */
export interface Invocation {
  groupName: string;
  group: Group;
  action: Action;
  /** Words after the method. */
  words: readonly string[];
  flags: Flags;
}

/** Entries in a page of `--all` without `--limit`. */
const PAGE_SIZE = 100;

async function write(text: string): Promise<void> {
  if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain');
}

function assertKnownRequest({ action, id, query, body }: ApiRequest, document: ApiDocument): void {
  const { verb, path } = action;
  // With an optional id, the path is that of the list.
  const isOne = id !== undefined && !path.includes('{id}');
  assertKnown(
    {
      verb,
      path: isOne ? `${path}/{id}` : path,
      query: query.map(([name]) => name),
      ...(body === undefined ? {} : { body }),
    },
    document,
  );
}

/** Refuses words and flags that the method does not take. */
function checkWords(
  { groupName, action, flags }: Invocation,
  { id, partId, paths }: ReturnType<typeof readArguments>,
): void {
  if (action.id === 'required' && !id)
    throw new ApiCommandError('This method needs an id: carillon-api <group> <method> <id>');
  if (action.partId && !partId)
    throw new ApiCommandError(
      `This method also needs the ${action.partId}: carillon-api <group> <method> <id> <${action.partId}>`,
    );
  if (!action.id && id) throw new ApiCommandError(`This method takes no id (${id})`);
  if (flags.raw && (groupName !== 'messages' || !id))
    throw new ApiCommandError('--raw is only for: carillon-api messages get <id>');
  if (flags.body !== undefined && !action.body)
    throw new ApiCommandError('This method takes no body');
  if (action.transfer === 'upload' && paths.length === 0)
    throw new ApiCommandError(
      'This method needs the path of a file: carillon-api files upload <path>',
    );
}

/** Whether the method is a list with pages. */
function hasPages(document: ApiDocument, { action, id }: ApiRequest): boolean {
  const names = document.filters(document.operationOf(action)).map(({ name }) => name);
  const isList = action.verb === 'GET' && id === undefined;
  return isList && names.includes('limit') && names.includes('offset');
}

/** The page that `--all` begins with. */
function firstPage({ limit, offset }: Flags): { size: number; position: number } {
  const size = limit === undefined ? PAGE_SIZE : Number(limit);
  const position = Number(offset ?? 0);
  if (Number.isInteger(size) && size > 0 && Number.isInteger(position) && position >= 0)
    return { size, position };
  throw new ApiCommandError('With --all, --limit must be a positive number and --offset a number');
}

/** Reads a list page by page and writes each page as it arrives. */
async function writeAll(
  request: ApiRequest,
  settings: ApiSettings,
  flags: Flags,
  columns: readonly string[],
  update: (text: string) => void,
): Promise<void> {
  const { size, position: begin } = firstPage(flags);
  let position = begin;
  const filters = request.query.filter(([name]) => name !== 'limit' && name !== 'offset');
  const writer = new PageWriter(flags.output, columns, terminalRoom());
  for (;;) {
    const page: [string, string][] = [
      ['limit', String(size)],
      ['offset', String(position)],
    ];
    const answer = await callApi({ ...request, query: [...filters, ...page] }, settings);
    const items = 'json' in answer ? contentOf(answer.json) : [];
    // With `view=count` the response is no list.
    if (!Array.isArray(items))
      return write(formatAnswer(items, flags.output, columns, terminalRoom()));
    await write(writer.page(items));
    position += items.length;
    update(`Read to entry ${position}`);
    if (items.length < size) return write(writer.end());
  }
}

async function requestOf(
  { group, action, flags }: Invocation,
  { id, partId, filters }: ReturnType<typeof readArguments>,
): Promise<ApiRequest> {
  const paging = (['limit', 'offset'] as const).flatMap((key): [string, string][] =>
    flags[key] === undefined ? [] : [[key, flags[key]]],
  );
  return {
    action,
    credentials: group.credentials ?? 'access token',
    id,
    partId,
    query: [...paging, ...readPairs('--query', flags.query ?? []), ...filters],
    body: action.body ? await readBody(flags.body) : undefined,
    raw: flags.raw,
    onLine: action.lines
      ? (line) => process.stdout.write(`${formatStreamLine(line)}\n`)
      : undefined,
  };
}

/** The request of a command line, and local paths that it names. */
interface Plan {
  request: ApiRequest;
  paths: string[];
}

/**
 * Reads a command line without calling the server. Reads the body from standard input if the method
 * takes one and the command line has none.
 * @throws {ApiCommandError} for an id, a flag, a filter or a field that the method does not know
 */
export async function planRequest(invocation: Invocation): Promise<Plan> {
  const { action, words, flags } = invocation;
  const given = readArguments(words, action);
  checkWords(invocation, given);
  const request = await requestOf(invocation, given);
  if (!flags.unchecked) assertKnownRequest(request, ApiDocument.read());
  return { request, paths: given.paths };
}

/**
 * Calls a method and writes its response to standard output.
 * @throws {ApiCommandError}
 */
export async function invoke(invocation: Invocation): Promise<void> {
  const { group, action, flags } = invocation;
  const { request, paths } = await planRequest(invocation);
  const settings = readSettings({ ...flags }, process.env);
  const columns =
    flags.display_columns?.split(',').map((column) => column.trim()) ??
    action.columns ??
    group.columns;
  if (flags.all) {
    if (!hasPages(ApiDocument.read(), request))
      throw new ApiCommandError('--all is only for lists with --limit and --offset');
    // Only into a file or a pipe: on a terminal the entries themselves show the progress.
    const shown = process.stderr.isTTY && !process.stdout.isTTY ? process.stderr : null;
    return withProgress(
      'Reading',
      (update) => writeAll(request, settings, flags, columns, update),
      shown,
    );
  }
  if (action.transfer === 'download') return downloadFile(request, settings, paths[0] ?? '-');
  const answer =
    action.transfer === 'upload'
      ? await uploadFiles(request, settings, paths)
      : await callApi(request, settings);
  // A raw message: unchanged for a file or a program, without control characters for a terminal.
  if ('text' in answer) return write(process.stdout.isTTY ? forTerminal(answer.text) : answer.text);
  await write(formatAnswer(answer.json, flags.output, columns, terminalRoom()));
}
