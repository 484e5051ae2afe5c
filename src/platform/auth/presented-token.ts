import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** Scheme, in lower case, and value of the header `Authorization` (RFC 9110 11.6.2). */
function authorization(request: Request): { scheme: string; value: string } | undefined {
  const [scheme, value, ...rest] = (request.headers.authorization ?? '').split(' ');
  return scheme && value && rest.length === 0 ? { scheme: scheme.toLowerCase(), value } : undefined;
}

/** User name and password in `Authorization: Basic` (RFC 7617); `undefined` if there are none. */
export function basicCredentials(
  request: Request,
): { userName: string; password: string } | undefined {
  const sent = authorization(request);
  if (sent?.scheme !== 'basic') return undefined;
  const [userName = '', ...password] = Buffer.from(sent.value, 'base64').toString().split(':');
  return { userName, password: password.join(':') };
}

/**
 * The access token of the request: the value of `Authorization: Bearer` (RFC 6750 2.1), or the user
 * name of Basic, as the official clients send it. Tokens in the query are not accepted, because
 * addresses appear in logs. `undefined` if there is none.
 */
export function presentedToken(request: Request): string | undefined {
  const sent = authorization(request);
  if (sent?.scheme === 'bearer') return sent.value;
  return basicCredentials(request)?.userName || undefined;
}

/** The access token of the request, sent as Bearer or Basic. For handlers behind `AccountAuth`. */
export const PresentedToken = createParamDecorator(
  (_: unknown, context: ExecutionContext): string => {
    return presentedToken(context.switchToHttp().getRequest<Request>()) ?? '';
  },
);
