import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock, monotonicMs } from '../platform/base/time/clock.ts';
import type {
  ClaimedRow,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../platform/work/queue/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { Database, type Sql } from '../platform/database/sql.ts';
import { countResult } from '../platform/metrics/count-result.ts';
import { syncPasses } from '../platform/metrics/sync-metrics.ts';
import { reportIncident } from '../platform/logs/incidents.ts';
import { moveGrants } from '../accounts/grants/moves/grant-moves.ts';
import type { SyncState } from '../platform/auth/grant-status.ts';
import { type ConnectedAccount, ProviderAccounts } from '../accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../providers/port/connector-registry.ts';
import type { MailPort } from '../providers/port/connector.ts';
import { ProviderError } from '../platform/base/errors/provider-error.ts';
import { inBackground } from '../platform/budgets/background-work.ts';
import { BudgetExhaustedError } from '../platform/budgets/budget-exhausted-error.ts';
import { BudgetWait } from './budget-wait.ts';
import { CollectionPasses, type PassNotes } from './collections/collection-passes.ts';
import { JointEnds } from './joint-ends.ts';
import { MailboxWatches } from './watches/mailbox-watches.ts';
import { Stalls } from './failures/stalls.ts';
import { WatchLeases } from './watches/watch-leases.ts';
import { ListedMessages } from './messages/listed-messages.ts';
import { MirrorAudit } from './audit/mirror-audit.ts';
import { MailboxSync, type RunControl } from './mailbox-sync.ts';
import {
  ClaimLostError,
  type LoadedMailbox,
  MAILBOX_LOADING,
  type MirrorClaim,
  MirrorRepository,
  type MirrorState,
} from './mirror.repository.ts';
import {
  FAILURES_UNTIL_SHOWN,
  INVALID_WAIT_SECONDS,
  nextAttempt,
  nextPollTogether,
  pollInterval,
  secondsToLookAgain,
  suspendedWait,
} from './sync-policy.ts';
import { removeUncopiedAfterPass } from './messages/uncopied-messages.ts';
import { recordResults, type SyncResult } from './sync-results.ts';

/**
 * Pause in seconds after the contents of messages could not be fetched. After a limit of the
 * provider, the pause is the one that the provider names.
 */
const CONTENT_PAUSE_SECONDS = 60;
/**
 * Shortest time in milliseconds between two claims of a process. Polls that follow each other are
 * claimed together; a claim costs nearly the same for one row as for many.
 */
const CLAIM_EVERY_MS = 100;
/** Longest time slice of one account in milliseconds; then other waiting accounts run. */
const TIME_SLICE_MS = 20_000;
const DAY_MS = 86_400_000;
const IDLE = { kind: 'idle' } as const;

const noted = ({ changed, times }: PassNotes): Pick<SyncResult, 'changed' | 'times'> => ({
  ...(changed ? { changed } : {}),
  ...(times.calendars || times.contacts ? { times } : {}),
});

/**
 * Dispatcher of the queue `sync`, which has one permanent row per account. A run first reads the
 * recent changes and then the history. Afterwards the row waits for the next poll, for a change
 * that the provider reports (`SyncWaker`, `MailboxWatches`), or for the end of a backoff.
 */
@Injectable()
export class MailboxSyncDispatcher implements Dispatcher<ClaimedRow, SyncResult, LoadedMailbox> {
  readonly table: QueueTable = {
    queue: 'sync',
    table: 'sync_job',
    gateColumn: 'account_id',
    columns: {},
    permanent: true,
    loading: MAILBOX_LOADING,
  };
  readonly slots: number;
  readonly claimEveryMs = CLAIM_EVERY_MS;
  readonly #ends: JointEnds;
  readonly #log = new Logger(MailboxSyncDispatcher.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly mailboxes: MailboxSync,
    private readonly listed: ListedMessages,
    private readonly collections: CollectionPasses,
    private readonly leases: WatchLeases,
    private readonly watches: MailboxWatches,
    private readonly audits: MirrorAudit,
    private readonly clock: Clock,
  ) {
    this.slots = config.sync.slots;
    this.#ends = new JointEnds(Math.ceil(this.slots / 2));
  }

  async run(
    row: ClaimedRow,
    lease: Lease,
    loaded: LoadedMailbox | undefined,
  ): Promise<Outcome<SyncResult> | null> {
    const claim: MirrorClaim = { id: row.id, fence: row.fence, accountId: row.gateId };
    // Another worker has claimed the row, or the row was deleted with its account.
    if (loaded?.fence !== row.fence) return null;
    const { state, account } = loaded.again
      ? await this.#requested(claim)
      : { state: loaded, account: this.accounts.open(loaded) };
    if (!state || !account) return null;
    if (account.grantStatus === 'invalid')
      return this.#wait(INVALID_WAIT_SECONDS, { kind: 'idle' });
    if (account.pause?.by === 'suspension')
      return this.#wait(suspendedWait(Math.random()), { kind: 'idle' });
    const outcome = await this.#ends.run(
      () => inBackground(() => this.#pass(account, claim, state, lease)),
      (ended) => ended?.result.kind === 'current' && ended.result.changed !== true,
    );
    if (outcome) countResult(syncPasses, ['provider', account.provider], outcome.result.kind);
    return outcome;
  }

  /**
   * Begins a pass that was requested. The account is read afterwards: a request that comes in
   * between, such as a new authentication, is part of this pass or causes another one.
   */
  async #requested(claim: MirrorClaim) {
    const state = await this.repository.begin(claim, this.clock.now());
    return { state, account: state && (await this.accounts.find(claim.accountId)) };
  }

  /** @returns `null` if another worker has claimed the row meanwhile */
  async #pass(
    account: ConnectedAccount,
    claim: MirrorClaim,
    state: MirrorState,
    lease: Lease,
  ): Promise<Outcome<SyncResult> | null> {
    const begunMs = monotonicMs();
    const goOn = () =>
      lease.trusted() && !lease.stopping() && monotonicMs() - begunMs < TIME_SLICE_MS;
    const notes: PassNotes = { changed: false, times: {} };
    try {
      const outcome = await this.#parts(account, claim, state, goOn, notes);
      return { ...outcome, result: { ...outcome.result, ...noted(notes) } };
    } catch (error) {
      if (error instanceof ClaimLostError) return null;
      if (!(error instanceof ProviderError)) throw error;
      if (error.code === 'auth-invalid') {
        const { settingsSealed } = account;
        return this.#wait(INVALID_WAIT_SECONDS, {
          kind: 'refused',
          reason: error.message,
          settingsSealed,
        });
      }
      const failed = this.#failed(state.failures + 1, error.message, error);
      return { ...failed, result: { ...failed.result, ...noted(notes) } };
    }
  }

  /** Reads the mailbox, then calendars and contacts, then audits the mirror. */
  async #parts(
    account: ConnectedAccount,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
    notes: PassNotes,
  ): Promise<Outcome<SyncResult>> {
    const readable = this.connectors.readablePorts(account);
    const [budget, stalls] = [new BudgetWait(), new Stalls()];
    const { current, refusal } = await this.#mail(readable.mail, (mail) =>
      budget.within(this.#mailbox(account, mail, claim, state, [goOn, budget, stalls, notes])),
    );
    const ports = refusal === null ? readable : { ...readable, mail: undefined };
    const { mail } = ports;
    const reports = this.connectors.require(account.provider).push !== undefined;
    const watched = await this.collections.run(account, ports, claim, state, [goOn, budget, notes]);
    const stalled = stalls.problem(this.clock.now());
    const quietMs = () =>
      notes.changed ? 0 : this.clock.now().getTime() - state.activeAt.getTime();
    if (!current) {
      if (!stalls.any) return this.#unfinished(budget, watched.watched, quietMs());
      const result = stalled ? { kind: 'stalled' as const, problem: stalled } : IDLE;
      return this.#wait(this.config.sync.pollSeconds, result);
    }
    const audit = await this.audits.run(account, ports, claim, state, goOn);
    // An account whose mail was never read is healthy without it.
    const problem = stalled ?? (state.cursor === null ? null : refusal) ?? audit.problem;
    if (mail && !problem && !stalls.any && state.hasUncopied)
      await this.#removeUncopied(claim, notes);
    const shown = state.isShownRunning ? { isShown: true } : {};
    const result: SyncResult = { kind: 'current', ...(problem ? { problem } : shown) };
    if (budget.seconds !== null) return this.#wait(budget.seconds, result);
    const mayMiss = notes.changed || audit.ran || this.#waitsForContents(state);
    const pause = mail && mayMiss ? await this.#contents(account, mail, claim, state, goOn) : null;
    if (watched.more || audit.more) return this.#wait(0, result);
    const again = reports && !notes.changed ? secondsToLookAgain(quietMs()) : null;
    const sooner = soonest(soonest(pause, again), budget.ceilingSeconds);
    return this.#poll(watched.watched, quietMs(), sooner, result);
  }

  /** Goes on with the mailbox when the budget allows it, or polls it below a ceiling. */
  #unfinished(
    { seconds, ceilingSeconds }: BudgetWait,
    watched: boolean,
    quietMs: number,
  ): Outcome<SyncResult> {
    if (seconds !== null || ceilingSeconds === null) return this.#wait(seconds ?? 0, IDLE);
    return this.#poll(watched, quietMs, ceilingSeconds, IDLE);
  }

  /** Removes sent messages without a copy. This pass has read the whole mailbox (ADR 0119). */
  async #removeUncopied(claim: MirrorClaim, notes: PassNotes): Promise<void> {
    const removed = await this.repository.withClaim(claim, null, (sql) =>
      removeUncopiedAfterPass(sql, claim.accountId, this.clock.now()),
    );
    notes.changed ||= removed > 0;
  }

  /** Whether messages that were listed before, or failed before, can be requested now. */
  #waitsForContents({ hasListed, failuresAt }: MirrorState): boolean {
    return hasListed || (failuresAt !== null && failuresAt <= this.clock.now());
  }

  onError(_job: ClaimedRow, error: unknown): Outcome<SyncResult> {
    return this.#failed(1, error instanceof Error ? error.message : String(error));
  }

  onPoison(): Outcome<SyncResult> {
    return this.#failed(
      FAILURES_UNTIL_SHOWN,
      'quarantined: several workers crashed while they synced this account',
    );
  }

  async record(sql: Sql, settled: readonly Settled<ClaimedRow, SyncResult>[]): Promise<void> {
    for (const { row, result } of settled)
      if (result.kind === 'failed')
        reportIncident(
          'sync.failed',
          { account: row.gateId, ...(result.server ? { server: result.server } : {}) },
          result.reason,
        );
    await recordResults(sql, settled, this.clock.now());
  }

  /**
   * Completes listed messages. Errors do not slow down the mailbox, whose changes have been read
   * already.
   * @returns seconds until the next messages can be completed; `null` if none is left
   */
  async #contents(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
  ): Promise<number | null> {
    try {
      return (await this.listed.complete(account, mail, claim, state, goOn)) ? null : 0;
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code === 'auth-invalid') throw error;
      const { retryAfterSeconds } = error;
      // The next pass reads the changes first. After a shorter wait, the budget could suffice for
      // nothing but these.
      if (error instanceof BudgetExhaustedError) return error.fullAfterSeconds;
      if (error.code === 'rate-limited') return retryAfterSeconds ?? CONTENT_PAUSE_SECONDS;
      this.#log.warn(
        `account ${account.accountId}: contents of messages could not be fetched and will be requested again: ${error.message}`,
      );
      return Math.max(retryAfterSeconds ?? 0, CONTENT_PAUSE_SECONDS);
    }
  }

  /**
   * Reads the mail of an account, if it has any that may be read.
   * @returns `current` if there is no more to read now. `refusal`: why the mail may not be read;
   *   `null` if it may
   */
  async #mail(
    mail: MailPort | undefined,
    read: (mail: MailPort) => Promise<boolean | undefined>,
  ): Promise<{ current: boolean; refusal: string | null }> {
    try {
      return { current: !mail || ((await read(mail)) ?? false), refusal: null };
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'unsupported') throw error;
      return { current: true, refusal: error.message };
    }
  }

  async #mailbox(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    [goOn, budget, stalls, notes]: readonly [() => boolean, BudgetWait, Stalls, PassNotes],
  ): Promise<boolean> {
    const { horizonDays } = this.config.sync;
    const since =
      horizonDays === 0 ? null : new Date(this.clock.now().getTime() - horizonDays * DAY_MS);
    let shown = state.syncState;
    let { watchable } = state;
    const control: RunControl = {
      since,
      goOn,
      onStored: async (present, changed) => {
        budget.progress();
        notes.changed ||= changed;
        const wanted = present ? 'running' : 'downloading';
        // A sync error stays visible until a whole pass succeeds. A healthy mailbox stays `running`
        // while it catches up.
        if (shown === 'initializing' || (shown === 'downloading' && present)) {
          await this.#show(account.accountId, wanted);
          shown = wanted;
        }
        if (!present || watchable || !mail.watch) return;
        watchable = true;
        if (await this.leases.add(account.accountId)) this.watches.hurry();
      },
      onStall: (stall) => {
        stalls.add(stall);
        this.#log.warn(`account ${account.accountId}: ${stall.reason}`);
      },
      onOutdated: () => budget.outdated(),
    };
    if (state.reading !== null) await this.listed.giveUp(account, claim, state.reading);
    return this.mailboxes.run(account, mail, claim, state, control);
  }

  async #show(accountId: string, syncState: SyncState): Promise<void> {
    await this.database.transaction((sql) =>
      moveGrants(sql, [{ accountId, syncState, reason: null }], this.clock.now()),
    );
  }

  /**
   * @param quietMs milliseconds since the account last changed
   * @param pause seconds after which there is more to do; `null` if there is nothing
   */
  #poll(
    watched: boolean,
    quietMs: number,
    pause: number | null,
    result: SyncResult,
  ): Outcome<SyncResult> {
    const { pollSeconds, pollWatchedSeconds, pollQuietFactor } = this.config.sync;
    const now = this.clock.now();
    const shortest = watched ? pollWatchedSeconds : pollSeconds;
    const seconds = pollInterval(shortest, pollQuietFactor, quietMs);
    const poll = nextPollTogether(now, seconds, Math.random());
    const resume = pause === null ? Infinity : now.getTime() + pause * 1000;
    const at = new Date(Math.min(poll.getTime(), resume));
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }

  #wait(seconds: number, result: SyncResult): Outcome<SyncResult> {
    const at = new Date(this.clock.now().getTime() + seconds * 1000);
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }

  #failed(
    failures: number,
    reason: string,
    { retryAfterSeconds, server }: Pick<ProviderError, 'retryAfterSeconds' | 'server'> = NO_ANSWER,
  ): Outcome<SyncResult> {
    const at = nextAttempt(this.clock.now(), failures, retryAfterSeconds, Math.random());
    const result = { kind: 'failed', reason, server } as const;
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }
}

const NO_ANSWER = { retryAfterSeconds: null, server: null };

/** The shorter of two waits, of which each may be `null` for none. */
function soonest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
