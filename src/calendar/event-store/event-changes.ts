import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import {
  type ChangeOwner,
  type ChangeVerb,
  objectChange,
} from '../../platform/changes/object-change.ts';
import type { Metadata } from '../../platform/database/metadata-filter.ts';

/** An event, as far as notices of its changes describe it. */
export interface ChangedEvent {
  id: string;
  calendarId: string;
  metadata?: Metadata | null;
}

/**
 * What a change of an event looks like in the change log and to subscribers (api facts 10.4).
 * @param dedupe makes a second notice of the same happening impossible; null: subscribers are not told
 */
export function eventChange(
  owner: ChangeOwner,
  { id, calendarId, metadata }: ChangedEvent,
  verb: ChangeVerb,
  dedupe: string | null,
): ChangeRecord {
  const attributes = { calendar_id: calendarId, created_before_account_connection: false };
  const described = { attributes, ...(metadata === undefined ? {} : { metadata }) };
  return objectChange('event', owner, id, verb, dedupe === null ? null : { dedupe, ...described });
}
