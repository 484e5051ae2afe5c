import type { Transitions } from '../base/state/transitions.ts';

/**
 * The owner sets `inactive`. A webhook becomes `failing` after 15 minutes of only failures. It
 * becomes `failed` after 72 hours of them, or when the receiver answers 410; deliveries then stop
 * until the owner activates it again.
 */
export const WEBHOOK_STATES = ['active', 'inactive', 'failing', 'failed'] as const;
export type WebhookState = (typeof WEBHOOK_STATES)[number];

/**
 * How events reach the owner of a webhook: `push` sends them to its `callback_url`, with `pull` the
 * owner reads them from the feed.
 */
export const WEBHOOK_DELIVERIES = ['push', 'pull'] as const;
export type WebhookDeliveryKind = (typeof WEBHOOK_DELIVERIES)[number];

/** States that an owner can set. */
export const OWNER_STATES = ['active', 'inactive'] as const satisfies readonly WebhookState[];
export type OwnerState = (typeof OWNER_STATES)[number];

/** States that a mail to the contact address reports as trouble. */
export const MAILED_STATES = ['failing', 'failed'] as const satisfies readonly WebhookState[];

export const WEBHOOK_TRANSITIONS = {
  active: ['inactive', 'failing', 'failed'],
  failing: ['active', 'inactive', 'failed'],
  failed: ['active', 'inactive'],
  inactive: ['active'],
} as const satisfies Transitions<WebhookState>;

/**
 * What a delivery says about the object of an event: `ids` names it, `summary` has some of its
 * fields, `full` all that its own endpoint shows.
 */
export const WEBHOOK_CONTENTS = ['ids', 'summary', 'full'] as const;
export type WebhookContent = (typeof WEBHOOK_CONTENTS)[number];

/** All events that an application can subscribe to. */
export const TRIGGERS = [
  'account.connected',
  'account.running',
  'account.stopped',
  'account.invalid',
  'account.sync_error',
  'account.proof_changed',
  'grant.created',
  'grant.updated',
  'grant.expired',
  'grant.deleted',
  'message.created',
  'message.opened',
  'message.updated',
  'message.deleted',
  'message.link_clicked',
  'message.bounced',
  'thread.created',
  'thread.updated',
  'thread.deleted',
  'thread.replied',
  'folder.created',
  'folder.updated',
  'folder.deleted',
  'label.created',
  'label.updated',
  'label.deleted',
  'draft.created',
  'draft.updated',
  'draft.deleted',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'calendar.created',
  'calendar.updated',
  'calendar.deleted',
  'event.created',
  'event.updated',
  'event.deleted',
  'reminder.sent',
  'reminder.failed',
  'job.successful',
  'job.failed',
  'job.delayed',
  'job.cancelled',
  'quota.reached',
  'webhook.failing',
  'webhook.failed',
  'webhook.recovered',
] as const;
export type Trigger = (typeof TRIGGERS)[number];
