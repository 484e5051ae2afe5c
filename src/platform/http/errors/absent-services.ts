import type { Request } from 'express';

/** Why Carillon does not have what other services have at these paths. */
const ABSENT: readonly (readonly [path: RegExp, why: string])[] = [
  [
    /^\/component(\/|$)/,
    'Carillon has no settings of web components: your application hosts the components and their settings itself (docs/compatibility.md)',
  ],
  [
    /^\/(manage|schedule)(\/|$)/,
    'Carillon has no scheduling pages: find free times with POST /calendars/availability, and book them with POST /events (docs/availability.md)',
  ],
  [
    /^\/v3(\/|$)/,
    'Carillon speaks version 2 of the API, and this is a request of a client for version 3: docs/migrating/from-v3.md says how the requests translate',
  ],
];

/**
 * The error text for a path that no endpoint has. It gives the reason if clients of the old service
 * know the path.
 */
export function nothingAt(path: string): string {
  const found = ABSENT.find(([known]) => known.test(path));
  return `There is nothing at ${path.slice(0, 200)}${found ? `. ${found[1]}` : ''}`;
}

/** Whether only clients for version 3 of the API use a path. */
export const isV3Path = (path: string): boolean => /^\/v3(\/|$)/.test(path);

/** Error body that clients for version 3 read. */
export interface V3Error {
  request_id: string;
  error: { type: string; message: string };
}

/** Error body that clients for version 3 read when they exchange or revoke tokens. */
export interface V3OauthError {
  request_id: string;
  error: string;
  /** The HTTP status. */
  error_code: number;
  error_description: string;
  error_uri: string;
}

/** An error in the shape that a client for version 3 reads, so that it can show the text. */
export function v3Error(
  { status, message }: { status: number; message: string },
  { path, id }: Pick<Request, 'path' | 'id'>,
): V3Error | V3OauthError {
  const request_id = String(id);
  const type =
    status === 404 ? 'not_found_error' : status >= 500 ? 'api_error' : 'invalid_request_error';
  if (!/^\/v3\/connect\/(token|revoke)\/?$/.test(path))
    return { request_id, error: { type, message } };
  return {
    request_id,
    error: type,
    error_code: status,
    error_description: message,
    error_uri: 'docs/migrating/from-v3.md',
  };
}
