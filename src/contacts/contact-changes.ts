import type { ChangeRecord } from '../platform/changes/change-log.ts';
import {
  type ChangeOwner,
  type ChangeVerb,
  objectChange,
} from '../platform/changes/object-change.ts';

/**
 * What a change of a contact looks like in the change log and to subscribers (api facts 10.4).
 * @param dedupe makes a second notice of the same happening impossible; null: subscribers are not told
 */
export function contactChange(
  owner: ChangeOwner,
  objectId: string,
  verb: ChangeVerb,
  dedupe: string | null,
): ChangeRecord {
  return objectChange('contact', owner, objectId, verb, dedupe === null ? null : { dedupe });
}
