import { Injectable, Logger } from '@nestjs/common';
import { newId } from '../common/ids/ids.ts';
import { Clock, monotonicMs } from '../common/time/clock.ts';
import type { QueueName } from '../common/wake.ts';
import type {
  ClaimedJob,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../common/work/dispatcher.ts';
import type { Sql } from '../database/sql.ts';
import { recordChanges } from '../deltas/change-log.ts';
import { markGrantsInvalid } from '../grants/mark-invalid.ts';
import { ProviderAccounts } from '../grants/provider-accounts.ts';
import { ConnectorRegistry } from '../providers/connector-registry.ts';
import { ProviderError } from '../providers/provider-error.ts';
import { CalendarSync } from './calendar-sync.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { ClaimLostError, type MirrorClaim, MirrorRepository } from './mirror.repository.ts';
import { FAILURES_UNTIL_SHOWN, INVALID_WAIT_SECONDS, nextLook } from './sync-policy.ts';

/** How a look at a mailbox ended. */
export type SyncResult =
  | { kind: 'current' } // the mirror shows the mailbox' present
  | { kind: 'idle' } // nothing was done
  | { kind: 'failed'; reason: string }
  | { kind: 'refused'; reason: string; settingsSealed: string }; // credentials refused for good

const CURRENT = `
  update sync_job set current_since = coalesce(current_since, $2), run_at = case when again then now() else run_at end
  where id = any($1::uuid[]) and (again or current_since is null)`;
const FORGET_FAILURES = `update sync_job set failures = 0 where id = any($1::uuid[]) and failures > 0`;
const COUNT_FAILURES = `
  update sync_job set failures = least(failures + 1, 1000) where id = any($1::uuid[])
  returning account_id as "accountId", failures`;
const SHOW_STATE = `
  update "grant" set sync_state = $2, updated_at = $3
  where id = any($1::uuid[]) and status = 'valid' and sync_state not in ($2, 'stopped')
  returning id, application_id as "applicationId"`;

/** A mailbox is followed for so long at a time; then others that wait have their turn. */
const TURN_MS = 20_000;

/**
 * The queue `sync`: one permanent row per account. A run follows the mailbox to its present; afterwards the row waits
 * for the next poll, for a change the provider tells of (`SyncWaker`), or for the end of a back-off.
 */
@Injectable()
export class MailboxSyncDispatcher implements Dispatcher<ClaimedJob, SyncResult> {
  readonly table: QueueTable = {
    queue: 'sync',
    table: 'sync_job',
    gateColumn: 'account_id',
    columns: {},
    permanent: true,
  };
  readonly slots = 4;
  readonly #log = new Logger(MailboxSyncDispatcher.name);

  constructor(
    private readonly repository: MirrorRepository,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly mailboxes: MailboxSync,
    private readonly calendars: CalendarSync,
    private readonly clock: Clock,
  ) {}

  async run(job: ClaimedJob, lease: Lease): Promise<Outcome<SyncResult> | null> {
    const begunMs = monotonicMs();
    const claim: MirrorClaim = { id: job.id, fence: job.fence, accountId: job.gateId };
    const [state, account] = await Promise.all([
      this.repository.begin(claim),
      this.accounts.find(job.gateId),
    ]);
    // The row is somebody else's by now, or went with its account.
    if (!state || !account) return null;
    if (account.grantStatus === 'invalid') return this.#wait(INVALID_WAIT_SECONDS, { kind: 'idle' });
    try {
      const { mail, calendar } = this.connectors.require(account.provider);
      if (calendar && !state.wasCurrent) await this.calendars.run(account, calendar, claim);
      const current =
        !mail ||
        (await this.mailboxes.run(
          account,
          mail,
          claim,
          state,
          () => lease.trusted() && !lease.stopping() && monotonicMs() - begunMs < TURN_MS,
        ));
      return current ? this.#poll({ kind: 'current' }) : this.#wait(0, { kind: 'idle' });
    } catch (error) {
      if (error instanceof ClaimLostError) return null;
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'auth-invalid') {
        const { settingsSealed } = account;
        return this.#wait(INVALID_WAIT_SECONDS, { kind: 'refused', reason: error.message, settingsSealed });
      }
      return this.#failed(state.failures + 1, error.message, error.retryAfterSeconds);
    }
  }

  onError(_job: ClaimedJob, error: unknown): Outcome<SyncResult> {
    return this.#failed(1, error instanceof Error ? error.message : String(error), null);
  }

  onPoison(): Outcome<SyncResult> {
    return this.#failed(FAILURES_UNTIL_SHOWN, 'set aside: mirroring it ended its worker several times', null);
  }

  async record(sql: Sql, settled: readonly Settled<ClaimedJob, SyncResult>[]): Promise<readonly QueueName[]> {
    const now = this.clock.now();
    const current = settled.filter(({ result }) => result.kind === 'current');
    // Something changed while it was running, perhaps behind its back.
    await sql.query(CURRENT, [current.map(({ job }) => job.id), now]);
    await sql.query(FORGET_FAILURES, [current.map(({ job }) => job.id)]);
    const running = await this.#show(sql, accountsOf(current), 'running', 'account.running', now);
    const failed = settled.filter(({ result }) => result.kind === 'failed');
    const counted = await sql.query<{ accountId: string; failures: number }>(COUNT_FAILURES, [
      failed.map(({ job }) => job.id),
    ]);
    const failing = counted.filter(({ failures }) => failures >= FAILURES_UNTIL_SHOWN);
    const failingIds = failing.map(({ accountId }) => accountId);
    const erring = await this.#show(sql, failingIds, 'sync-error', 'account.sync_error', now);
    for (const { job, result } of settled) {
      if (result.kind === 'failed')
        this.#log.warn(`account ${job.gateId} cannot be mirrored: ${result.reason}`);
    }
    const refused = settled.flatMap(({ job, result }) =>
      result.kind === 'refused' ? [{ accountId: job.gateId, ...result }] : [],
    );
    const invalid = await markGrantsInvalid(sql, refused, now);
    return running || erring || invalid ? ['hook'] : [];
  }

  /** @returns whether webhook deliveries were queued */
  async #show(
    sql: Sql,
    accountIds: readonly string[],
    state: 'running' | 'sync-error',
    trigger: 'account.running' | 'account.sync_error',
    at: Date,
  ): Promise<boolean> {
    if (accountIds.length === 0) return false;
    const changed = await sql.query<{ id: string; applicationId: string }>(SHOW_STATE, [
      accountIds,
      state,
      at,
    ]);
    return recordChanges(
      sql,
      changed.map(({ id, applicationId }) => ({
        applicationId,
        accountId: id,
        object: 'account' as const,
        objectId: id,
        event: 'modify' as const,
        at,
        webhook: { trigger, dedupe: `account:${id}:${state}:${newId()}` },
      })),
    );
  }

  #poll(result: SyncResult): Outcome<SyncResult> {
    const at = nextLook(this.clock.now(), 0, null, Math.random());
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }

  #wait(seconds: number, result: SyncResult): Outcome<SyncResult> {
    const at = new Date(this.clock.now().getTime() + seconds * 1000);
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }

  #failed(failures: number, reason: string, retryAfterSeconds: number | null): Outcome<SyncResult> {
    const at = nextLook(this.clock.now(), failures, retryAfterSeconds, Math.random());
    return { next: { kind: 'again', at, ambiguous: false }, result: { kind: 'failed', reason } };
  }
}

const accountsOf = (settled: readonly Settled<ClaimedJob, SyncResult>[]) =>
  settled.map(({ job }) => job.gateId);
