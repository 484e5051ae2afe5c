import type { ChangeRecord } from '../platform/changes/change-log.ts';
import {
  type ChangeOwner,
  type ChangeVerb,
  objectChange,
} from '../platform/changes/object-change.ts';

/**
 * Builds the change-log record of a change to a contact. Subscribers are notified unless `dedupe`
 * is `null`.
 * @param dedupe key that prevents a second notification of the same change; `null` if no webhook
 *   is to be sent
 */
export function contactChange(
  owner: ChangeOwner,
  objectId: string,
  verb: ChangeVerb,
  dedupe: string | null,
): ChangeRecord {
  return objectChange('contact', owner, objectId, verb, dedupe === null ? null : { dedupe });
}
