import type { Request, RequestHandler } from 'express';
import { clientAddress, clientKey } from '../base/client-address.ts';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';

/**
 * Bodies up to this size are always received. If every connection of a process sends one, they take
 * 160 MB.
 */
const SMALL_BYTES = 16 * 1024;
/** Bodies above this size are large. */
const MEDIUM_BYTES = 1024 * 1024;
/**
 * Bytes of medium bodies received at the same time: by one process, and from one client address.
 */
const MEDIUM_CAPACITY = { most: 96 * MEDIUM_BYTES, ofOne: 24 * MEDIUM_BYTES };
/**
 * Number of large bodies received at the same time: by one process, and from one client address.
 */
const LARGE_CAPACITY = { most: 16, ofOne: 8 };

const isChunked = ({ headers }: Request): boolean => 'transfer-encoding' in headers;
const announces = ({ headers }: Request): number => Number(headers['content-length'] ?? 0);

const tooMany = (): DomainError =>
  new DomainError(
    'request.too-many-large',
    'rate-limited',
    `The server cannot receive another request body of more than ${SMALL_BYTES / 1024} kB now; it receives at most ${LARGE_CAPACITY.ofOne} bodies of more than 1 MB from one client at a time. Try again`,
    { limit: LARGE_CAPACITY.ofOne, retryAfterSeconds: 1 },
  );

const isTooLarge = (error: unknown): boolean =>
  (error as { type?: unknown }).type === 'entity.too.large';

/** Capacity shared by all clients. One client can use only part of it. */
class SharedCapacity {
  readonly #taken = new KeyedCount();
  #total = 0;

  constructor(private readonly capacity: { most: number; ofOne: number }) {}

  /**
   * Reserves an amount.
   * @returns a function that releases it, to be called once; `null` if too little is left
   */
  take(client: string, amount: number): (() => void) | null {
    const { most, ofOne } = this.capacity;
    if (this.#total + amount > most || this.#taken.get(client) + amount > ofOne) return null;
    this.#total += amount;
    this.#taken.add(client, amount);
    return () => {
      this.#total -= amount;
      this.#taken.add(client, -amount);
    };
  }
}

/**
 * Limits the memory of bodies that one process receives at the same time. Bodies are in memory
 * before the sender is authenticated. A body is refused with 429 if there is no capacity for it.
 * Small bodies are always accepted, with or without a Content-Length.
 */
export class BodyCapacity {
  readonly #medium = new SharedCapacity(MEDIUM_CAPACITY);
  readonly #large = new SharedCapacity(LARGE_CAPACITY);

  /**
   * Wraps a parser with these limits.
   * @param parserOf creates a parser that refuses bodies above a limit
   * @param mostBytes maximum size of any body
   */
  limit(parserOf: (limitBytes: number) => RequestHandler, mostBytes: number): RequestHandler {
    const sizes = [mostBytes, ...[MEDIUM_BYTES, SMALL_BYTES].filter((size) => size < mostBytes)];
    const parsers = sizes.map((size) => ({ size, parse: parserOf(size) }));
    const parseAny = parserOf(mostBytes);
    return (request, response, next) => {
      if (!isChunked(request) && announces(request) <= SMALL_BYTES)
        return parseAny(request, response, next);
      const client = clientKey(clientAddress(request));
      // A body of unknown size gets the largest capacity that is free.
      for (const { size, parse } of isChunked(request) ? parsers : parsers.slice(0, 1)) {
        const release = this.#take(
          client,
          isChunked(request) ? size : Math.min(announces(request), size),
        );
        if (!release) continue;
        return parse(request, response, (error?: unknown) => {
          release();
          next(size < mostBytes && isTooLarge(error ?? {}) ? tooMany() : error);
        });
      }
      next(tooMany());
    };
  }

  #take(client: string, bytes: number): (() => void) | null {
    if (bytes <= SMALL_BYTES) return () => undefined;
    return bytes <= MEDIUM_BYTES ? this.#medium.take(client, bytes) : this.#large.take(client, 1);
  }
}
