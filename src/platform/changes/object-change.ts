import type { ChangeRecord } from './change-log.ts';

const EVENTS = { created: 'create', updated: 'modify', deleted: 'delete' } as const;

/** What was done to an object. */
export type ChangeVerb = keyof typeof EVENTS;

/** The application and account of a changed object, and the time of the change. */
export type ChangeOwner = Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>;

/**
 * Builds a change for the log, with its webhook `<object>.<verb>`.
 * @param notice contents of the webhook; `null` = no webhook
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
