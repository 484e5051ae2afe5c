import { canTransition, type Transitions } from '../../platform/base/state/transitions.ts';
import type { BillingState, GrantStatus, SyncState } from '../../platform/auth/grant-status.ts';

/** Every allowed change of a grant's status. */
export const GRANT_TRANSITIONS = {
  valid: ['invalid'],
  invalid: ['valid'],
} as const satisfies Transitions<GrantStatus>;

/**
 * Every allowed change of a sync state. `initializing` is the state before the first sync pass.
 * Cancelled accounts are `stopped`, and grants that are not valid are `invalid`; the result of a
 * sync pass changes neither state.
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

/** The state of a grant, as far as `stateAfter` changes it or depends on it. */
export interface GrantState {
  status: GrantStatus;
  /** Why the grant is not valid; `null` if it is valid. */
  statusReason: string | null;
  syncState: SyncState;
  /** The reason for `syncState`; `null` if there is none. */
  syncReason: string | null;
  billingState: BillingState;
}

/** The wanted state of a grant. Absent fields stay as they are. */
export interface WantedState {
  status?: GrantStatus;
  syncState?: SyncState;
  reason: string | null;
}

/** States that end when the user authenticates again or the account is reactivated. */
const ENDED: readonly SyncState[] = ['sync-error', 'invalid', 'stopped'];

/**
 * The state after a change. A cancelled account is always `stopped`; otherwise a grant that is not
 * valid is always `invalid`. The first reason for being invalid is kept. A change that the tables
 * do not allow is ignored.
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
  const takesReason = syncState !== grant.syncState || syncState === wanted.syncState;
  const syncReason = takesReason
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
