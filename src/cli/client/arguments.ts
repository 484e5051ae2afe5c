import fs from 'node:fs';
import { text } from 'node:stream/consumers';
import { ApiCommandError } from './error.ts';
import type { Action } from './groups/group.ts';

/**
 * Whether standard input can contain a body. A file and a pipe can; a terminal and /dev/null
 * cannot.
 */
function hasInput(): boolean {
  try {
    const input = fs.fstatSync(0);
    return input.isFile() || input.isFIFO() || input.isSocket();
  } catch {
    return false; // standard input is closed
  }
}

/**
 * The body of a request: `--body`, else standard input if it is redirected or piped, else none.
 * @returns JSON text
 * @throws {ApiCommandError} if the body is not JSON
 */
export async function readBody(flag: string | undefined): Promise<string | undefined> {
  const body = flag ?? (hasInput() ? await text(process.stdin) : '');
  if (body.trim() === '') return undefined;
  try {
    JSON.parse(body);
  } catch (error) {
    throw new ApiCommandError(`The body is not valid JSON: ${(error as Error).message}`);
  }
  return body;
}

const FILTER = /^--([a-z][a-z0-9_]*)=(.*)$/s;

/**
 * Parses the words after the method: ids, and filters that the command itself does not define. At
 * most one id is allowed, unless the method needs the id of a part too, such as a token.
 * @param action `transfer` also allows paths: after the id for a download, or only paths for an
 *   upload
 */
export function readArguments(
  words: readonly string[],
  { transfer, partId }: Pick<Action, 'transfer' | 'partId'> = {},
): { id?: string; partId?: string; paths: string[]; filters: [string, string][] } {
  const filters: [string, string][] = [];
  const ids: string[] = [];
  for (const word of words) {
    const filter = FILTER.exec(word);
    if (filter) filters.push([filter[1] ?? '', filter[2] ?? '']);
    else if (word.startsWith('-') && word !== '-')
      throw new ApiCommandError(`Unknown option ${word}; filters are written --name=value`);
    else ids.push(word);
  }
  if (transfer === 'upload') return { paths: ids, filters };
  if (transfer === 'download' && ids.length <= 2)
    return { id: ids[0], paths: ids.slice(1), filters };
  if (partId && ids.length <= 2) return { id: ids[0], partId: ids[1], paths: [], filters };
  if (ids.length > 1)
    throw new ApiCommandError(
      `Only one id is allowed; separate several ids with commas: ${ids.join(',')}`,
    );
  return { id: ids[0], paths: [], filters };
}

/**
 * Parses the `name=value` pairs of a flag that may be repeated.
 * @throws {ApiCommandError} that names the flag
 */
export function readPairs(flag: string, pairs: readonly string[]): [string, string][] {
  return pairs.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new ApiCommandError(`${flag} needs name=value, but got ${pair}`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
}
