import type { ApplicationFeature, Plan } from '../../platform/auth/plan.ts';

/** A state that an operator has set, with the reason. */
export interface OperatorHold {
  since: Date;
  /** The operator's words; `null` if none were given. */
  reason: string | null;
}

/** An application in the operator's list. */
export interface ApplicationItem {
  id: string;
  clientId: string;
  name: string;
  plan: Plan;
  features: ApplicationFeature[];
  region: string;
  createdAt: Date;
  /** Connected accounts. Up to 100,000. */
  accounts: number;
  /** Of these, accounts whose credentials were refused. Up to 100,000. */
  invalidAccounts: number;
  /** Set while every message of its accounts waits. */
  sendingPaused: OperatorHold | null;
  /** Set while its requests are refused and its accounts are neither synced nor sent for. */
  suspended: OperatorHold | null;
  /** Set once its deletion has begun. */
  deletion: ApplicationDeletionState | null;
}

/** Progress of the deletion of an application. */
export interface ApplicationDeletionState {
  applicationId: string;
  clientId: string;
  name: string;
  requestedAt: Date;
  requestedBy: string;
  /** Accounts that it had when the deletion began, and how many of them are gone. */
  accounts: number;
  accountsDeleted: number;
  /** What is being deleted: `accounts`, then the name of a table; `done` at the end. */
  step: string;
  /** `null` while it runs. */
  finishedAt: Date | null;
  /** Why the last batch failed; it is tried again. `null` if it did not fail. */
  lastError: string | null;
}

/** States by which applications are listed. */
export const APPLICATION_STATES = ['active', 'sending-paused', 'suspended', 'deleting'] as const;

/** Which applications to list. */
export interface ApplicationFilter {
  state?: (typeof APPLICATION_STATES)[number] | undefined;
  /** A part of the name or the client id, in upper or lower case. */
  search?: string | undefined;
}

/** One application in detail. */
export interface ApplicationDetail extends ApplicationItem {
  /** Address that gets mails about failing webhooks; `null` if nobody gets them. */
  contactEmail: string | null;
  /**
   * When the last attempt to send a mail to this address failed, and why; `null` if none did since
   * the last mail was sent.
   */
  mailFailure: { at: Date; reason: string } | null;
  redirectUris: string[];
  allowedScopes: string[] | null;
  tokenLifetime: number | null;
  allowsTokenResponse: boolean;
  revokesOlderTokens: boolean;
  integrations: { provider: string; name: string }[];
  webhooks: { active: number; failing: number; failed: number };
  /** Messages that wait because sending is paused. Up to 10,000. */
  pausedMessages: number;
}
