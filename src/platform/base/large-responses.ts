import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';
import { DomainError } from './errors/domain-error.ts';
import { ByteBudget } from './concurrency/byte-budget.ts';

/**
 * Bytes of large pages that one process reads and sends at a time. In memory they take several
 * times as much.
 */
export const LARGE_RESPONSE_BYTES = 64 * 1024 * 1024;
/**
 * How long a client may take to receive a large response, in milliseconds, because it delays the
 * large responses of all others.
 */
const MOST_MS = 120_000;

/**
 * The HTTP response of the current request. All code shares this one store, because each store
 * slows down every request.
 */
const answers = new AsyncLocalStorage<Writable>();
const budget = new ByteBudget(LARGE_RESPONSE_BYTES);
/** Responses that have memory reserved, or wait for it. */
const large = new WeakSet<Writable>();
/** Responses whose pages have to stay small. */
const small = new WeakSet<Writable>();

/** The client has closed the connection, so no response can be sent. */
export class ClientDisconnectedError extends DomainError {
  constructor() {
    super(
      'request.client-gone',
      'invalid',
      'The client closed the connection before its response was read',
    );
  }
}

/** Runs the work of a request, so that `currentResponse` and `largeResponse` know its response. */
export function duringResponse(to: Writable, work: () => void): void {
  answers.run(to, work);
}

/** The response of the current request; undefined outside a request. */
export function currentResponse(): Writable | undefined {
  return answers.getStore();
}

/**
 * Limits a response to small pages (see `mayBeLarge`). For clients that stay connected for long:
 * they would keep the memory of a large page from others.
 */
export function keepSmall(answer: Writable): void {
  small.add(answer);
}

/** Whether the response of the current request may have large pages. */
export function mayBeLarge(): boolean {
  const answer = answers.getStore();
  return !answer || !small.has(answer);
}

/**
 * Reads a large page for the response of the current request as soon as memory is free for it. The
 * memory stays reserved until the client has received the response or disconnected. A client that
 * takes longer than two minutes is disconnected. Only the first large page of a request waits.
 * Outside a request no page waits.
 * @param bytes size of the page
 * @throws {ClientDisconnectedError} if the client disconnected while its page waited; nothing is
 *   read then
 */
export function largeResponse<T>(bytes: number, read: () => Promise<T>): Promise<T> {
  const answer = answers.getStore();
  // A request that holds memory must not wait for more: two such requests could wait for each
  // other.
  if (!answer || large.has(answer)) return read();
  large.add(answer);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  void budget.run(bytes, async () => {
    try {
      if (isClosed(answer)) throw new ClientDisconnectedError();
      resolve(await read());
    } catch (error) {
      large.delete(answer);
      reject(error as Error);
      return;
    }
    await closed(answer);
  });
  return promise;
}

const isClosed = (to: Writable): boolean => to.closed || to.destroyed;

function closed(to: Writable): Promise<void> {
  if (isClosed(to)) return Promise.resolve();
  return new Promise((done) => {
    const limit = setTimeout(() => to.destroy(), MOST_MS);
    to.once('close', () => {
      clearTimeout(limit);
      done();
    });
  });
}
