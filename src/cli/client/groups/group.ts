/*
 * Building blocks for the groups of `carillon-api`. Path templates contain `{id}`, the id of a
 * part such as `{token_id}` (the positional arguments) and `{client_id}` (from the settings).
 */

/** The credentials that a group needs. */
export type Credentials = 'access token' | 'client secret' | 'client id and secret';

/** One method of a group. */
export interface Action {
  verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /**
   * Whether an id is required or optional; absent if the method takes none. With `optional`, the
   * path without an id is the list.
   */
  id?: 'required' | 'optional';
  /** Name of a second id that must follow the id, such as `token_id`; absent if there is none. */
  partId?: string;
  body?: boolean;
  /**
   * `upload` sends local files, named by their paths. `download` writes bytes to the path after the
   * id.
   */
  transfer?: 'upload' | 'download';
  summary: string;
  /** Whether the server may take long to respond, half an hour and more. */
  patient?: boolean;
  /** Whether the response consists of lines to print as they arrive. Empty lines are skipped. */
  lines?: boolean;
  /** Columns of the table, if the response is not the group's resource. */
  columns?: readonly string[];
}

/** A group of the command: one endpoint group of the API. */
export interface Group {
  summary: string;
  /** Default: the access token. */
  credentials?: Credentials;
  /** Columns of `--output=table`. Dots select fields of objects. */
  columns: readonly string[];
  actions: Readonly<Record<string, Action>>;
}

type Request = `${Action['verb']} ${string}`;

/** A method, from its verb and path. Ids in the path are required. */
export function call(request: Request, summary: string, more: Partial<Action> = {}): Action {
  const [verb, path] = request.split(' ', 2) as [Action['verb'], string];
  const ids = {
    id: path.includes('{id}') ? ('required' as const) : undefined,
    partId: /\{((?!client_id)\w+_id)\}/.exec(path)?.[1],
  };
  return { verb, path, summary, ...ids, ...more };
}
/** Reads the list, or one object by its id. */
export const list = (path: string, what: string): Action =>
  call(`GET ${path}`, `List ${what}, or read one by its id`, { id: 'optional' });
/** Creates an object from the body. */
export const create = (path: string, what: string): Action =>
  call(`POST ${path}`, `Create ${what}`, { body: true });
/** Changes the object with the id. */
export const change = (verb: 'PUT' | 'PATCH', path: string, what: string): Action =>
  call(`${verb} ${path}/{id}`, `Change ${what}`, { body: true });
/** Deletes the object with the id. */
export const remove = (path: string, what: string): Action =>
  call(`DELETE ${path}/{id}`, `Delete ${what}`);
