import type { CookieOptions, Request } from 'express';

/** Attributes of the session's cookie, for `response.cookie` and `response.clearCookie`. */
export interface SessionCookie {
  name: string;
  options: CookieOptions;
}

const NAME = 'carillon_operator';

/**
 * Name and attributes of the cookie that carries a session. Over https, browsers accept the prefix
 * `__Host-` only from this host and only with `Secure`, so no other host of the domain can set it.
 */
export function sessionCookie(request: Pick<Request, 'secure'>): SessionCookie {
  const { secure } = request;
  return {
    name: secure ? `__Host-${NAME}` : NAME,
    options: { httpOnly: true, sameSite: 'strict', secure, path: '/' },
  };
}

/** Value of the session's cookie in a request; the empty string if it has none. */
export function presentedSession(request: Pick<Request, 'secure' | 'headers'>): string {
  const { name } = sessionCookie(request);
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return '';
}
