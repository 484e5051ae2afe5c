import type { ListedWatch } from '../../accounts/push/list-subscriptions.ts';
import type { AddressProof } from '../../providers/port/sign-in/address-proof.ts';
import type { BillingState, GrantStatus, SyncState } from '../../platform/auth/grant-status.ts';
import type { Quota } from '../../platform/quotas/quota.ts';

/**
 * Health of an account, worst first. An account has the first one that fits.
 *
 * - `invalid-credentials`: the provider refused the credentials, the user has to sign in again
 * - `circuit-open`: its server cannot be reached or asked for a pause, so its messages wait
 * - `quarantined`: workers died while they sent a message or synced the mailbox
 * - `sync-failing`: sync passes fail, or a part of the mailbox cannot be read
 * - `sync-late`: a sync pass is due for more than ten minutes
 * - `audit-failing`: the last audit could not repair every difference to the mailbox
 * - `over-quota`: it has used up a quota today
 * - `watch-failing`: a subscription at the provider failed or expired, so changes arrive later
 * - `sending-paused`: an operator paused its sending, or that of its application
 * - `suspended`: an operator suspended its application
 * - `cancelled`: its application cancelled it, so it is not synced
 * - `reading-history`: the mailbox is being read for the first time
 * - `healthy`: nothing of all this
 */
export const ACCOUNT_HEALTHS = [
  'invalid-credentials',
  'circuit-open',
  'quarantined',
  'sync-failing',
  'sync-late',
  'audit-failing',
  'over-quota',
  'watch-failing',
  'sending-paused',
  'suspended',
  'cancelled',
  'reading-history',
  'healthy',
] as const;
export type AccountHealth = (typeof ACCOUNT_HEALTHS)[number];

/** A sync pass that has been due for longer than this is late. */
export const SYNC_LATE_SECONDS = 600;

/** A pause of sending. */
export interface SendingPause {
  since: Date;
  /** The operator's words; `null` if none were given. */
  reason: string | null;
}

/** An account in the operator's list. */
export interface AccountItem {
  id: string;
  email: string;
  provider: string;
  applicationId: string;
  applicationName: string;
  clientId: string;
  health: AccountHealth;
  /** Why it has this health, in the provider's words where there are any; `null` if healthy. */
  reason: string | null;
  syncState: SyncState;
  /** When its mirror first caught up with the mailbox; `null` while it reads the history. */
  currentSince: Date | null;
  /** How long its sync pass has been due, in seconds; 0 if none is due. */
  syncLagSeconds: number;
  /** Set if its own sending is paused; the pause of its application is not repeated here. */
  sendingPaused: SendingPause | null;
  connectedAt: Date;
}

/** Which accounts to list. Absent fields do not filter. */
export interface AccountFilter {
  /** Client id or id of the application. */
  application?: string | undefined;
  provider?: string | undefined;
  /** Accounts that have this problem, whatever else is wrong with them. */
  health?: AccountHealth | undefined;
  /** Accounts whose last sync pass failed at this server, such as `mail.example.com:993 (IMAP)`. */
  server?: string | undefined;
  /** A part of the address, in upper or lower case. */
  address?: string | undefined;
}

/** Waiting messages of an account. Numbers do not go beyond 10,000. */
export interface WaitingMessages {
  /** Accepted and not ended, those of later times included. */
  open: number;
  /** Of these, messages that wait because sending is paused. */
  paused: number;
  /** The first deadline of the waiting messages; `null` if none waits. */
  firstDeadline: Date | null;
}

/** The mirror of an account's mailbox. */
export interface AccountSync {
  state: SyncState;
  /** Why it is not healthy; `null` if it is. */
  reason: string | null;
  /** `null` while the history is being listed. */
  currentSince: Date | null;
  /** Messages that are listed and whose content is not read yet. Up to 10,000. */
  contentsLeft: number;
  /** When the next pass is due; `null` if the account is not synced. */
  nextPassAt: Date | null;
  /** Whether a worker is running a pass now. */
  running: boolean;
  lagSeconds: number;
  /** Failures since the mailbox was last stable. */
  failures: number;
  /** Workers that died during a pass. */
  crashes: number;
  /** Messages that could not be read. Up to 10,000. */
  unreadableMessages: number;
}

/** The last audit of the mirror. */
export interface AccountAudit {
  /** `null` before the first audit of the whole mailbox is complete. */
  checkedAt: Date | null;
  messagesChecked: number;
  differencesFound: number;
  repaired: number;
  unrepaired: number;
  /** Audits in a row that could not repair every difference. */
  failed: number;
}

/** The rate gate of an account's messages. */
export interface AccountGateState {
  /** The circuit breaker lets no message through until then; `null` if it is not stopped. */
  openUntil: Date | null;
  reason: string | null;
  /** Consecutive troubles with its server. */
  failures: number;
}

/** What an account has used of a quota today. */
export interface AccountQuota {
  quota: Quota;
  used: number;
  /** When the limit was reached; `null` if it was not. */
  reachedAt: Date | null;
}

/** The last thing that went wrong for an account. */
export interface AccountError {
  at: Date | null;
  /** What failed. */
  what: 'credentials' | 'sync' | 'send' | 'subscription' | 'unreadable message';
  /** The provider's words, or our own reason. */
  text: string;
}

/** One account in detail. */
export interface AccountDetail extends AccountItem {
  name: string;
  grantStatus: GrantStatus;
  billingState: BillingState;
  /** Whether it signed in by OAuth. */
  byOauth: boolean;
  /** The proof that the mailbox belongs to the address; `null` if there is none. */
  proof: AddressProof | null;
  linkedAt: Date;
  /** Everything that is wrong, worst first; `health` is the first of these. */
  problems: { health: AccountHealth; reason: string | null }[];
  applicationSendingPaused: SendingPause | null;
  applicationSuspended: SendingPause | null;
  sync: AccountSync;
  audit: AccountAudit | null;
  gate: AccountGateState;
  messages: WaitingMessages;
  watches: ListedWatch[];
  quotas: AccountQuota[];
  /** Newest first, at most one of each kind. */
  errors: AccountError[];
}
