import type { ChangeRecord } from './change-log.ts';

const EVENTS = { created: 'create', updated: 'modify', deleted: 'delete' } as const;

/** What has happened to an object. */
export type ChangeVerb = keyof typeof EVENTS;

/** Whose object has changed, and when. */
export type ChangeOwner = Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>;

/**
 * A change as the log has it, with the notice for subscribers of `<object>.<verb>`.
 * @param notice null: subscribers are not told
 */
export function objectChange(
  object: 'event' | 'calendar' | 'contact',
  { applicationId, accountId, at }: ChangeOwner,
  objectId: string,
  verb: ChangeVerb,
  notice: Omit<NonNullable<ChangeRecord['webhook']>, 'trigger'> | null,
): ChangeRecord {
  const change = { applicationId, accountId, object, objectId, event: EVENTS[verb], at };
  return notice ? { ...change, webhook: { trigger: `${object}.${verb}`, ...notice } } : change;
}
