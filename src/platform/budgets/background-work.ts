import { AsyncLocalStorage } from 'node:async_hooks';

const background = new AsyncLocalStorage<true>();

/**
 * Marks background work, such as a sync pass. Its calls of a company's API stop before
 * those of requests when the application comes near its ceiling (docs/adr/0125).
 */
export function inBackground<T>(work: () => Promise<T>): Promise<T> {
  return background.run(true, work);
}

/** Whether the caller runs within `inBackground`. */
export const isInBackground = (): boolean => background.getStore() === true;
