import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock, monotonicMs } from '../platform/base/time/clock.ts';
import type {
  ClaimedRow,
  Dispatcher,
  Lease,
  Outcome,
  QueueTable,
  Settled,
} from '../platform/work/dispatcher.ts';
import { APP_CONFIG, type AppConfig } from '../platform/config/app-config.ts';
import { Database, type Sql } from '../platform/database/sql.ts';
import { countResult } from '../platform/metrics/count-result.ts';
import { syncPasses } from '../platform/metrics/metrics.ts';
import { reportIncident } from '../platform/logs/incidents.ts';
import { moveGrants } from '../accounts/grants/grant-moves.ts';
import type { SyncState } from '../platform/auth/grant-status.ts';
import { type ConnectedAccount, ProviderAccounts } from '../accounts/grants/provider-accounts.ts';
import { type PushCoverage, PushWants } from '../accounts/push/push-wants.ts';
import { ConnectorRegistry } from '../providers/port/connector-registry.ts';
import type { CalendarPort, ContactsPort, MailPort } from '../providers/port/connector.ts';
import { ProviderError } from '../platform/base/errors/provider-error.ts';
import { BudgetExhaustedError } from '../platform/budgets/budget-exhausted-error.ts';
import { BudgetWait } from './budget-wait.ts';
import { CalendarSync } from './calendar-sync.ts';
import { type ContactPassResult, ContactSync } from './contact-sync.ts';
import { MailboxWatches } from './mailbox-watches.ts';
import { Stalls } from './stalls.ts';
import { WatchLeases } from './watch-leases.ts';
import { ListedMessages } from './listed-messages.ts';
import { MirrorAudit } from './mirror-audit.ts';
import { MailboxSync, type RunControl } from './mailbox-sync.ts';
import {
  ClaimLostError,
  type MirrorClaim,
  MirrorRepository,
  type MirrorState,
} from './mirror.repository.ts';
import {
  FAILURES_UNTIL_SHOWN,
  INVALID_WAIT_SECONDS,
  nextAttempt,
  nextPoll,
  suspendedWait,
} from './sync-policy.ts';
import { recordResults, type SyncResult } from './sync-results.ts';

const NOTHING_COVERED: PushCoverage = { mail: false, calendars: false, contacts: false };

/**
 * Pause in seconds after the contents of messages could not be fetched. After a limit of the
 * provider, the pause is the one that the provider names.
 */
const CONTENT_PAUSE_SECONDS = 60;
/** Longest time slice of one account in milliseconds; then other waiting accounts run. */
const TIME_SLICE_MS = 20_000;
const DAY_MS = 86_400_000;

/**
 * Dispatcher of the queue `sync`, which has one permanent row per account. A run first reads the
 * recent changes and then the history. Afterwards the row waits for the next poll, for a change
 * that the provider reports (`SyncWaker`, `MailboxWatches`), or for the end of a backoff.
 */
@Injectable()
export class MailboxSyncDispatcher implements Dispatcher<ClaimedRow, SyncResult> {
  readonly table: QueueTable = {
    queue: 'sync',
    table: 'sync_job',
    gateColumn: 'account_id',
    columns: {},
    permanent: true,
  };
  readonly slots: number;
  readonly #log = new Logger(MailboxSyncDispatcher.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly accounts: ProviderAccounts,
    private readonly connectors: ConnectorRegistry,
    private readonly mailboxes: MailboxSync,
    private readonly listed: ListedMessages,
    private readonly calendars: CalendarSync,
    private readonly contacts: ContactSync,
    private readonly push: PushWants,
    private readonly leases: WatchLeases,
    private readonly watches: MailboxWatches,
    private readonly audits: MirrorAudit,
    private readonly clock: Clock,
  ) {
    this.slots = config.sync.slots;
  }

  async run(job: ClaimedRow, lease: Lease): Promise<Outcome<SyncResult> | null> {
    const claim: MirrorClaim = { id: job.id, fence: job.fence, accountId: job.gateId };
    const [state, account] = await Promise.all([
      this.repository.begin(claim),
      this.accounts.find(job.gateId),
    ]);
    // Another worker has claimed the row, or the row was deleted with its account.
    if (!state || !account) return null;
    if (account.grantStatus === 'invalid')
      return this.#wait(INVALID_WAIT_SECONDS, { kind: 'idle' });
    if (account.pause?.by === 'suspension')
      return this.#wait(suspendedWait(Math.random()), { kind: 'idle' });
    const outcome = await this.#pass(account, claim, state, lease);
    if (outcome) countResult(syncPasses, ['provider', account.provider], outcome.result.kind);
    return outcome;
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
    try {
      const readable = this.connectors.readablePorts(account);
      const [budget, stalls] = [new BudgetWait(), new Stalls()];
      const { current, refusal } = await this.#mail(readable.mail, (mail) =>
        budget.within(this.#mailbox(account, mail, claim, state, [goOn, budget, stalls])),
      );
      const ports = refusal === null ? readable : { ...readable, mail: undefined };
      const { mail, calendar, contacts } = ports;
      // After the mailbox, because users wait for new mail. A history that waits for its budget
      // must not keep calendars and contacts waiting.
      const calendars =
        calendar &&
        (await budget.within(this.#calendars(account, calendar, claim, state, mail !== undefined)));
      const book =
        contacts &&
        (await budget.within(this.#contacts(account, contacts, claim, goOn, mail !== undefined)));
      const watched = await this.#isWatched(account, state, {
        // Calendars whose pass waits for the budget are not all known.
        calendars: calendars ?? (calendar ? null : []),
        hasMailbox: mail !== undefined,
        hasBook: book?.hasBook ?? false,
      });
      const stalled = stalls.problem(this.clock.now());
      if (!current) {
        const wait = stalls.any ? this.config.sync.pollSeconds : (budget.seconds ?? 0);
        return this.#wait(wait, stalled ? { kind: 'stalled', problem: stalled } : { kind: 'idle' });
      }
      const audit = await this.audits.run(account, ports, claim, state, goOn);
      // An account whose mail was never read is healthy without it.
      const problem = stalled ?? (state.cursor === null ? null : refusal) ?? audit.problem;
      const result: SyncResult = { kind: 'current', ...(problem ? { problem } : {}) };
      if (budget.seconds !== null) return this.#wait(budget.seconds, result);
      const pause = mail ? await this.#contents(account, mail, claim, state, goOn) : null;
      if (book?.more || audit.more) return this.#wait(0, result);
      return this.#poll({ watched }, pause, result);
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
      return this.#failed(state.failures + 1, error.message, error.retryAfterSeconds);
    }
  }

  onError(_job: ClaimedRow, error: unknown): Outcome<SyncResult> {
    return this.#failed(1, error instanceof Error ? error.message : String(error), null);
  }

  onPoison(): Outcome<SyncResult> {
    return this.#failed(
      FAILURES_UNTIL_SHOWN,
      'quarantined: several workers crashed while they synced this account',
      null,
    );
  }

  /**
   * Whether the provider reports every change of the account, so that it can be polled less often.
   * A watch covers the mailbox only; subscriptions may cover everything. Also keeps the account's
   * subscriptions in line with its calendars.
   */
  async #isWatched(
    account: ConnectedAccount,
    { watched }: Pick<MirrorState, 'watched'>,
    has: { calendars: readonly string[] | null; hasMailbox: boolean; hasBook: boolean },
  ): Promise<boolean> {
    const { push } = this.connectors.require(account.provider);
    const covered: PushCoverage =
      push && has.calendars
        ? await this.push.settle(account, push, has.calendars)
        : NOTHING_COVERED;
    return (
      (has.hasMailbox ? watched || covered.mail : covered.calendars) &&
      (covered.calendars || has.calendars?.length === 0) &&
      (covered.contacts || !has.hasBook)
    );
  }

  async record(sql: Sql, settled: readonly Settled<ClaimedRow, SyncResult>[]): Promise<void> {
    for (const { job, result } of settled)
      if (result.kind === 'failed')
        reportIncident('sync.failed', { account: job.gateId }, result.reason);
    await recordResults(sql, settled, this.clock.now());
  }

  /**
   * Returns provider ids of the calendars that must be polled; `null` after an error, because they
   * may not all be known.
   *
   * Calendar errors must not slow down the mailbox: they are logged, and the mailbox keeps its poll
   * interval. A refused calendar password does not invalidate credentials that the mail server
   * accepts.
   */
  async #calendars(
    account: ConnectedAccount,
    calendar: CalendarPort,
    claim: MirrorClaim,
    state: MirrorState,
    hasMailbox: boolean,
  ): Promise<string[] | null> {
    try {
      return await this.calendars.run(account, calendar, claim, state);
    } catch (error) {
      if (!(error instanceof ProviderError) || !hasMailbox) throw error;
      if (error instanceof BudgetExhaustedError) throw error;
      this.#log.warn(
        `account ${account.accountId}: calendar sync failed and will be retried: ${error.message}`,
      );
      return null;
    }
  }

  /** Handles contact errors as `#calendars` handles calendar errors. A book may not be allowed. */
  async #contacts(
    account: ConnectedAccount,
    contacts: ContactsPort,
    claim: MirrorClaim,
    goOn: () => boolean,
    hasMailbox: boolean,
  ): Promise<ContactPassResult> {
    try {
      return await this.contacts.run(account, contacts, claim, goOn);
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'unsupported')
        return { hasBook: false, more: false };
      if (!(error instanceof ProviderError) || !hasMailbox) throw error;
      if (error instanceof BudgetExhaustedError) throw error;
      this.#log.warn(
        `account ${account.accountId}: contact sync failed and will be retried: ${error.message}`,
      );
      return { hasBook: true, more: false };
    }
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
      // The next pass reads the changes first. A shorter wait could allow for nothing else.
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
    [goOn, budget, stalls]: readonly [goOn: () => boolean, budget: BudgetWait, stalls: Stalls],
  ): Promise<boolean> {
    const { horizonDays } = this.config.sync;
    const since =
      horizonDays === 0 ? null : new Date(this.clock.now().getTime() - horizonDays * DAY_MS);
    let shown = state.syncState;
    let { watchable } = state;
    const control: RunControl = {
      since,
      goOn,
      onStored: async (present) => {
        budget.progress();
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

  /** @param pause seconds after which there is more to do; `null` if there is nothing */
  #poll(
    { watched }: Pick<MirrorState, 'watched'>,
    pause: number | null,
    result: SyncResult,
  ): Outcome<SyncResult> {
    const { pollSeconds, pollWatchedSeconds } = this.config.sync;
    const now = this.clock.now();
    const poll = nextPoll(now, watched ? pollWatchedSeconds : pollSeconds, Math.random());
    const resume = pause === null ? Infinity : now.getTime() + pause * 1000;
    const at = new Date(Math.min(poll.getTime(), resume));
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }

  #wait(seconds: number, result: SyncResult): Outcome<SyncResult> {
    const at = new Date(this.clock.now().getTime() + seconds * 1000);
    return { next: { kind: 'again', at, ambiguous: false }, result };
  }

  #failed(failures: number, reason: string, retryAfterSeconds: number | null): Outcome<SyncResult> {
    const at = nextAttempt(this.clock.now(), failures, retryAfterSeconds, Math.random());
    return { next: { kind: 'again', at, ambiguous: false }, result: { kind: 'failed', reason } };
  }
}
