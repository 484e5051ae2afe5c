import type { ChangeRecord } from '../platform/changes/change-log.ts';
import {
  type ChangeOwner,
  type ChangeVerb,
  objectChange,
} from '../platform/changes/object-change.ts';

/**
 * Builds the change-log record of a change to a contact.
 * @param dedupe key that prevents a second webhook for the same change; `null` sends no webhook
 */
export function contactChange(
  owner: ChangeOwner,
  objectId: string,
  verb: ChangeVerb,
  dedupe: string | null,
): ChangeRecord {
  return objectChange('contact', owner, objectId, verb, dedupe === null ? null : { dedupe });
}
