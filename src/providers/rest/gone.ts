import { ProviderError } from '../../platform/base/errors/provider-error.ts';

/** The result, or `null` if the provider says that the object does not exist. */
export async function nullIfGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'not-found') return null;
    throw error;
  }
}

/** Waits for a deletion; an object that does not exist is no error. */
export async function ignoreGone(work: Promise<unknown>): Promise<void> {
  await nullIfGone(work);
}
