import type { ClaimedJob, Outcome } from '../../platform/work/dispatcher.ts';
import type { DraftVersion, SentDraft } from '../drafts/sent-drafts.ts';
import type { CredentialsRefusal } from '../../accounts/grants/mark-invalid.ts';
import type { JobState, SendRoute } from '../../platform/job-statuses/job-status.ts';
import type { AttemptRecord, JobMove } from '../../platform/job-statuses/jobs.ts';
import type {
  ProviderErrorCode,
  RefusedRecipient,
  SendPhase,
} from '../../platform/base/errors/provider-error.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { OutgoingContent } from '../composing/outgoing-content.ts';
import type { OnMissed, OnUnknown } from './outbox-content.ts';

/** A message as the sender needs it, with its account. */
export interface StoredMessage {
  id: string;
  status: JobState;
  envelope: { from: string; recipients: readonly string[] };
  bcc: OutgoingContent['bcc'];
  /** The draft it was; null: none. */
  draft: DraftVersion | null;
  messageIdHeader: string;
  /** Null where it is a long one: it is fetched when it is about to be sent. */
  mime: Buffer | null;
  /** Of the MIME text. */
  bytes: number;
  /** Who has accepted it, and who has refused it for good. */
  accepted: readonly string[];
  refused: readonly RefusedRecipient[];
  onMissed: OnMissed;
  maxLatenessSeconds: number | null;
  /** Null: the server's default. */
  onUnknown: OnUnknown | null;
  account: ConnectedAccount;
}

/** How far a message has come with its recipients, over all attempts. */
export interface RecipientProgress {
  /** Those who have accepted it. */
  accepted: readonly string[];
  /** Those who have refused it for good. */
  refused: readonly RefusedRecipient[];
}

/** What a row that goes on carries along. */
export interface RouteProgress {
  route: SendRoute;
  /** Attempts over this route that have failed. */
  failures: number;
  /** Look-ups of the present unknown outcome that proved nothing. */
  lookUps: number;
  /** The attempt that sends again without a look-up, because an outcome stayed unknown (ADR 0019). Null: none. */
  resendAttempt: number | null;
  /**
   * Recipients that the server put off when the outcome of `attempt` became unknown: they have not got it. Of no meaning after
   * another attempt.
   */
  putOff: { attempt: number; emails: readonly string[] } | null;
}

export interface SendJobRow extends ClaimedJob, RouteProgress {
  retryLimitAt: Date;
  /** Its account was moved to another mailbox since it was accepted: it must not be sent from there unasked. */
  held: boolean;
}

/** What an attempt came to. */
export interface SendResult {
  move: JobMove | null;
  /** Its line in the timeline. */
  attempt: AttemptRecord | null;
  /** The account's credentials were refused for good. */
  refusal: CredentialsRefusal | null;
  /** Null: the row does not go on. */
  progress: RouteProgress | null;
  /** Recipients to be written down; null: the message's row lists them all. */
  recipients: RecipientProgress | null;
  /** Whether the sender's own copy has to be filed. Default false. */
  filesCopy?: boolean;
  /** The draft it was, which disappears once it is sent. */
  draft?: SentDraft;
  /** What the provider asked for when it failed. */
  retryAfterSeconds?: number | null;
}

/** One attempt as it goes on. */
export interface Attempt extends Pick<RouteProgress, 'route' | 'failures'> {
  job: SendJobRow;
  startedAt: Date;
  /** Null: it did not come to that. */
  message: StoredMessage | null;
  /** Whether it came to sending. */
  handedOff: boolean;
}

/** The same with its message. */
export type LoadedAttempt = Attempt & { message: StoredMessage };

export interface AttemptEnd {
  code: ProviderErrorCode;
  phase: SendPhase | null;
  /** The provider's words. */
  detail: string;
  retryAfterSeconds?: number | null;
  /** Recipients that were refused, where the whole message was. */
  refused?: readonly RefusedRecipient[];
  /** Set when the provider accepted the message, but put off some recipients: who has it by now. */
  recipients?: RecipientProgress;
  /** With an unknown outcome: recipients the provider had put off before. */
  putOff?: readonly string[];
  /** Whether this attempt has brought it to somebody. */
  taken?: boolean;
  /** A bug or our own database: it says nothing about the provider. */
  internal?: boolean;
}

/** A message whose deadline is longer ago has missed it: nothing was attempted in time. */
export const OVERDUE_SECONDS = 60;

/** There is nothing left to send. */
export const NOTHING: Outcome<SendResult> = {
  next: { kind: 'done' },
  result: { move: null, attempt: null, refusal: null, progress: null, recipients: null },
};
