import type { Request, RequestHandler } from 'express';
import { clientAddress, clientKey } from '../base/client-address.ts';
import { KeyedCount } from '../base/concurrency/keyed-count.ts';
import { DomainError } from '../base/errors/domain-error.ts';

/** Bodies up to this size are always received: with all connections of a process they take 160 MB. */
const SMALL_BYTES = 16 * 1024;
/** Larger bodies are large. */
const MEDIUM_BYTES = 1024 * 1024;
/** Bytes of medium bodies that one process receives at a time, and those of one client address. */
const MEDIUM_ROOM = { most: 96 * MEDIUM_BYTES, ofOne: 24 * MEDIUM_BYTES };
/** Large bodies that one process receives at a time, and those of one client address. */
const LARGE_ROOM = { most: 16, ofOne: 8 };

const isChunked = ({ headers }: Request): boolean => 'transfer-encoding' in headers;
const announces = ({ headers }: Request): number => Number(headers['content-length'] ?? 0);

const tooMany = (): DomainError =>
  new DomainError(
    'request.too-many-large',
    'rate-limited',
    `The server receives few bodies of more than ${SMALL_BYTES / 1024} kB at a time, ${LARGE_ROOM.ofOne} large ones of one client, and has no room for this one; try again`,
    { limit: LARGE_ROOM.ofOne, retryAfterSeconds: 1 },
  );

const isTooLarge = (error: unknown): boolean =>
  (error as { type?: unknown }).type === 'entity.too.large';

/** Room that clients share: nobody takes more than a part of it. */
class SharedRoom {
  readonly #taken = new KeyedCount();
  #total = 0;

  constructor(private readonly room: { most: number; ofOne: number }) {}

  /** @returns gives it back, to be called once; null: there is not so much left */
  take(client: string, amount: number): (() => void) | null {
    const { most, ofOne } = this.room;
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
 * Bounds the memory of bodies that a process receives at a time: they are in memory before anybody knows who sends them. Bodies
 * that find no room are refused with 429; small ones always find room, whether they announce their size or not.
 */
export class BodyRoom {
  readonly #medium = new SharedRoom(MEDIUM_ROOM);
  readonly #large = new SharedRoom(LARGE_ROOM);

  /**
   * @param parserOf makes a parser that refuses larger bodies
   * @param mostBytes of a body that is taken at all
   */
  limit(parserOf: (limitBytes: number) => RequestHandler, mostBytes: number): RequestHandler {
    const sizes = [mostBytes, ...[MEDIUM_BYTES, SMALL_BYTES].filter((size) => size < mostBytes)];
    const parsers = sizes.map((size) => ({ size, parse: parserOf(size) }));
    const parseAny = parserOf(mostBytes);
    return (request, response, next) => {
      if (!isChunked(request) && announces(request) <= SMALL_BYTES)
        return parseAny(request, response, next);
      const client = clientKey(clientAddress(request));
      // A body of unknown size gets as much room as there is.
      for (const { size, parse } of isChunked(request) ? parsers : parsers.slice(0, 1)) {
        const free = this.#take(
          client,
          isChunked(request) ? size : Math.min(announces(request), size),
        );
        if (!free) continue;
        return parse(request, response, (error?: unknown) => {
          free();
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
