import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { forTerminal } from '../../platform/base/text/plain-text.ts';
import { ApiCommandError, kindOfStatus } from './error.ts';
import type { ApiSettings } from './settings.ts';
import type { Action, Credentials } from './groups/group.ts';

const TIMEOUT_MS = 60_000;
/** For requests to which the server may respond late. Longer than the server ever takes. */
const PATIENT_MS = 86_500_000;

/** A call of the API. */
export interface ApiRequest {
  action: Action;
  credentials: Credentials;
  id?: string;
  partId?: string;
  query: readonly (readonly [string, string])[];
  /** JSON text. */
  body?: string;
  /** Requests the original message (message/rfc822). */
  raw?: boolean;
  /** Called for each line of a response that consists of lines, as it arrives. */
  onLine?: (line: string) => void;
  /** Ends the request early. */
  signal?: AbortSignal;
}

/** The response: JSON, or text for raw messages and empty responses. */
export type ApiAnswer = { json: unknown } | { text: string };

/** @throws {ApiCommandError} that says how to give the setting, if it is absent */
export function requireSetting(
  settings: ApiSettings,
  name: 'accessToken' | 'clientId' | 'clientSecret',
): string {
  const value = settings[name];
  if (value) return value;
  const flag = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  throw new ApiCommandError(
    `This needs ${flag}: give --${flag}=…, set CARILLON_${flag.toUpperCase()}, or sign in with: carillon-api login`,
  );
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

function authorization(credentials: Credentials, settings: ApiSettings): string {
  switch (credentials) {
    case 'access token':
      return `Bearer ${requireSetting(settings, 'accessToken')}`;
    case 'client secret':
      return basic(requireSetting(settings, 'clientSecret'), '');
    case 'client id and secret':
      return basic(requireSetting(settings, 'clientId'), requireSetting(settings, 'clientSecret'));
  }
}

function addressOf(request: ApiRequest, settings: ApiSettings): URL {
  const { action, id, partId = '', query, credentials } = request;
  // Several ids separated by commas are one path segment, so commas are not encoded.
  const segment = id && encodeURIComponent(id).replaceAll('%2C', ',');
  let target = action.path.replace(`{${action.partId}}`, encodeURIComponent(partId));
  if (target.includes('{client_id}')) {
    target = target.replace(
      '{client_id}',
      encodeURIComponent(requireSetting(settings, 'clientId')),
    );
  }
  if (target.includes('{id}')) target = target.replace('{id}', segment ?? '');
  else if (segment) target = `${target}/${segment}`;
  const base = credentials === 'client id and secret' ? settings.integrationsUrl : settings.apiUrl;
  const url = new URL(`${base}${target}`);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

/** The server's error message, from either of its two error formats. */
function refusal(status: number, text: string): ApiCommandError {
  let body: {
    message?: unknown;
    type?: unknown;
    missing_fields?: unknown;
    error?: { message?: unknown; type?: unknown };
  } = {};
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    return new ApiCommandError(
      `${text.trim().slice(0, 500) || 'The server gave no reason'} (HTTP ${status})`,
      kindOfStatus(status),
    );
  }
  const message = body.error?.message ?? body.message ?? 'The server gave no reason';
  const type = body.error?.type ?? body.type;
  const missing = Array.isArray(body.missing_fields)
    ? ` [missing: ${body.missing_fields.join(', ')}]`
    : '';
  return new ApiCommandError(
    `${String(message)}${missing} (${type ? `${String(type)}, ` : ''}HTTP ${status})`,
    kindOfStatus(status),
  );
}

async function readLines(response: Response, onLine: (line: string) => void): Promise<void> {
  const input = Readable.fromWeb(response.body as ReadableStream);
  for await (const line of createInterface({ input })) if (line !== '') onLine(line);
}

const limitOf = ({ action }: ApiRequest): number => (action.patient ? PATIENT_MS : TIMEOUT_MS);

function unreachable(url: URL, error: unknown, limitMs = TIMEOUT_MS): ApiCommandError {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const why =
    name === 'TimeoutError'
      ? `no response in ${limitMs / 1000} s`
      : (cause?.code ?? cause?.message ?? message);
  return new ApiCommandError(
    `Cannot reach ${url.origin} (${why}). Is Carillon running there?`,
    'unavailable',
  );
}

/** Reports query parameters and fields that the server did not know. */
function warnOfIgnored({ headers }: Response): void {
  const names = headers.get('x-carillon-ignored');
  if (names)
    process.stderr.write(`Warning: the server does not know and ignored: ${forTerminal(names)}\n`);
}

/**
 * Sends the request.
 * @throws {ApiCommandError} if credentials are missing, or the server cannot be reached or refuses
 */
async function send(
  request: ApiRequest,
  settings: ApiSettings,
  { accept, ...init }: Pick<RequestInit, 'body' | 'signal'> & { accept: string },
): Promise<{ url: URL; response: Response }> {
  const headers: Record<string, string> = {
    authorization: authorization(request.credentials, settings),
    accept,
  };
  if (typeof init.body === 'string') headers['content-type'] = 'application/json';
  const url = addressOf(request, settings);
  try {
    const response = await fetch(url, { method: request.action.verb, headers, ...init });
    warnOfIgnored(response);
    if (response.ok) return { url, response };
    throw refusal(response.status, await response.text());
  } catch (error) {
    if (error instanceof ApiCommandError) throw error;
    throw unreachable(url, error, limitOf(request));
  }
}

/**
 * Calls the API.
 * @throws {ApiCommandError} if credentials are missing, or the server cannot be reached or
 *   refuses
 */
export async function callApi(request: ApiRequest, settings: ApiSettings): Promise<ApiAnswer> {
  const { url, response } = await send(request, settings, {
    accept: request.raw ? 'message/rfc822' : 'application/json',
    ...(request.body === undefined ? {} : { body: request.body }),
    signal: AbortSignal.any([
      AbortSignal.timeout(limitOf(request)),
      ...(request.signal ? [request.signal] : []),
    ]),
  });
  let text = '';
  try {
    if (request.onLine) await readLines(response, request.onLine);
    else text = await response.text();
  } catch (error) {
    throw unreachable(url, error, limitOf(request));
  }
  if (request.raw || text === '') return { text };
  try {
    return { json: JSON.parse(text) };
  } catch {
    throw new ApiCommandError(
      `The response of ${url.origin} is not JSON. Is it a Carillon server?`,
      'unavailable',
    );
  }
}

/**
 * Uploads files as a form. Files are read while they are sent, without a time limit.
 * @param paths paths of local files
 * @throws {ApiCommandError} also if a file cannot be read
 */
export async function uploadFiles(
  request: ApiRequest,
  settings: ApiSettings,
  paths: readonly string[],
): Promise<ApiAnswer> {
  const body = new FormData();
  for (const name of paths) {
    if (!fs.statSync(name, { throwIfNoEntry: false })?.isFile())
      throw new ApiCommandError(`There is no file ${name}`, 'not-found');
    body.append('file', await fs.openAsBlob(name), path.basename(name));
  }
  const { response } = await send(request, settings, { accept: 'application/json', body });
  return { json: await response.json() };
}

/**
 * Writes the response to a file as it arrives. An incomplete file is deleted.
 * @param target path of a file that does not exist yet; `-` for standard output
 * @throws {ApiCommandError} also if the download is interrupted, or the file exists
 */
export async function downloadFile(
  request: ApiRequest,
  settings: ApiSettings,
  target: string,
): Promise<void> {
  const { url, response } = await send(request, settings, { accept: '*/*' });
  const bytes = Readable.fromWeb(response.body as ReadableStream);
  if (target === '-') {
    // The file is untrusted input, and a terminal would obey its control characters.
    if (process.stdout.isTTY) bytes.setEncoding('utf8');
    for await (const chunk of bytes as AsyncIterable<string | Buffer>) {
      const shown = typeof chunk === 'string' ? forTerminal(chunk) : chunk;
      if (!process.stdout.write(shown)) await once(process.stdout, 'drain');
    }
    return;
  }
  try {
    await pipeline(bytes, fs.createWriteStream(target, { flags: 'wx' }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'open')
      throw new ApiCommandError(`Cannot write ${target}: ${(error as Error).message}`);
    fs.rmSync(target, { force: true });
    throw unreachable(url, error);
  }
}
