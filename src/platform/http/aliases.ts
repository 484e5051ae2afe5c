import type { RequestHandler } from 'express';

/** Paths that are also served under another one: `[path, other]`, for the documentation. */
export const OTHER_PATHS: readonly (readonly [path: string, other: string])[] = [
  ['/v2/outbox', '/outbox'],
];

/** `/outbox` and everything below it. */
const OUTBOX = /^\/outbox(?=[/?]|$)/;

/** Serves `/outbox` like `/v2/outbox`: the official PHP client knows only the shorter path. */
export function aliases(): RequestHandler {
  return (request, _response, next) => {
    if (OUTBOX.test(request.url)) request.url = `/v2${request.url}`;
    next();
  };
}
