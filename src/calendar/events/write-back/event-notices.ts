import { clearFlag, openWritesWithFlag } from '../../../accounts/provider-writes/open-writes.ts';
import type { Sql } from '../../../platform/database/sql.ts';

const FLAG = 'notify';

/** Payload of an open write that asks the provider to mail the participants (ADR 0078). */
export const ASKS_PROVIDER = { [FLAG]: true };

/** Whether a write asks the provider to mail the participants. */
export function asksProvider({ payload }: { payload: Readonly<Record<string, unknown>> }): boolean {
  return payload[FLAG] === true;
}

/**
 * Ids of the open writes of an event that ask the provider to mail the participants. Read them
 * before the event: a write carries the event as it is, with the changes of these writes.
 */
export function writesThatNotify(sql: Sql, eventId: string): Promise<string[]> {
  return openWritesWithFlag(sql, eventId, ['create_event', 'update_event'], FLAG);
}

/** Stores that the provider has mailed the participants about the changes of these writes. */
export function storeNotified(sql: Sql, writeIds: readonly string[]): Promise<void> {
  return clearFlag(sql, writeIds, FLAG);
}
