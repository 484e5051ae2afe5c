import type { Database } from '../../platform/database/sql.ts';
import type {
  ProviderWrite,
  WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { scheduleSync } from '../../accounts/sync-schedule/schedule-sync.ts';

/** How many attempts wait for a sync to find what another client has moved or renamed. */
const MOST_SYNCS = 2;

/** Where a write did not find its message or folder. */
interface Missed {
  accountId: string;
  /** The provider's id that the write used. */
  tried: string;
  /** The provider's id that the mirror has now. */
  current: string | null;
  error: ProviderError;
}

/**
 * The provider has no message or folder of this id: another client may have moved it. The mirror knows its new place
 * already, or after its next sync.
 * @throws {ProviderError} a temporary one after it has asked for a sync; `error` itself after `MOST_SYNCS` attempts
 */
export async function lookAgain(
  database: Database,
  { attempt }: ProviderWrite,
  { accountId, tried, current, error }: Missed,
): Promise<WriteOutcome> {
  if (current !== tried) return { kind: 'waits', until: new Date(0) };
  if (attempt > MOST_SYNCS) throw error;
  await scheduleSync(database, accountId);
  throw new ProviderError('temporary', error.message, { cause: error });
}
