import type { SendRoute } from '../../../job-statuses/job-status.ts';
import type { OutgoingContent } from '../../composing/outgoing-content.ts';

/**
 * What to do with a message that is picked up late, after the server was down, and was never
 * attempted.
 */
export const ON_MISSED = ['send', 'skip'] as const;
export type OnMissed = (typeof ON_MISSED)[number];

/**
 * What to do if the outcome of a message stays unknown: `resend` may deliver it twice, `fail`
 * perhaps not at all.
 */
export const ON_UNKNOWN = ['resend', 'fail'] as const;
export type OnUnknown = (typeof ON_UNKNOWN)[number];

/** The sender's choices for exceptional cases. */
export interface OutboxChoices {
  onMissed: OnMissed;
  /**
   * How late the message may be picked up and still be sent; `null` unless `onMissed` is `skip`.
   */
  maxLatenessSeconds: number | null;
  /** `null` for the server's default. */
  onUnknown: OnUnknown | null;
}

/** When a message is sent, and until when it is attempted. */
export interface OutboxTimes {
  sendAt: Date;
  /** Instant of the last attempt. Not after `sendAt` for a single attempt (`retry-limit.ts`). */
  retryLimitAt: Date;
}

/** An outbox message with its status, as the repository reads it. */
export interface OutboxItem extends OutboxChoices {
  id: string;
  accountId: string;
  content: OutgoingContent;
  status: string;
  reason: string | null;
  sendAt: Date;
  originalSendAt: Date;
  retryLimitAt: Date;
  messageId: string;
  threadId: string;
  /** Route over which it was sent, or `null` if no recipient has accepted it yet. */
  route: SendRoute | null;
  createdAt: Date;
  /** 1 when the message is accepted; grows with each edit. */
  version: number;
}
