import { ApiCommandError } from './api-error.ts';
import type { ApiSettings } from './api-settings.ts';
import type { Action, Credentials } from './groups.ts';

const TIMEOUT_MS = 60_000;

/** One call, ready to be made. */
export interface ApiRequest {
  action: Action;
  credentials: Credentials;
  id?: string;
  query: readonly (readonly [string, string])[];
  /** JSON text. */
  body?: string;
  /** Asks for the message as it travelled (message/rfc822). */
  raw?: boolean;
}

/** What came back: JSON, or text for raw messages and empty answers. */
export type ApiAnswer = { json: unknown } | { text: string };

function need(settings: ApiSettings, name: 'accessToken' | 'clientId' | 'clientSecret'): string {
  const value = settings[name];
  if (value) return value;
  const flag = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  throw new ApiCommandError(
    `This needs ${flag}: give --${flag}=…, set CARILLON_${flag.toUpperCase()}, or put it into the config file`,
  );
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

function authorization(credentials: Credentials, settings: ApiSettings): string {
  switch (credentials) {
    case 'access token':
      return `Bearer ${need(settings, 'accessToken')}`;
    case 'client secret':
      return basic(need(settings, 'clientSecret'), '');
    case 'client id and secret':
      return basic(need(settings, 'clientId'), need(settings, 'clientSecret'));
  }
}

function addressOf(request: ApiRequest, settings: ApiSettings): URL {
  const { action, id, query, credentials } = request;
  // Several ids with commas between them are one segment (api facts 5.1): the comma stays.
  const segment = id && encodeURIComponent(id).replaceAll('%2C', ',');
  let path = action.path;
  if (path.includes('{client_id}')) {
    path = path.replace('{client_id}', encodeURIComponent(need(settings, 'clientId')));
  }
  if (path.includes('{id}')) path = path.replace('{id}', segment ?? '');
  else if (segment) path = `${path}/${segment}`;
  const base = credentials === 'client id and secret' ? settings.integrationsUrl : settings.apiUrl;
  const url = new URL(`${base}${path}`);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

/** The server's own words, from either of its two error bodies. */
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
    );
  }
  const message = body.error?.message ?? body.message ?? 'The server gave no reason';
  const type = body.error?.type ?? body.type;
  const missing = Array.isArray(body.missing_fields) ? ` [missing: ${body.missing_fields.join(', ')}]` : '';
  return new ApiCommandError(
    `${String(message)}${missing} (${type ? `${String(type)}, ` : ''}HTTP ${status})`,
  );
}

/**
 * Makes the call.
 * @throws {ApiCommandError} when credentials are missing, the server cannot be reached or refuses
 */
export async function callApi(request: ApiRequest, settings: ApiSettings): Promise<ApiAnswer> {
  const headers: Record<string, string> = {
    authorization: authorization(request.credentials, settings),
    accept: request.raw ? 'message/rfc822' : 'application/json',
  };
  if (request.body !== undefined) headers['content-type'] = 'application/json';
  const url = addressOf(request, settings);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: request.action.verb,
      headers,
      body: request.body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await response.text();
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
    const why =
      name === 'TimeoutError'
        ? `no answer in ${TIMEOUT_MS / 1000} s`
        : (cause?.code ?? cause?.message ?? message);
    throw new ApiCommandError(`Cannot reach ${url.origin} (${why}). Is Carillon running there?`);
  }
  if (!response.ok) throw refusal(response.status, text);
  if (request.raw || text === '') return { text };
  try {
    return { json: JSON.parse(text) };
  } catch {
    throw new ApiCommandError(`${url.origin} did not answer JSON: is it a Carillon?`);
  }
}
