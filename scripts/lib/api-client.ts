import { StepFailure, type Report } from './report.ts';
import type { TemporaryServer } from './temporary-server.ts';

/** Who calls, and with which Authorization header. */
export interface Caller {
  name: string;
  authorization?: string;
}

/** A response of the server. */
export interface Answer {
  status: number;
  /** Parsed JSON, or `undefined` if the body is empty. */
  body: Json;
}

/** Parsed JSON of unknown shape. The helpers below read it. */
export type Json = unknown;

export interface CallOptions {
  body?: object;
  /** Selects the part of the response to print. Default: all of it. */
  show?: (body: Json) => unknown;
  /** Prints neither request nor response. For polling. */
  silent?: boolean;
}

const MOST_TRIES = 40;

/** A member of an object, or `undefined`. Steps verify the values that they expect. */
export function field(value: Json, ...names: readonly (string | number)[]): Json {
  let current = value;
  for (const name of names) {
    current =
      typeof current === 'object' && current !== null
        ? (current as Record<string, Json>)[name]
        : undefined;
  }
  return current;
}

/**
 * A member of an object as text.
 * @throws {StepFailure} if the member is not a string or is empty
 */
export function text(value: Json, ...names: readonly (string | number)[]): string {
  const found = field(value, ...names);
  if (typeof found !== 'string' || found === '')
    throw new StepFailure(`${names.join('.')} is missing in ${JSON.stringify(value)}`);
  return found;
}

/**
 * Items of a list.
 * @throws {StepFailure} if the value is not a list
 */
export function items(value: Json): Json[] {
  if (!Array.isArray(value)) throw new StepFailure(`expected a list, got ${JSON.stringify(value)}`);
  return value;
}

/** Returns a function that picks these members of an object. */
export function only(...names: readonly string[]): (value: Json) => Record<string, Json> {
  return (value) => Object.fromEntries(names.map((name) => [name, field(value, name)]));
}

/** Sends HTTP requests to the server and prints them with their responses. */
export class ApiClient {
  readonly #server: TemporaryServer;
  readonly #report: Report;

  constructor(server: TemporaryServer, report: Report) {
    this.#server = server;
    this.#report = report;
  }

  async call(
    caller: Caller,
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<Answer> {
    const { body, show = (all: Json) => all, silent = false } = options;
    if (!silent) this.#report.sent(`${method} ${path}   as ${caller.name}`, body);
    const { status, text: content } = await this.#send(caller, method, path, body);
    let parsed: Json;
    if (content !== '') {
      try {
        parsed = JSON.parse(content);
      } catch {
        throw new StepFailure(`${method} ${path} did not return JSON: ${content.slice(0, 200)}`);
      }
    }
    const shown = status < 300 && parsed !== undefined ? show(parsed) : parsed;
    if (!silent) this.#report.received(String(status), shown);
    return { status, body: parsed };
  }

  /**
   * Repeats the request when a killed server is back. A request that the server had accepted before
   * it died is then accepted twice, as with any client that never saw the response.
   */
  async #send(
    caller: Caller,
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; text: string }> {
    for (let tries = 1; ; tries += 1) {
      await this.#server.ready();
      try {
        const response = await fetch(`${this.#server.url}${path}`, {
          method,
          headers: {
            ...(caller.authorization ? { authorization: caller.authorization } : {}),
            ...(body ? { 'content-type': 'application/json' } : {}),
          },
          body: body && JSON.stringify(body),
          signal: AbortSignal.timeout(30_000),
        });
        return { status: response.status, text: await response.text() };
      } catch (error) {
        if (tries === MOST_TRIES) {
          const { code } = ((error as Error).cause ?? {}) as { code?: string };
          throw new StepFailure(
            `${method} ${path}: the connection was lost (${code ?? String(error)})`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }
}

/** Authorization header for an access token. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

/** Authorization header for a user name and a password. */
export function basic(user: string, password = ''): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
