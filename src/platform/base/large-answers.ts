import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';
import { DomainError } from './errors/domain-error.ts';
import { ByteBudget } from './concurrency/byte-budget.ts';

/** Bytes of large pages that one process reads and answers at a time. In memory they are several times as much. */
const MOST_BYTES = 64 * 1024 * 1024;
/** How long a client may take to receive a large answer; it would hold up those of all others. */
const MOST_MS = 120_000;

/** Of everything that is done for a request, its answer: one store for all who ask, because each costs every request. */
const answers = new AsyncLocalStorage<Writable>();
const budget = new ByteBudget(MOST_BYTES);
/** Answers that have room, or wait for it. */
const large = new WeakSet<Writable>();
/** Answers whose pages stay small. */
const small = new WeakSet<Writable>();

/** Nobody waits for the answer any more. */
export class ClientGoneError extends DomainError {
  constructor() {
    super('request.client-gone', 'invalid', 'The client has gone before its answer was read');
  }
}

/** Runs the work of a request, so that `currentAnswer` and `largeAnswer` know which answer it is for. */
export function duringAnswer(to: Writable, work: () => void): void {
  answers.run(to, work);
}

/** The answer of the request that is worked on; undefined outside of one. */
export function currentAnswer(): Writable | undefined {
  return answers.getStore();
}

/** Makes pages of an answer stay small (`mayBeLarge`): its client listens for long, and would keep the room from others. */
export function keepSmall(answer: Writable): void {
  small.add(answer);
}

/** Whether the answer of this request may have large pages. */
export function mayBeLarge(): boolean {
  const answer = answers.getStore();
  return !answer || !small.has(answer);
}

/**
 * Reads a large page for the answer of this request as soon as there is room for it. The page has the room until the client has
 * received the answer or has gone; a client that takes longer than two minutes is cut off. Only the first large page of a request
 * waits; outside of requests none does.
 * @param bytes how long the page is
 * @throws {ClientGoneError} when the client has gone while its page waited: then nothing is read
 */
export function largeAnswer<T>(bytes: number, read: () => Promise<T>): Promise<T> {
  const answer = answers.getStore();
  // Who waited for more while holding some would wait for others that do the same.
  if (!answer || large.has(answer)) return read();
  large.add(answer);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  void budget.run(bytes, async () => {
    try {
      if (isClosed(answer)) throw new ClientGoneError();
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
