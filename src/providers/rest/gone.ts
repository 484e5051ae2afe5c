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

/** How a provider is asked again about an object that it did not find. */
export interface SecondLook {
  /** Reads the object. */
  object: () => Promise<unknown>;
  /** Reads something that is always there. */
  anchor: () => Promise<unknown>;
  /** Whether the answer alone proves that the object is gone. Default: none does. */
  isProof?: (error: ProviderError) => boolean;
}

/**
 * Waits for a request about an object. One answer "not found" may be passing (ADR 0124), so the
 * object is read then, and something that is always there.
 * @param work rejects with `not-found` if the provider does not find the object
 * @throws {ProviderError} `not-found` if the provider finds the other thing and not the object;
 *   `temporary` if it finds the object, or nothing at all. Errors of the second look as they are
 */
export async function provenGone<T>(work: Promise<T>, look: SecondLook): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
    if (look.isProof?.(error)) throw error;
    const passing = (what: string) =>
      new ProviderError('temporary', `${error.message}. ${what}, so the request is repeated`, {
        cause: error,
      });
    if ((await nullIfGone(look.object())) !== null) throw passing('But the object is there');
    if ((await nullIfGone(look.anchor())) === null)
      throw passing('But nothing else is found either');
    throw error;
  }
}

/** Waits for a deletion; an object that does not exist is no error. */
export async function ignoreGone(work: Promise<unknown>): Promise<void> {
  await nullIfGone(work);
}
