import { DemoFailure, type Report } from './report.ts';
import type { DemoServer } from './server.ts';

/** Who calls, and with which header. */
export interface Caller {
  name: string;
  authorization?: string;
}

/** Answer of the server. */
export interface Answer {
  status: number;
  /** Parsed JSON; undefined for an empty body. */
  body: Json;
}

/** JSON as it comes, read with the helpers below. */
export type Json = unknown;

export interface CallOptions {
  body?: object;
  /** What of the answer is worth reading; default all of it. */
  show?: (body: Json) => unknown;
  /** Neither request nor answer is printed: for polls. */
  silent?: boolean;
}

const MOST_TRIES = 40;

/** Member of an object, or undefined. Steps name what they expect, and verify it. */
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

/** @throws {DemoFailure} unless it is a text that is not empty */
export function text(value: Json, ...names: readonly (string | number)[]): string {
  const found = field(value, ...names);
  if (typeof found !== 'string' || found === '')
    throw new DemoFailure(`${names.join('../demo')} is missing in ${JSON.stringify(value)}`);
  return found;
}

/** Items of a list. @throws {DemoFailure} unless it is one */
export function items(value: Json): Json[] {
  if (!Array.isArray(value)) throw new DemoFailure(`not a list: ${JSON.stringify(value)}`);
  return value;
}

/** Members of an object by name. */
export function only(...names: readonly string[]): (value: Json) => Record<string, Json> {
  return (value) => Object.fromEntries(names.map((name) => [name, field(value, name)]));
}

/** Real HTTP to the server, told to the reader. */
export class ApiClient {
  readonly #server: DemoServer;
  readonly #report: Report;

  constructor(server: DemoServer, report: Report) {
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
        throw new DemoFailure(`${method} ${path} did not answer JSON: ${content.slice(0, 200)}`);
      }
    }
    const shown = status < 300 && parsed !== undefined ? show(parsed) : parsed;
    if (!silent) this.#report.received(String(status), shown);
    return { status, body: parsed };
  }

  /**
   * A server that has been killed is back in a moment, and the request is made again. When it died after it had
   * accepted one, that is accepted twice: so it is with every client that cannot know.
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
          throw new DemoFailure(
            `${method} ${path}: the connection was lost (${code ?? String(error)})`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }
}

/** Header of an access token. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

/** Header of a pair of user name and password. */
export function basic(user: string, password = ''): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
