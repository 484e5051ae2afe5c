import http from 'node:http';
import fs from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { createAccount, createApplication } from '../../support/factories.ts';
import { secret } from '../../support/log-watch.ts';
import { GoogleStub } from '../../support/google/google-stub.ts';
import { MicrosoftStub } from '../../support/microsoft/microsoft-stub.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

/**
 * Replays the requests of an official client, byte for byte, and reads the answers as that client
 * does. For clients that npm does not carry.
 *
 * `test/sdk/recorded/<client>.json.gz` has the requests, recorded from the unchanged client, and
 * `test/sdk/<client>.sdk-spec.ts` has the client's rules of reading. The requests are sent in the
 * order of the file, so that a later one can use values of earlier answers.
 *
 * The path, the headers and the body of a request contain placeholders for what differs from run to
 * run:
 *
 * - `{{name}}`: a value of the test (`accessToken`, `accountId`, `email`, `clientId`,
 *   `clientSecret`, `otherEmail`, `otherAccountId`), one that `prepare` of the suite returned, or
 *   one that an earlier call saved;
 * - `{{basic:user}}` and `{{basic:user:password}}`: the Base64 text of HTTP Basic for the values of
 *   these names, without a password in the first case;
 * - `{{in:3600}}`: the time in that many seconds, as Unix time.
 *
 * The header `Content-Length` gets the true length.
 */
const callSchema = z.strictObject({
  /** The call as a user of the client writes it; unique within the client. */
  call: z.string(),
  /** Row of the table in docs/compatibility.md, for example `messages`. */
  resource: z.string(),
  /** File of the client's source that sends the request. */
  source: z.string(),
  request: z.strictObject({
    method: z.string(),
    path: z.string(),
    /** Added to the headers of the client. Null removes one of those. */
    headers: z.record(z.string(), z.string().nullable()).optional(),
    body: z.string().optional(),
  }),
  answer: z.strictObject({
    status: z.number(),
    /**
     * Model of the suite that must read the answer; `model[]` reads an array of them. `stream`: the
     * answer stays open until the suite ends, and `ReadingRules.stream` reads it.
     */
    model: z.string(),
  }),
  /** Names for values of the answer: `{"messageId": "0.id"}`. */
  save: z.record(z.string(), z.string()).optional(),
  /**
   * Repeats the request until there is an answer with these values: `{"status": "successful"}`. An
   * answer 404 is none.
   */
  until: z.record(z.string(), z.unknown()).optional(),
  /** Why Carillon refuses the call. Then `answer` describes the refusal. */
  refused: z.string().optional(),
});

const clientSchema = z.strictObject({
  /** Column of the table in docs/compatibility.md. */
  client: z.string(),
  version: z.string(),
  /** Where the source is published. */
  source: z.string(),
  /** Headers of every request, in the order of the client. */
  headers: z.record(z.string(), z.string()),
  calls: z.array(callSchema),
});

type RecordedCall = z.infer<typeof callSchema>;
/** The requests of one client. */
export type Recording = z.infer<typeof clientSchema>;

/** An answer as it arrived. */
export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

/** Values for placeholders, by name. */
export type Values = Record<string, string>;

/** How a client reads answers. */
export interface ReadingRules {
  /** Turns an answer into what the client's models are made of; throws where the client does. */
  parse(answer: Answer): unknown;
  /**
   * What the client's model of each name can read: required keys, types, and keys that must be
   * absent.
   */
  models: Record<string, z.ZodType>;
  /** Makes a reader of a stream. */
  stream?(): StreamReader;
  /** Settings of the server, added to the defaults of tests. */
  environment?: Record<string, string>;
  /** Makes what the requests need besides two sandbox accounts, and names values for them. */
  prepare?(server: TestApp, values: Values): Promise<Values>;
}

/**
 * How a client reads a stream.
 * @param piece the next bytes, cut anywhere
 * @returns what the client gives to its user because of them; throws where the client does
 */
export type StreamReader = (piece: Buffer) => unknown[];

/** A stream of a recorded client, from the request until the suite closes it. */
export interface OpenStream {
  call: string;
  /** Path of the request. */
  path: string;
  /** The bytes so far. */
  bytes: Buffer;
  /** What the client has given to its user so far. */
  deltas: unknown[];
  /** Why the client could not read on. */
  problem?: unknown;
  close(): void;
}

/** Where the calls of a client are replayed. */
export interface Replay {
  /** Address of the server. */
  url: string;
  values: Values;
  /** The streams that calls have opened. */
  streams: OpenStream[];
}

/** Reads JSON whatever the content type, and anything else as text. */
export function jsonOrText({ body }: Answer): unknown {
  const content = body.toString();
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

/**
 * Reads a file of `test/sdk/recorded`.
 * @param name its path in there, without `.json.gz`
 */
export function readRecorded(name: string): unknown {
  const file = new URL(`../recorded/${name}.json.gz`, import.meta.url);
  return JSON.parse(gunzipSync(fs.readFileSync(file)).toString());
}

/** Like `readRecorded`, for the requests of a client. */
export function readRecording(name: string): Recording {
  return clientSchema.parse(readRecorded(name));
}

/** Declares one test for each recorded call of a client, on a server of their own. */
export function describeRecordedClient(name: string, rules: ReadingRules): void {
  const recording = readRecording(name);
  describe(`${recording.client} ${recording.version}`, () => {
    let server: TestApp;
    let google: GoogleStub;
    let microsoft: MicrosoftStub;
    const replay: Replay = { url: '', values: {}, streams: [] };
    beforeAll(async () => {
      google = await GoogleStub.start();
      microsoft = await MicrosoftStub.start();
      server = await startTestApp({
        GOOGLE_URL: google.origin,
        MICROSOFT_LOGIN_URL: microsoft.origin,
        MICROSOFT_GRAPH_URL: microsoft.origin,
        ...rules.environment,
      });
      replay.url = server.url;
      Object.assign(replay.values, await connectAccounts(server));
      Object.assign(replay.values, await rules.prepare?.(server, replay.values));
    });
    afterAll(async () => {
      await server.close();
      await google.stop();
      await microsoft.stop();
    });

    declareCalls(recording, rules, replay);
  });
}

/** Declares one test for each call. Before the first one runs, `replay` must be filled. */
export function declareCalls(recording: Recording, rules: ReadingRules, replay: Replay): void {
  it.each(recording.calls.map((call) => [call.call, call] as const))('%s', async (_, call) => {
    if (call.answer.model === 'stream') {
      replay.streams.push(await openStream(recording, call, rules, replay));
      return;
    }
    const parsed = call.until
      ? await until(call.call, async () => {
          const read = await answerOf(recording, call, rules, replay);
          return holds(read, call.until ?? {}) && { read };
        }).then(({ read }) => read)
      : await answerOf(recording, call, rules, replay);
    for (const [saved, path] of Object.entries(call.save ?? {})) {
      const value = valueAt(parsed, path);
      if (typeof value !== 'string' && typeof value !== 'number')
        throw new Error(`The answer has no ${path}: ${JSON.stringify(parsed)}`);
      replay.values[saved] = String(value);
    }
  });
}

/** Connects the two sandbox accounts of the test, the first with the sample mailbox. */
export async function connectAccounts(server: TestApp): Promise<Values> {
  const application = await createApplication(server.app, { features: ['sms'] });
  const account = await createAccount(server.app, application, {
    email: 'ada@sandbox.test',
    name: 'Ada',
    mirrored: true,
    settings: { sample_messages: true },
  });
  const other = await createAccount(server.app, application, {
    email: 'bo@sandbox.test',
    name: 'Bo',
    mirrored: true,
  });
  await until('the mailbox to be mirrored', async () => {
    for (const path of ['/messages', '/calendars']) {
      const answer = await fetch(`${server.url}${path}`, { headers: account.bearer });
      if (((await answer.json()) as unknown[]).length === 0) return false;
    }
    return true;
  });
  return {
    clientId: application.clientId,
    clientSecret: application.clientSecret,
    accessToken: account.token,
    accountId: account.id,
    email: account.email,
    otherAccountId: other.id,
    otherEmail: other.email,
  };
}

/** Sends the request and reads the answer as the client does. */
async function answerOf(
  recording: Recording,
  { call, request, answer: expected, until: wanted }: RecordedCall,
  rules: ReadingRules,
  { url, values }: Replay,
): Promise<unknown> {
  const answer = await received(await ask(url, recording.headers, request, values));
  if (wanted && answer.status === 404) return undefined;
  if (answer.status !== expected.status)
    throw new Error(`${call} was answered with ${answer.status}: ${answer.body.toString()}`);
  return readAs(expected.model, rules.parse(answer), rules);
}

/** Checks a value against a model of the client. @param model with `[]` for a list of them */
export function readAs(model: string, value: unknown, rules: ReadingRules): unknown {
  const many = model.endsWith('[]');
  const one = rules.models[many ? model.slice(0, -2) : model];
  if (!one) throw new Error(`The suite has no model ${model}`);
  const read = (many ? z.array(one) : one).safeParse(value);
  if (!read.success)
    throw new Error(`${z.prettifyError(read.error)}\n${JSON.stringify(value, null, 1)}`);
  return value;
}

/** Sends the request and reads what arrives, piece by piece, until `close`. */
async function openStream(
  recording: Recording,
  { call, request, answer: expected }: RecordedCall,
  rules: ReadingRules,
  { url, values }: Replay,
): Promise<OpenStream> {
  const incoming = await ask(url, recording.headers, request, values);
  if (incoming.statusCode !== expected.status)
    throw new Error(`${call} was answered with ${incoming.statusCode}`);
  const read = rules.stream?.();
  if (!read) throw new Error('The suite has no reader of streams');
  const stream: OpenStream = {
    call,
    path: filled(request.path, values),
    bytes: Buffer.alloc(0),
    deltas: [],
    close: () => incoming.destroy(),
  };
  incoming.on('data', (piece: Buffer) => {
    stream.bytes = Buffer.concat([stream.bytes, piece]);
    try {
      stream.deltas.push(...read(piece));
    } catch (error) {
      stream.problem ??= error;
    }
  });
  // The suite closes it.
  incoming.on('error', () => undefined);
  return stream;
}

async function received(incoming: http.IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { statusCode: status = 0, headers } = incoming;
  return { status, headers, body: Buffer.concat(chunks) };
}

async function ask(
  url: string,
  common: Record<string, string>,
  request: RecordedCall['request'],
  values: Values,
): Promise<http.IncomingMessage> {
  const body = Buffer.from(filled(request.body ?? '', values));
  const headers: string[] = [];
  for (const [name, value] of Object.entries({ ...common, ...request.headers })) {
    if (value === null) continue;
    const length = name.toLowerCase() === 'content-length';
    headers.push(name, length ? String(body.length) : filled(value, values));
  }
  const { host, hostname, port } = new URL(url);
  if (!headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'host'))
    headers.unshift('Host', host);
  return new Promise((resolve, reject) => {
    const { method } = request;
    const path = filled(request.path, values);
    const outgoing = http.request({ hostname, port, method, path, headers }, resolve);
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Replaces the placeholders in a text. */
function filled(text: string, values: Values): string {
  return text.replaceAll(/\{\{([\w:-]+)\}\}/g, (_, placeholder: string) => {
    const [kind = '', ...rest] = placeholder.split(':');
    if (kind === 'in') return String(Math.floor(Date.now() / 1000) + Number(rest[0]));
    if (kind !== 'basic') return valueOf(kind, values);
    const [user = '', password] = rest;
    const credentials = `${valueOf(user, values)}:${password ? valueOf(password, values) : ''}`;
    return secret('credentials', Buffer.from(credentials).toString('base64'));
  });
}

function valueOf(name: string, values: Values): string {
  const value = values[name];
  if (value === undefined) throw new Error(`No earlier call saved ${name}`);
  return value;
}

/** Returns the value at a path of keys and indexes, such as `0.id`. */
function valueAt(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.'))
    current = (current as Record<string, unknown> | null | undefined)?.[key];
  return current;
}

const holds = (answer: unknown, expected: Record<string, unknown>): boolean =>
  Object.entries(expected).every(([path, value]) => valueAt(answer, path) === value);
