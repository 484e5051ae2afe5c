import { createHmac } from 'node:crypto';
import type { Request } from 'express';
import { equalHashes } from '../../../platform/base/crypto/token-hash.ts';

/** Name of the form field, and of the request header, that carry a page's token. */
export const CSRF_FIELD = 'csrf_token';
export const CSRF_HEADER = 'x-csrf-token';

/**
 * The token that every form of a browser's pages contains. It is derived from the cookie's value,
 * which other origins cannot read.
 * @param cookie value of the session's cookie, or of the cookie of a sign-in link
 */
export function csrfToken(cookie: string): string {
  return createHmac('sha256', cookie).update('csrf').digest('base64url');
}

/** Whether the browser names no other origin as the source of a request. */
export function isFromOwnOrigin({ headers }: Pick<Request, 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const { origin } = headers;
  return origin === undefined || origin === 'null' || URL.parse(origin)?.host === headers.host;
}

/**
 * Whether a request that changes something came from a page of this browser: the browser does not
 * name another origin as its source, and the form or a header has the page's token.
 * @param cookie value from which the page's token was derived
 */
export function isFromOwnPage(request: Request, cookie: string): boolean {
  if (!isFromOwnOrigin(request)) return false;
  const field = (request.body as Record<string, unknown> | undefined)?.[CSRF_FIELD];
  const given = request.headers[CSRF_HEADER] ?? field;
  return (
    typeof given === 'string' && equalHashes(Buffer.from(given), Buffer.from(csrfToken(cookie)))
  );
}
