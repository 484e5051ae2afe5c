/* What the groups of the `api` command are made of. Templates hold `{id}` and `{token_id}` (the positional arguments) and `{client_id}` (from the settings). */

/** Whose credentials a group needs. */
export type Credentials = 'access token' | 'client secret' | 'client id and secret';

/** One method of a group. */
export interface Action {
  verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** Whether an id has to, may or cannot follow. With `optional` the path without it is the list. */
  id?: 'required' | 'optional';
  /** Whether the id of one of its tokens has to follow the id. */
  tokenId?: boolean;
  body?: boolean;
  /** Sends files of this machine, named by their paths; or writes bytes, to the path behind the id. */
  transfer?: 'upload' | 'download';
  summary: string;
  /** Whether the server takes its time to answer, half an hour and more. */
  patient?: boolean;
  /** Whether the answer is lines that are to be shown as they come; empty ones are none. */
  lines?: boolean;
  /** Columns of its table, where it answers something else than the group's resource. */
  columns?: readonly string[];
}

/** One group: an endpoint group of the API. */
export interface Group {
  summary: string;
  /** Default: the access token. */
  credentials?: Credentials;
  /** Columns of `--output=table`; dots go into objects. */
  columns: readonly string[];
  actions: Readonly<Record<string, Action>>;
}

type Request = `${Action['verb']} ${string}`;

/** A method by its verb and path; ids that the path has are required. */
export function call(request: Request, summary: string, more: Partial<Action> = {}): Action {
  const [verb, path] = request.split(' ', 2) as [Action['verb'], string];
  const ids = {
    id: path.includes('{id}') ? ('required' as const) : undefined,
    tokenId: path.includes('{token_id}'),
  };
  return { verb, path, summary, ...ids, ...more };
}
/** Reads all, or one by its id. */
export const list = (path: string, what: string): Action =>
  call(`GET ${path}`, `List ${what}, or read one by its id`, { id: 'optional' });
/** Creates one from the body. */
export const create = (path: string, what: string): Action =>
  call(`POST ${path}`, `Create ${what}`, { body: true });
/** Changes the one with the id. */
export const change = (verb: 'PUT' | 'PATCH', path: string, what: string): Action =>
  call(`${verb} ${path}/{id}`, `Change ${what}`, { body: true });
/** Deletes the one with the id. */
export const remove = (path: string, what: string): Action =>
  call(`DELETE ${path}/{id}`, `Delete ${what}`);
