import { copiesAwaitedSince, storedCopyKey } from '../../mail/outbox/sent-by-us.ts';
import type { Sql } from '../../platform/database/sql.ts';
import type { ReadFailure } from '../failures/sync-failures.ts';
import type { Batch } from './batch-store.ts';
import { type IncomingMessage, isFailed, isListed, type Knowledge } from './mirror-plan.ts';

/** How far the clock of a provider may be behind. */
const CLOCKS_MS = 600_000;
/** Why a message is requested again on which its provider has not failed. */
export const MAY_BE_COPY =
  'it may be the copy of a message that was sent from here; its contents will tell';

/** A batch in two parts: what can be stored, and what has to be read before it is stored. */
export interface ClearMessages {
  incoming: readonly IncomingMessage[];
  /** Messages that are requested again. */
  unclear: ReadFailure[];
}

/**
 * Sets apart messages in Sent that may be copies of messages that were sent from here (ADR 0144).
 * Their contents are not known, so their marks are not, and a copy that is stored as a message of
 * its own stays beside the message that was sent. They are requested again until their contents
 * have come, or until no sent message waits for its copy: a day after the last attempt at most.
 */
export async function clearMessages(
  sql: Sql,
  accountId: string,
  { incoming, folders: { sent: sentFolder }, mail: { marksSent = false } }: Batch,
  { known, sent }: Pick<Knowledge, 'known' | 'sent'>,
): Promise<ClearMessages> {
  const mayBeCopy = ({ remote, parsed }: IncomingMessage): boolean =>
    sentFolder !== undefined &&
    isListed(remote) &&
    remote.folderIds.includes(sentFolder) &&
    !known.has(remote.providerId) &&
    !sent.has(storedCopyKey(remote.providerId)) &&
    !sent.has(parsed?.messageIdHeader ?? '') &&
    (marksSent || !parsed?.headers);
  if (!incoming.some(mayBeCopy)) return { incoming, unclear: [] };
  const awaited = await copiesAwaitedSince(sql, accountId);
  if (awaited === null) return { incoming, unclear: [] };
  const since = awaited.getTime() - CLOCKS_MS;
  const unclear = new Set(
    incoming.filter((one) => one.remote.receivedAt.getTime() >= since && mayBeCopy(one)),
  );
  return {
    incoming: incoming.filter((one) => !unclear.has(one)),
    // The failures of the provider are recorded with their own reasons.
    unclear: [...unclear].flatMap(({ remote }) =>
      isFailed(remote) ? [] : [{ providerId: remote.providerId, reason: MAY_BE_COPY, again: true }],
    ),
  };
}
