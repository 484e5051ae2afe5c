import type { ClaimedRow, Outcome } from '../../../platform/work/queue/dispatcher.ts';
import type { DraftVersion, SentDraft } from '../../drafts/sent-drafts.ts';
import type { CredentialsRefusal } from '../../../accounts/grants/mark-invalid.ts';
import type { JobState, SendRoute } from '../../../job-statuses/job-status.ts';
import type { AttemptRecord } from '../../../job-statuses/job-attempts.ts';
import type { JobTransition } from '../../../job-statuses/jobs.ts';
import type {
  ProviderErrorCode,
  RefusedRecipient,
  SendPhase,
} from '../../../platform/base/errors/provider-error.ts';
import type { StoredCopy } from '../../../providers/port/connector.ts';
import type { ConnectedAccount } from '../../../accounts/grants/provider-accounts.ts';
import type { OutgoingContent } from '../../composing/outgoing-content.ts';
import type { OnMissed, OnUnknown } from '../accept/outbox-content.ts';

/** A message as the sender needs it, with its account. */
export interface MessageToSend {
  id: string;
  status: JobState;
  envelope: { from: string; recipients: readonly string[] };
  bcc: OutgoingContent['bcc'];
  /** The provider's thread that the message belongs to, or `null`. */
  providerThreadId: string | null;
  /** The draft the message was made from, or `null`. */
  draft: DraftVersion | null;
  messageIdHeader: string;
  /** `null` for a long message: its text is loaded just before it is sent. */
  mime: Buffer | null;
  /** Length of the MIME text. */
  bytes: number;
  /** Recipients that have accepted the message, and recipients that have refused it for good. */
  accepted: readonly string[];
  refused: readonly RefusedRecipient[];
  onMissed: OnMissed;
  maxLatenessSeconds: number | null;
  /** `null` for the server's default. */
  onUnknown: OnUnknown | null;
  account: ConnectedAccount;
}

/** State of the recipients over all attempts. */
export interface RecipientProgress {
  /** Recipients that have accepted the message. */
  accepted: readonly string[];
  /** Recipients that have refused it for good. */
  refused: readonly RefusedRecipient[];
}

/** What the queue row keeps for the next attempt. */
export interface RouteProgress {
  route: SendRoute;
  /** Failed attempts over this route. */
  failures: number;
  /**
   * Look-ups since the outcome became unknown that neither found the message nor proved that it was
   * not sent.
   */
  lookUps: number;
  /**
   * Number of the attempt that may send again without a look-up, because the outcome stayed unknown
   * (ADR 0019); `null` if none.
   */
  resendAttempt: number | null;
  /**
   * Recipients that the server had deferred when the outcome for the others became unknown: they
   * have not received the message. Valid only if `attempt` is the attempt just before the current
   * one.
   */
  deferred: { attempt: number; emails: readonly string[] } | null;
}

/** A claimed row of `send_job`. */
export interface SendJobRow extends ClaimedRow, RouteProgress {
  retryLimitAt: Date;
  /**
   * Whether the message is on hold, because its account was moved to another mailbox after the
   * message was accepted (ADR 0056).
   */
  held: boolean;
  /** Whether the message waited because sending was paused (ADR 0090). */
  paused: boolean;
  /**
   * Whether a request waits for the result, so that the message is never tried again. Default:
   * false.
   */
  direct?: boolean;
}

/** Result of an attempt, for `recordSends` to write. */
export interface SendResult {
  move: JobTransition | null;
  /** The attempt's line in the timeline. */
  attempt: AttemptRecord | null;
  /** Set if the provider refused the account's credentials for good. */
  refusal: CredentialsRefusal | null;
  /** `null` if there is no next attempt. */
  progress: RouteProgress | null;
  /**
   * New state of the recipients, or `null` to leave the message row as it is. A message that all
   * recipients accepted in one attempt writes nothing (ADR 0019).
   */
  recipients: RecipientProgress | null;
  /**
   * Whether the sender's own copy has to be filed if at least one recipient has the message.
   * Default: false.
   */
  filesCopy?: boolean;
  /** The draft the message was made from; it is deleted once the message is sent. */
  draft?: SentDraft;
  /** Wait that the provider asked for when the attempt failed, in seconds. */
  retryAfterSeconds?: number | null;
  /** The sender's copy, if the provider named it. */
  stored?: StoredCopy;
  /**
   * True if sending is paused, so that nothing was attempted: the attempt does not count, and the
   * message is due again when sending is resumed. Default: false.
   */
  paused?: boolean;
}

/** One attempt while it runs. */
export interface Attempt extends Pick<RouteProgress, 'route' | 'failures'> {
  row: SendJobRow;
  startedAt: Date;
  /** `null` when only the queue row is known, as after an unexpected error. */
  message: MessageToSend | null;
  /**
   * Whether the hand-off marker was committed, so that the provider may have received the message.
   */
  handedOff: boolean;
  /**
   * Whether recipients that had refused the message are addressed again. Default: false.
   */
  readdressed?: boolean;
}

/** An attempt whose message is loaded. */
export type LoadedAttempt = Attempt & { message: MessageToSend };

/** Why an attempt failed, or which recipients it did not reach. */
export interface AttemptEnd {
  code: ProviderErrorCode;
  phase: SendPhase | null;
  /** Text of the provider's response, or our own reason. */
  detail: string;
  /** The server that was asked, for operators. */
  server?: string | null;
  retryAfterSeconds?: number | null;
  /** Recipients that were refused. Set if the server rejected the whole message. */
  refused?: readonly RefusedRecipient[];
  /**
   * New state of the recipients. Set if the provider accepted the message and deferred some
   * recipients, or refused some before the outcome became unknown.
   */
  recipients?: RecipientProgress;
  /**
   * Only with an unknown outcome: recipients that the server deferred before the outcome became
   * unknown. They have not received the message.
   */
  deferred?: readonly string[];
  /** Whether at least one recipient accepted the message in this attempt. */
  acceptedBySome?: boolean;
  /**
   * True for a bug or a failure of our own database. The attempt then says nothing about the
   * provider.
   */
  internal?: boolean;
  /** True if our own limit on requests kept the provider from being asked. Default: false. */
  ownLimit?: boolean;
}

/**
 * A message whose deadline passed more than this many seconds ago fails without an attempt: no
 * worker picked it up in time.
 */
export const OVERDUE_SECONDS = 60;

/** Deadline of a message with a single attempt, in seconds after its send time. */
export const SINGLE_ATTEMPT_SECONDS = 3_600;

/** Outcome of a row that has nothing left to send, for example because its account was deleted. */
export const NOTHING_TO_SEND: Outcome<SendResult> = {
  next: { kind: 'done' },
  result: { move: null, attempt: null, refusal: null, progress: null, recipients: null },
};
