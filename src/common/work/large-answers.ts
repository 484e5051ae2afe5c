import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';
import { ByteBudget } from './byte-budget.ts';

/** Bytes of large pages that one process reads and answers at a time. In memory they are several times as much. */
const MOST_BYTES = 64 * 1024 * 1024;
/** How long a client may take to receive a large answer; it would hold up those of all others. */
const MOST_MS = 120_000;

/** Of everything that is done for a request, its answer: one store for all who ask, because each costs every request. */
const answers = new AsyncLocalStorage<Writable>();
const budget = new ByteBudget(MOST_BYTES);
/** Answers that have room, or wait for it. */
const large = new WeakSet<Writable>();

/** Runs the work of a request, so that `currentAnswer` and `largeAnswer` know which answer it is for. */
export function duringAnswer(to: Writable, work: () => void): void {
  answers.run(to, work);
}

/** The answer of the request that is worked on; undefined outside of one. */
export function currentAnswer(): Writable | undefined {
  return answers.getStore();
}

/**
 * Waits until there is room for a large page in the answer of this request, and takes the room until the client has received the
 * answer or has gone. A client that takes longer than two minutes is cut off. Waits once for each request, and never outside of
 * one.
 * @param bytes how long the page is
 */
export function largeAnswer(bytes: number): Promise<void> {
  const answer = answers.getStore();
  // Who waited for more while holding some would wait for others that do the same.
  if (!answer || large.has(answer)) return Promise.resolve();
  large.add(answer);
  const { promise, resolve } = Promise.withResolvers<void>();
  void budget.run(bytes, () => {
    resolve();
    return closed(answer);
  });
  return promise;
}

function closed(to: Writable): Promise<void> {
  if (to.closed || to.destroyed) return Promise.resolve();
  return new Promise((done) => {
    const limit = setTimeout(() => to.destroy(), MOST_MS);
    to.once('close', () => {
      clearTimeout(limit);
      done();
    });
  });
}
