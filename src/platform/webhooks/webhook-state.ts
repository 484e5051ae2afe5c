import type { Transitions } from '../base/state/transitions.ts';

/**
 * `inactive` is set by the owner, `failing` after 15 minutes of only failures, `failed` after 72 hours or when the
 * receiver answers 410: then deliveries stop until the owner activates it again (api facts 10.1).
 */
export const WEBHOOK_STATES = ['active', 'inactive', 'failing', 'failed'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/** The states an owner may ask for. */
export const OWNER_STATES = ['active', 'inactive'] as const satisfies readonly WebhookState[];
export type OwnerState = (typeof OWNER_STATES)[number];

export const WEBHOOK_TRANSITIONS = {
  active: ['inactive', 'failing', 'failed'],
  failing: ['active', 'inactive', 'failed'],
  failed: ['active', 'inactive'],
  inactive: ['active'],
} as const satisfies Transitions<WebhookState>;

/** Everything an application can subscribe to (api facts 10.3). */
export const TRIGGERS = [
  'account.connected', 'account.running', 'account.stopped', 'account.invalid', 'account.sync_error',
  'account.proof_changed',
  'message.created', 'message.opened', 'message.updated', 'message.link_clicked', 'message.bounced',
  'thread.replied',
  'contact.created', 'contact.updated', 'contact.deleted',
  'calendar.created', 'calendar.updated', 'calendar.deleted',
  'event.created', 'event.updated', 'event.deleted',
  'job.successful', 'job.failed', 'job.delayed', 'job.cancelled',
  'quota.reached',
] as const; // prettier-ignore
export type Trigger = (typeof TRIGGERS)[number];
