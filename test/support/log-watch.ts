import { isId } from '../../src/platform/base/ids/ids.ts';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { HOSTILE_TEXTS } from './hostile.ts';

/*
 * No log line may contain a secret that a test has used. Secrets are collected from the requests
 * and responses of the application under test, from its environment, and from tests that make
 * tokens and keys. `TestApp.close` and the end of a server process search everything that was
 * logged for these secrets.
 */

/** Maps each secret value to what it is. */
const secrets = new Map<string, string>();
const lines: string[] = [];

/** Shorter values and plain words appear in logs for other reasons. */
const LEAST_CHARACTERS = 8;
const PLAIN_WORDS = /^[a-z][a-z -]{0,19}$/i;
/** Tests of long input repeat one character; other tests of the same run may log it. */
const ONE_CHARACTER = /^(.)\1*$/;
/**
 * Requests with these response statuses hold no real secrets. Tests of bad input use the same words
 * elsewhere.
 */
const REFUSED: readonly number[] = [400, 401];
const MOST_BODY_BYTES = 256 * 1024;

const NAME = '[a-z_]*(?:token|secret|password|api_key|private_key)';
const IN_JSON = new RegExp(`"(${NAME})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)+)"`, 'gi');
const IN_FORM = new RegExp(`(?:^|[?& ])(${NAME})=([^&#"\\s]+)`, 'gi');
/** Sign-in codes. Names of errors are shorter, or contain dots. */
const CODES = /(?:"code"\s*:\s*"|[?&]code=)([\w-]{20,})/g;
const LINKS = /\/(connect\/login\?(?:[^"\s]*&)?id=|feeds\/)([\w-]{16,})/g;
const VARIABLES = /TOKEN|SECRET|PASSWORD|KEY|HEADERS/;

/**
 * Marks a value as secret.
 * @param what names the value if it is found in a log
 * @returns the value
 */
export function secret(what: string, value: string): string {
  const isWord = PLAIN_WORDS.test(value) || ONE_CHARACTER.test(value);
  // Tests of bad input also send hostile texts as ids, in paths that are logged.
  const isReal = !isWord && !HOSTILE_TEXTS.has(value);
  if (value.length >= LEAST_CHARACTERS && isReal) secrets.set(value, what);
  return value;
}

/**
 * Target for the log of the application under test. Lines are kept, and printed only if
 * `TEST_LOG_LEVEL` asks for them.
 */
export const watchedLog = {
  write(line: string): void {
    lines.push(line);
    if (process.env['TEST_LOG_LEVEL']) process.stdout.write(line);
  },
};

/** The lines that the application under test has logged so far, oldest first. */
export const loggedLines = (): readonly string[] => lines;

/** Collects secrets from the environment variables of a process. */
export function watchEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value = ''] of Object.entries(environment)) {
    if (name === 'ENCRYPTION_KEYS')
      for (const entry of value.split(',')) secret(name, entry.split(':')[1] ?? '');
    else if (VARIABLES.test(name)) secret(name, value);
  }
}

/** Collects secrets from requests to the server and from its responses. */
export function watchTraffic(server: Server): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request;
    const asked = new Collected();
    const emit = request.emit.bind(request);
    // A `data` listener would start the stream before the reader of the body listens.
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
 * Fails if the log, or the output of a process, contains a secret, and then clears both. The
 * message shows the line and what the secret is, but never the secret.
 */
export function assertNoSecretLogged(output = ''): void {
  const written = [...lines.splice(0), ...output.split('\n')];
  const all = written.join('\n');
  const found = [...secrets].filter(([value]) => formsOf(value).some((form) => all.includes(form)));
  if (found.length === 0) return;
  const messages = found.map(([value, what]) => {
    const line = written.find((one) => formsOf(value).some((form) => one.includes(form))) ?? '';
    return `${what} in: ${masked(line).slice(0, 1_000)}`;
  });
  throw new Error(
    `The log contains ${found.length} secrets:\n${[...new Set(messages)].join('\n')}`,
  );
}

/** The value itself, as JSON, and encoded for a URL. */
function formsOf(value: string): string[] {
  return [...new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])];
}

function masked(line: string): string {
  let text = line;
  for (const [value, what] of secrets)
    for (const form of formsOf(value)) text = text.replaceAll(form, `<${what}>`);
  return text;
}

/** Keeps the beginning of a body. */
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
    // For an application's credentials, the user is the public client id.
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
  for (const [, name = '', value = ''] of text.matchAll(IN_JSON))
    // The audit log names tokens by their ids.
    if (!isId(value)) secret(name, unquoted(value));
  for (const [, name = '', value = ''] of text.matchAll(IN_FORM)) secret(name, decoded(value));
  for (const [, value = ''] of text.matchAll(CODES)) secret('code', value);
  for (const [, kind = '', value = ''] of text.matchAll(LINKS)) secret(`link ${kind}`, value);
}

function unquoted(value: string): string {
  try {
    return JSON.parse(`"${value}"`) as string;
  } catch {
    return value; // cut off, or not JSON
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value; // sent by a test of wrong encodings
  }
}
