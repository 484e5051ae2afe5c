import type { Request, RequestHandler } from 'express';
import { clientAddress, clientKey } from '../common/http/client-address.ts';
import { DomainError } from '../common/errors/domain-error.ts';

/** A body that announces more bytes is large. A body that does not announce its size may be. */
export const LARGE_BYTES = 1024 * 1024;
/** Large bodies that one process receives at a time. They are in memory before anybody knows who sends them. */
const MOST = 16;
/** Large bodies that one client address sends at a time: a slow client must not take the room of all others. */
const MOST_PER_CLIENT = 8;

const isChunked = ({ headers }: Request): boolean => 'transfer-encoding' in headers;
const announces = ({ headers }: Request): number => Number(headers['content-length'] ?? 0);

const tooMany = (): DomainError =>
  new DomainError(
    'request.too-many-large',
    'rate-limited',
    `The server receives ${MOST} large request bodies at a time, ${MOST_PER_CLIENT} of one client, and has no room for this one; try again`,
    { limit: MOST_PER_CLIENT, retryAfterSeconds: 1 },
  );

const isTooLarge = (error: unknown): boolean => (error as { type?: unknown }).type === 'entity.too.large';

/**
 * Limits how many large bodies are received at a time; more are refused with 429. Small bodies are always received.
 * @param parse reads a body up to the limit of the server
 * @param parseSmall reads a body up to `LARGE_BYTES`: for bodies of unknown size while there is no room for a large one
 */
export function limitLargeBodies(parse: RequestHandler, parseSmall: RequestHandler): RequestHandler {
  const receiving = new Map<string, number>();
  let total = 0;
  return (request, response, next) => {
    if (!isChunked(request) && announces(request) <= LARGE_BYTES) return parse(request, response, next);
    const client = clientKey(clientAddress(request));
    const own = receiving.get(client) ?? 0;
    if (total >= MOST || own >= MOST_PER_CLIENT) {
      if (!isChunked(request)) return next(tooMany());
      return parseSmall(request, response, (error?: unknown) =>
        next(error !== undefined && isTooLarge(error) ? tooMany() : error),
      );
    }
    total += 1;
    receiving.set(client, own + 1);
    parse(request, response, (error?: unknown) => {
      total -= 1;
      const left = (receiving.get(client) ?? 1) - 1;
      if (left > 0) receiving.set(client, left);
      else receiving.delete(client);
      next(error);
    });
  };
}
