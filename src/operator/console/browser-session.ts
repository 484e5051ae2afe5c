import type { Request, Response } from 'express';
import { clientAddress } from '../../platform/base/client-address.ts';
import type { NewSession, SigningIn } from '../access/sessions/operator-sessions.service.ts';
import { presentedSession, sessionCookie } from '../access/sessions/session-cookie.ts';

/** The browser of a request, for a sign-in. */
export const browserOf = (request: Request): SigningIn => ({
  address: clientAddress(request),
  presented: presentedSession(request),
});

/** Gives the browser the cookie of its new session. */
export function keepSession(response: Response, { secret, endsAt }: NewSession): void {
  const { name, options } = sessionCookie(response.req);
  response.cookie(name, secret, { ...options, expires: endsAt });
}
