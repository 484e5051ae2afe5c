import http from 'node:http';
import fs from 'node:fs';
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
 * `test/sdk/recorded/<client>.json` has the requests, recorded from the unchanged client, and
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
    /** Model of the suite that must read the answer; `model[]` reads an array of them. */
    model: z.string(),
  }),
  /** Names for values of the answer: `{"messageId": "0.id"}`. */
  save: z.record(z.string(), z.string()).optional(),
  /** Repeats the request until these values are in the answer: `{"status": "successful"}`. */
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
  /** Settings of the server, added to the defaults of tests. */
  environment?: Record<string, string>;
  /** Makes what the requests need besides two sandbox accounts, and names values for them. */
  prepare?(server: TestApp, values: Values): Promise<Values>;
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

/** @param name file in `test/sdk/recorded` without its ending */
export function readRecording(name: string): Recording {
  const file = new URL(`../recorded/${name}.json`, import.meta.url);
  return clientSchema.parse(JSON.parse(fs.readFileSync(file, 'utf8')));
}

/** Declares one test for each recorded call of a client. */
export function describeRecordedClient(name: string, rules: ReadingRules): void {
  const recording = readRecording(name);
  describe(`${recording.client} ${recording.version}`, () => {
    let server: TestApp;
    let google: GoogleStub;
    let microsoft: MicrosoftStub;
    const values: Values = {};
    beforeAll(async () => {
      google = await GoogleStub.start();
      microsoft = await MicrosoftStub.start();
      server = await startTestApp({
        GOOGLE_URL: google.origin,
        MICROSOFT_LOGIN_URL: microsoft.origin,
        MICROSOFT_GRAPH_URL: microsoft.origin,
        ...rules.environment,
      });
      Object.assign(values, await connectAccounts(server));
      Object.assign(values, await rules.prepare?.(server, values));
    });
    afterAll(async () => {
      await server.close();
      await google.stop();
      await microsoft.stop();
    });

    it.each(recording.calls.map((call) => [call.call, call] as const))('%s', async (_, call) => {
      const parsed = call.until
        ? await until(call.call, async () => {
            const read = await replay(server, recording, call, values, rules);
            return holds(read, call.until ?? {}) && { read };
          }).then(({ read }) => read)
        : await replay(server, recording, call, values, rules);
      for (const [saved, path] of Object.entries(call.save ?? {})) {
        const value = valueAt(parsed, path);
        if (typeof value !== 'string' && typeof value !== 'number')
          throw new Error(`The answer has no ${path}: ${JSON.stringify(parsed)}`);
        values[saved] = String(value);
      }
    });
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
async function replay(
  server: TestApp,
  recording: Recording,
  { call, request, answer: expected }: RecordedCall,
  values: Values,
  rules: ReadingRules,
): Promise<unknown> {
  const answer = await send(server.url, recording.headers, request, values);
  if (answer.status !== expected.status)
    throw new Error(`${call} was answered with ${answer.status}: ${answer.body.toString()}`);
  const many = expected.model.endsWith('[]');
  const model = rules.models[many ? expected.model.slice(0, -2) : expected.model];
  if (!model) throw new Error(`The suite has no model ${expected.model}`);
  const parsed = rules.parse(answer);
  const read = (many ? z.array(model) : model).safeParse(parsed);
  if (!read.success)
    throw new Error(`${z.prettifyError(read.error)}\n${JSON.stringify(parsed, null, 1)}`);
  return parsed;
}

async function send(
  url: string,
  common: Record<string, string>,
  request: RecordedCall['request'],
  values: Values,
): Promise<Answer> {
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
    const outgoing = http.request({ hostname, port, method, path, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const { statusCode: status = 0 } = incoming;
        resolve({ status, headers: incoming.headers, body: Buffer.concat(chunks) });
      });
    });
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
