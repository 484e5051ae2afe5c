import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/*
 * No line of a log may hold a secret that a test has used. What is secret is found where it passes: in requests and answers of
 * the application under test, in its environment, and where tests make tokens and keys themselves. `TestApp.close` and the end
 * of a server process look for all of it in everything that was logged.
 */

/** Value → what it is. */
const secrets = new Map<string, string>();
const lines: string[] = [];

/** Shorter values, and plain words, stand in logs for other reasons. */
const LEAST_CHARACTERS = 8;
const PLAIN_WORDS = /^[a-z][a-z -]{0,19}$/i;
/** Statuses of requests whose credentials and fields are none: tests of bad input say the same words elsewhere. */
const REFUSED: readonly number[] = [400, 401];
const MOST_BODY_BYTES = 256 * 1024;

const NAME = '[a-z_]*(?:token|secret|password|api_key|private_key)';
const IN_JSON = new RegExp(`"(${NAME})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)+)"`, 'gi');
const IN_FORM = new RegExp(`(?:^|[?& ])(${NAME})=([^&#"\\s]+)`, 'gi');
/** Codes of sign-in; names of errors are shorter, or have dots. */
const CODES = /(?:"code"\s*:\s*"|[?&]code=)([\w-]{20,})/g;
const LINKS = /\/(connect\/login\?(?:[^"\s]*&)?id=|feeds\/)([\w-]{16,})/g;
const VARIABLES = /TOKEN|SECRET|PASSWORD|KEY|HEADERS/;

/** Marks a value as secret. @param what names it when it is found in a log @returns the value */
export function secret(what: string, value: string): string {
  if (value.length >= LEAST_CHARACTERS && !PLAIN_WORDS.test(value)) secrets.set(value, what);
  return value;
}

/** Where the application under test writes its log: kept, and shown only where `TEST_LOG_LEVEL` asks for it. */
export const watchedLog = {
  write(line: string): void {
    lines.push(line);
    if (process.env['TEST_LOG_LEVEL']) process.stdout.write(line);
  },
};

/** Finds secrets in the variables of a process. */
export function watchEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value = ''] of Object.entries(environment)) {
    if (name === 'ENCRYPTION_KEYS')
      for (const entry of value.split(',')) secret(name, entry.split(':')[1] ?? '');
    else if (VARIABLES.test(name)) secret(name, value);
  }
}

/** Finds secrets in requests to the server and in its answers. */
export function watchTraffic(server: Server): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request;
    const asked = new Collected();
    const emit = request.emit.bind(request);
    // A listener of its own would start the flow before whoever reads the body listens.
    request.emit = (event: string, ...values: unknown[]) => {
      if (event === 'data') asked.add(values[0]);
      return emit(event, ...values);
    };
    const answered = new Collected();
    const write = response.write.bind(response) as (...values: unknown[]) => boolean;
    const end = response.end.bind(response) as (...values: unknown[]) => ServerResponse;
    response.write = (...values: unknown[]) => {
      answered.add(values[0]);
      return write(...values);
    };
    response.end = (...values: unknown[]) => {
      answered.add(values[0]);
      if (!REFUSED.includes(response.statusCode)) {
        readHeaders(request);
        readText(`${url} ${asked.text}`);
      }
      for (const cookie of [response.getHeader('set-cookie') ?? []].flat())
        readCookies(String(cookie));
      readText(`${String(response.getHeader('location') ?? '')} ${answered.text}`);
      return end(...values);
    };
  });
}

/**
 * Fails if a secret stands in the log, or in what a process has written, and forgets both. The message names the line and what
 * the secret is, never the secret.
 */
export function assertNoSecretLogged(output = ''): void {
  const written = [...lines.splice(0), ...output.split('\n')];
  const all = written.join('\n');
  const found = [...secrets].filter(([value]) => formsOf(value).some((form) => all.includes(form)));
  if (found.length === 0) return;
  const told = found.map(([value, what]) => {
    const line = written.find((one) => formsOf(value).some((form) => one.includes(form))) ?? '';
    return `${what} in: ${masked(line).slice(0, 1_000)}`;
  });
  throw new Error(`The log has ${found.length} secrets:\n${[...new Set(told)].join('\n')}`);
}

/** As it is, as JSON, and as a part of an address. */
function formsOf(value: string): string[] {
  return [...new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])];
}

function masked(line: string): string {
  let text = line;
  for (const [value, what] of secrets)
    for (const form of formsOf(value)) text = text.replaceAll(form, `<${what}>`);
  return text;
}

/** The beginning of a body. */
class Collected {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: unknown): void {
    if (
      !(typeof chunk === 'string' || chunk instanceof Uint8Array) ||
      this.#bytes > MOST_BODY_BYTES
    )
      return;
    const bytes = Buffer.from(chunk as string);
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

function readHeaders({ headers }: IncomingMessage): void {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ');
  if (/^bearer$/i.test(scheme)) secret('access token', value);
  if (/^basic$/i.test(scheme)) {
    const [user = '', password = ''] = Buffer.from(value, 'base64').toString().split(':');
    // Of an application the user is the client id, which is public.
    secret('credentials of a request', password || user);
    if (password || user) secret('Authorization header', value);
  }
  readCookies(headers.cookie ?? '', ';');
}

function readCookies(text: string, separator?: string): void {
  const cookies = separator === undefined ? [text.split(';', 1)[0] ?? ''] : text.split(separator);
  for (const cookie of cookies) {
    const value = cookie.slice(cookie.indexOf('=') + 1).trim();
    if (value.length >= 16) secret('cookie', value);
  }
}

function readText(text: string): void {
  for (const [, name = '', value = ''] of text.matchAll(IN_JSON)) secret(name, unquoted(value));
  for (const [, name = '', value = ''] of text.matchAll(IN_FORM)) secret(name, decoded(value));
  for (const [, value = ''] of text.matchAll(CODES)) secret('code', value);
  for (const [, kind = '', value = ''] of text.matchAll(LINKS)) secret(`link ${kind}`, value);
}

function unquoted(value: string): string {
  try {
    return JSON.parse(`"${value}"`) as string;
  } catch {
    return value; // cut off, or no JSON
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value; // a test of wrong encodings
  }
}
