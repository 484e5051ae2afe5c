import { canTransition, type Transitions } from '../../platform/base/state/transitions.ts';
import type { BillingState, GrantStatus, SyncState } from '../../platform/auth/grant-status.ts';

/** Every move of a grant's status there is. */
export const GRANT_TRANSITIONS = {
  valid: ['invalid'],
  invalid: ['valid'],
} as const satisfies Transitions<GrantStatus>;

/**
 * Every move of a sync state there is. `initializing` is the state before the first look. `stopped` is that of cancelled
 * accounts and `invalid` that of grants that are not valid: what a sync finds out changes neither.
 */
export const SYNC_TRANSITIONS = {
  initializing: ['downloading', 'running', 'partial', 'sync-error', 'invalid', 'stopped'],
  downloading: ['running', 'partial', 'sync-error', 'invalid', 'stopped'],
  running: ['downloading', 'partial', 'sync-error', 'invalid', 'stopped'],
  partial: ['downloading', 'running', 'sync-error', 'invalid', 'stopped'],
  'sync-error': ['downloading', 'running', 'partial', 'invalid', 'stopped'],
  invalid: ['initializing', 'downloading', 'running', 'stopped'],
  stopped: ['initializing', 'downloading', 'running', 'invalid'],
} as const satisfies Transitions<SyncState>;

/** What moves of a grant are about. */
export interface GrantState {
  status: GrantStatus;
  /** Why it is not valid; null when it is. */
  statusReason: string | null;
  syncState: SyncState;
  /** Why `syncState` is what it is; null: nothing to be said. */
  syncReason: string | null;
  billingState: BillingState;
}

/** What is wanted of a grant; absent: as it is. */
export interface WantedState {
  status?: GrantStatus;
  syncState?: SyncState;
  reason: string | null;
}

/** States that a new authentication, or taking an account up again, ends. */
const ENDED: readonly SyncState[] = ['sync-error', 'invalid', 'stopped'];

/**
 * The state after a move. Whatever is wanted: a cancelled account is `stopped`, and one that is not valid is `invalid`.
 * The first reason for being invalid stays. A move the tables do not know changes nothing.
 */
export function stateAfter(grant: GrantState, wanted: WantedState): GrantState {
  const status = wanted.status ?? grant.status;
  if (status !== grant.status && !canTransition(GRANT_TRANSITIONS, grant.status, status))
    return grant;
  const syncState = syncStateAfter(grant, status, wanted);
  if (
    syncState !== grant.syncState &&
    !canTransition(SYNC_TRANSITIONS, grant.syncState, syncState)
  ) {
    return grant;
  }
  const statusReason =
    status === 'valid' ? null : grant.status === 'invalid' ? grant.statusReason : wanted.reason;
  const told = syncState !== grant.syncState || syncState === wanted.syncState;
  const syncReason = told
    ? syncState === 'invalid'
      ? statusReason
      : wanted.reason
    : grant.syncReason;
  return { ...grant, status, statusReason, syncState, syncReason };
}

function syncStateAfter(
  { syncState: now, billingState }: GrantState,
  status: GrantStatus,
  wanted: WantedState,
): SyncState {
  if (billingState === 'cancelled') return 'stopped';
  if (status === 'invalid') return 'invalid';
  const healthy = wanted.status === 'valid' && ENDED.includes(now) ? 'running' : now;
  const asked = wanted.syncState ?? healthy;
  return asked === 'stopped' || asked === 'invalid' ? now : asked;
}
