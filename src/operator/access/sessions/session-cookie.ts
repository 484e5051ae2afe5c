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

/**
 * Name and attributes of the cookie that carries a sign-in to the OpenID provider and back. `Lax`,
 * because the provider's redirect comes from another site.
 */
export function oidcCookie(request: Pick<Request, 'secure'>): SessionCookie {
  const { name, options } = sessionCookie(request);
  return { name: `${name}_oidc`, options: { ...options, sameSite: 'lax' } };
}

/**
 * Name and attributes of the cookie that ties the button of a sign-in link to the browser that
 * opened the link.
 */
export function linkCookie(request: Pick<Request, 'secure'>): SessionCookie {
  const { name, options } = sessionCookie(request);
  return { name: `${name}_link`, options };
}

/** Value of the session's cookie in a request; the empty string if it has none. */
export function presentedSession(request: Pick<Request, 'secure' | 'headers'>): string {
  return cookieIn(request, sessionCookie(request).name);
}

/** Value of the cookie of `oidcCookie` in a request; the empty string if it has none. */
export function presentedOidcVisit(request: Pick<Request, 'secure' | 'headers'>): string {
  return cookieIn(request, oidcCookie(request).name);
}

/** Value of the cookie of `linkCookie` in a request; the empty string if it has none. */
export function presentedLinkVisit(request: Pick<Request, 'secure' | 'headers'>): string {
  return cookieIn(request, linkCookie(request).name);
}

function cookieIn(request: Pick<Request, 'headers'>, name: string): string {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return '';
}
