import { newId } from '../base/ids/ids.ts';
import type { ChangeRecord, ChangeWebhook } from './change-log.ts';

/** Kinds of objects of which every logged change has a webhook. */
const USUAL = ['thread', 'folder', 'label', 'draft'] as const;
const VERBS = { create: 'created', modify: 'updated', delete: 'deleted' } as const;

/**
 * SQL of the trigger of a logged change that sends a webhook.
 * @param change alias of a row of `change`
 */
export const triggerOf = (change: string): string => `
  (${change}.object || '.' || case ${change}.event ${Object.entries(VERBS)
    .map(([event, verb]) => `when '${event}' then '${verb}'`)
    .join(' ')} end)`;

/**
 * The webhook of a change: its own, or the usual one of its kind of object. Each change of a
 * thread, folder, label or draft has a usual one, and each deletion of a message.
 * @returns `null` if the change has no webhook
 */
export function webhookOf(change: ChangeRecord): ChangeWebhook | null {
  const { webhook, object, event, objectId } = change;
  if (webhook !== undefined) return webhook;
  const kind = USUAL.find((one) => one === object);
  const trigger = kind
    ? (`${kind}.${VERBS[event]}` as const)
    : object === 'message' && event === 'delete'
      ? 'message.deleted'
      : null;
  if (!trigger) return null;
  const folders = object === 'folder' || object === 'label' ? [objectId] : [];
  return { trigger, dedupe: dedupeKey(trigger, objectId), folders };
}

/** A key for a change that is an event of its own, however often the object changes. */
export function dedupeKey(trigger: ChangeWebhook['trigger'], objectId: string): string {
  return `${trigger}:${objectId}:${newId()}`;
}

/** The change without a webhook, for what the first reading of a mailbox finds. */
export function unannounced(change: ChangeRecord): ChangeRecord {
  return { ...change, webhook: null };
}
