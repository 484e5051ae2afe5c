import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import {
  type ChangeOwner,
  type ChangeVerb,
  objectChange,
} from '../../platform/changes/object-change.ts';
import type { Metadata } from '../../platform/database/metadata-filter.ts';

/** The fields of an event that a change record needs. */
export interface ChangedEvent {
  id: string;
  calendarId: string;
  metadata?: Metadata | null;
}

/**
 * Describes a change of an event for the change log and for webhooks.
 * @param dedupe key that prevents a second notification about the same change; `null` to notify
 *   no subscribers
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
