import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { wasNeverSent } from '../../port/service-responses.ts';
import { NoAccessTokenError } from '../google-api.ts';
import { GoogleError } from '../google-error.ts';

/** Lists show a new contact at the latest after so long, as far as is known. Milliseconds. */
const LAG_MS = 300_000;

/**
 * The contacts that this process has created in the last minutes, and the requests to create one
 * whose response was lost. Google's lists do not show them yet.
 */
export class RecentCreations {
  /** By key; `id` is `null` if the response was lost. */
  readonly #recent = new Map<string, { id: string | null; at: number }>();

  /** Notes the outcome of a creation. @param now milliseconds */
  note(key: string, id: string | null, now: number): void {
    for (const [other, { at }] of this.#recent) if (now - at > LAG_MS) this.#recent.delete(other);
    this.#recent.set(key, { id, at: now });
  }

  /** The contact that was created with a key; `undefined` if this process has created none. */
  idOf(key: string): string | undefined {
    return this.#recent.get(key)?.id ?? undefined;
  }

  /** Seconds until a list proves that a creation had no effect; 0 if it does so already. */
  secondsToWait(key: string, now: number): number {
    const recent = this.#recent.get(key);
    return recent?.id === null ? Math.max(0, Math.ceil((recent.at + LAG_MS - now) / 1000)) : 0;
  }
}

/** Whether a request to create a contact that failed with this error may have had an effect. */
export function mayHaveCreated(error: unknown): error is ProviderError {
  if (!(error instanceof ProviderError) || error.code !== 'temporary') return false;
  if (error instanceof NoAccessTokenError || wasNeverSent(error)) return false;
  return !(error instanceof GoogleError) || error.status >= 500;
}
