import type { ChangeRecord } from '../platform/changes/change-log.ts';

const EVENTS = { created: 'create', updated: 'modify', deleted: 'delete' } as const;

/**
 * What a change of a contact looks like in the change log and to subscribers (api facts 10.4).
 * @param dedupe makes a second notice of the same happening impossible; null: subscribers are not told
 */
export function contactChange(
  owner: Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>,
  objectId: string,
  verb: keyof typeof EVENTS,
  dedupe: string | null,
): ChangeRecord {
  const change = { ...owner, object: 'contact', objectId, event: EVENTS[verb] } as const;
  return dedupe === null ? change : { ...change, webhook: { trigger: `contact.${verb}`, dedupe } };
}
