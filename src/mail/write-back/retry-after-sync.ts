import type { Database } from '../../platform/database/sql.ts';
import type {
  ProviderWrite,
  WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { scheduleSync } from '../../accounts/sync-schedule/schedule-sync.ts';

/**
 * Number of attempts that wait for a sync pass to find a message or folder that another client has
 * moved or renamed.
 */
const MOST_SYNCS = 2;

/** A provider write that did not find its message or folder. */
interface Missed {
  accountId: string;
  /** The provider id that the write used. */
  tried: string;
  /** The provider id that the mirror has now. */
  current: string | null;
  error: ProviderError;
}

/**
 * Decides how a write continues when the provider has no message or folder with the id it used.
 * Another client may have moved or renamed it. If the mirror already has another id, the write is
 * repeated immediately. Otherwise a sync pass is requested and the write is retried.
 * @throws {ProviderError} a temporary error after a sync pass was requested; `error` itself after
 *   `MOST_SYNCS` attempts
 */
export async function retryAfterSync(
  database: Database,
  { attempt }: ProviderWrite,
  { accountId, tried, current, error }: Missed,
): Promise<WriteOutcome> {
  if (current !== tried) return { kind: 'waits', until: new Date(0) };
  if (attempt > MOST_SYNCS) throw error;
  await scheduleSync(database, accountId);
  throw new ProviderError('temporary', error.message, { cause: error });
}
