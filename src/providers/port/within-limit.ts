import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/**
 * Waits a limited time for a provider, for requests of people who wait.
 * @param ask gets a signal that aborts after the limit
 * @throws {ProviderError} `temporary` if there is no answer in time
 */
export async function withinLimit<T>(
  limitMs: number,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(limitMs);
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () =>
      reject(new ProviderError('temporary', `it did not answer within ${limitMs / 1000} seconds`)),
    );
  });
  return Promise.race([ask(signal), late]);
}
