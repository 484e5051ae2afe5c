import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

const parts = (request: Request): [scheme: string, value: string] | undefined => {
  const [scheme, value, ...rest] = (request.headers.authorization ?? '').split(' ');
  return scheme && value && rest.length === 0 ? [scheme.toLowerCase(), value] : undefined;
};

/** The user name in `Authorization: Basic`; `undefined` if there is none. */
export function basicUserName(request: Request): string | undefined {
  const [scheme, value = ''] = parts(request) ?? [];
  if (scheme !== 'basic') return undefined;
  return Buffer.from(value, 'base64').toString('utf8').split(':', 1)[0] || undefined;
}

/** The token in `Authorization: Bearer`; `undefined` if there is none. */
export function bearerToken(request: Request): string | undefined {
  const [scheme, value] = parts(request) ?? [];
  return scheme === 'bearer' ? value : undefined;
}

/** The access token of the request, sent as Bearer or Basic. For handlers behind `AccountAuth`. */
export const PresentedToken = createParamDecorator(
  (_: unknown, context: ExecutionContext): string => {
    const request = context.switchToHttp().getRequest<Request>();
    return bearerToken(request) ?? basicUserName(request) ?? '';
  },
);
