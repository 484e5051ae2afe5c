import type { SendRoute } from '../../platform/job-statuses/job-status.ts';
import type { OutgoingContent } from '../composing/outgoing-content.ts';

/** What becomes of a message that is found late, after the server was down (never attempted until then). */
export const ON_MISSED = ['send', 'skip'] as const;
export type OnMissed = (typeof ON_MISSED)[number];

/** What is done when nobody can tell whether a message was sent: perhaps twice, or perhaps not at all. */
export const ON_UNKNOWN = ['resend', 'fail'] as const;
export type OnUnknown = (typeof ON_UNKNOWN)[number];

/** What the sender has decided for the cases nobody hopes for. */
export interface OutboxChoices {
  onMissed: OnMissed;
  /** How late it may be found and still be sent; null unless `onMissed` is `skip`. */
  maxLatenessSeconds: number | null;
  /** Null: what the server does by default. */
  onUnknown: OnUnknown | null;
}

/** When a message is to be sent, and until when it is tried. */
export interface OutboxTimes {
  sendAt: Date;
  /** Equal to `sendAt`: a single attempt. */
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
  /** Which way it went; null: nobody has got it yet. */
  route: SendRoute | null;
  createdAt: Date;
  /** 1 when accepted; grows with each edit. */
  version: number;
}
