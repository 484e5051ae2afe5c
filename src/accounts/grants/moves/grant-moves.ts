import { storable } from '../../../platform/base/text/storable.ts';
import { afterCommit, type Sql } from '../../../platform/database/sql.ts';
import { reportIncident } from '../../../platform/logs/incidents.ts';
import { type ChangeRecord, recordChanges } from '../../../platform/changes/change-log.ts';
import type { Trigger } from '../../../platform/webhooks/webhook-state.ts';
import type { Grant } from '../grant.entity.ts';
import { accountChange, grantChange } from '../account-change.ts';
import { type SignInAgain, signInUrl } from '../sign-in-again.ts';
import type { SyncState } from '../../../platform/auth/grant-status.ts';
import { type GrantState, stateAfter, type WantedState } from '../grant-transitions.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/**
 * A change of one grant's state. Absent fields stay as they are. Operators see `reason`; it is cut
 * to the length that can be stored.
 */
export interface GrantStateChange extends WantedState {
  accountId: string;
  /**
   * The grant's `settings_sealed` at the time of the caller's check. If the user has authenticated
   * again since then, nothing changes. If absent, the change applies to any settings.
   */
  settingsSealed?: string;
  /**
   * Set when the user has just authenticated, for the first time (`create`) or again (`modify`).
   * Subscribers get `account.connected`, and `grant.created` or `grant.updated`.
   */
  connected?: 'create' | 'modify';
}

interface LockedGrant
  extends GrantState, SignInAgain, RowOf<Grant, 'applicationId' | 'settingsSealed'> {
  accountId: string;
}

// All code locks grants in the order of their ids, so that two workers with the same accounts do
// not deadlock. Grants that already have the wanted state are not locked.
const LOCK = `
  select g.id as "accountId", g.application_id as "applicationId", g.status, g.status_reason as "statusReason",
         g.sync_state as "syncState", g.sync_reason as "syncReason", g.billing_state as "billingState",
         g.settings_sealed as "settingsSealed", g.provider, g.email, a.client_id as "clientId", a.region,
         a.redirect_uris[1] as "redirectUri"
  from "grant" g join application a on a.id = g.application_id
  join unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]) w(id, status, sync_state, reason, sealed)
    on w.id = g.id
  where (w.sealed is null or g.settings_sealed = w.sealed)
    and (w.status = 'valid' or w.status <> g.status
         or (w.sync_state is not null and (g.sync_state, g.sync_reason) is distinct from (w.sync_state, w.reason)))
  order by g.id for no key update of g`;

const STORE = `
  update "grant" g
  set status = m.status, status_reason = m.status_reason, sync_state = m.sync_state, sync_reason = m.sync_reason,
      updated_at = $6
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
    m(id, status, status_reason, sync_state, sync_reason)
  where g.id = m.id`;

const TRIGGERS: Readonly<Partial<Record<SyncState, Extract<Trigger, `account.${string}`>>>> = {
  running: 'account.running',
  stopped: 'account.stopped',
  invalid: 'account.invalid',
  'sync-error': 'account.sync_error',
};

/**
 * The only function that changes `status` and `sync_state` of grants. It follows the tables of
 * `grant-transitions.ts`, and stores the reason in the caller's transaction. Grants are locked in
 * the order of their ids; several changes of one grant apply in the order given. Deleted grants are
 * skipped.
 *
 * The application's webhooks are notified of a changed state. `account.invalid` is sent when the
 * grant's status becomes `invalid`, together with `grant.expired`, otherwise the trigger of the new
 * sync state (`TRIGGERS`). These events have the reason, and a link if signing in again helps.
 * Updates that change nothing send no notification.
 */
export async function moveGrants(
  sql: Sql,
  moves: readonly GrantStateChange[],
  at: Date,
): Promise<void> {
  if (moves.length === 0) return;
  const wanted = moves.map((move) => ({ ...move, reason: move.reason && storable(move.reason) }));
  const locked = await lock(sql, wanted);
  const changes: ChangeRecord[] = [];
  const moved = new Map<string, LockedGrant>();
  for (const move of wanted) {
    const grant = moved.get(move.accountId) ?? locked.get(move.accountId);
    if (
      !grant ||
      (move.settingsSealed !== undefined && move.settingsSealed !== grant.settingsSealed)
    )
      continue;
    const next = { ...grant, ...stateAfter(grant, move) };
    changes.push(...changesOf(grant, next, move, at));
    if (!isSame(grant, next)) moved.set(move.accountId, next);
  }
  await store(sql, [...moved.values()], at);
  await recordChanges(sql, changes);
  afterCommit(sql, () => {
    for (const [id, grant] of moved) reportTrouble(locked.get(id), grant);
  });
}

/** Writes a log line if an account has become invalid, or is no longer synced. */
function reportTrouble(before: LockedGrant | undefined, after: LockedGrant): void {
  const { accountId: account, applicationId: application } = after;
  if (after.status === 'invalid' && before?.status !== 'invalid')
    reportIncident('account.invalid', { account, application }, after.statusReason);
  else if (after.syncState === 'sync-error' && before?.syncState !== 'sync-error')
    reportIncident('account.sync-error', { account, application }, after.syncReason);
}

const SET_BILLING = `update "grant" set billing_state = $2, updated_at = $3 where id = $1`;

/** Cancels an account or reactivates it. Call `moveGrants` afterwards to change its states. */
export async function setBilling(
  sql: Sql,
  accountId: string,
  billingState: Grant['billingState'],
  at: Date,
): Promise<void> {
  await sql.query(SET_BILLING, [accountId, billingState, at]);
}

async function lock(
  sql: Sql,
  moves: readonly GrantStateChange[],
): Promise<Map<string, LockedGrant>> {
  const rows = await sql.query<LockedGrant>(LOCK, [
    moves.map(({ accountId }) => accountId),
    moves.map(({ status }) => status ?? null),
    moves.map(({ syncState }) => syncState ?? null),
    moves.map(({ reason }) => reason),
    moves.map(({ settingsSealed }) => settingsSealed ?? null),
  ]);
  return new Map(rows.map((row) => [row.accountId, row]));
}

async function store(sql: Sql, grants: readonly LockedGrant[], at: Date): Promise<void> {
  if (grants.length === 0) return;
  await sql.query(STORE, [
    grants.map(({ accountId }) => accountId),
    grants.map(({ status }) => status),
    grants.map(({ statusReason }) => statusReason),
    grants.map(({ syncState }) => syncState),
    grants.map(({ syncReason }) => syncReason),
    at,
  ]);
}

function isSame(a: GrantState, b: GrantState): boolean {
  return (
    a.status === b.status &&
    a.statusReason === b.statusReason &&
    a.syncState === b.syncState &&
    a.syncReason === b.syncReason
  );
}

function changesOf(
  before: LockedGrant,
  after: LockedGrant,
  move: GrantStateChange,
  at: Date,
): ChangeRecord[] {
  const becameInvalid = after.status === 'invalid' && before.status === 'valid';
  const trigger = becameInvalid
    ? 'account.invalid'
    : after.syncState === before.syncState
      ? undefined
      : TRIGGERS[after.syncState];
  const account = { ...after, at };
  const state = {
    reason: after.status === 'invalid' ? after.statusReason : after.syncReason,
    sign_in_url: after.status === 'invalid' ? signInUrl(after) : null,
  };
  return [
    ...(move.connected ? connectedChanges(account, move.connected) : []),
    ...(trigger ? [accountChange(account, 'modify', trigger, state)] : []),
    ...(becameInvalid ? [grantChange(account, 'grant.expired', state)] : []),
  ];
}

function connectedChanges(
  account: LockedGrant & { at: Date },
  connected: 'create' | 'modify',
): ChangeRecord[] {
  const isFirst = connected === 'create';
  return [
    accountChange(account, connected, 'account.connected'),
    isFirst
      ? grantChange(account, 'grant.created')
      : grantChange(account, 'grant.updated', { reauthenticated: true }),
  ];
}
