import type { RequestHandler } from 'express';

/** `/outbox` and everything below it. */
const OUTBOX = /^\/outbox(?=[/?]|$)/;

/** Serves `/outbox` like `/v2/outbox`: the official PHP client knows only the shorter path. */
export function aliases(): RequestHandler {
  return (request, _response, next) => {
    if (OUTBOX.test(request.url)) request.url = `/v2${request.url}`;
    next();
  };
}
