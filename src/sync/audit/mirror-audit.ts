import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { AuditRound } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import {
  type AuditState,
  auditState,
  type FirstAudits,
  finishAudit,
  postponeAudit,
  storeRound,
} from '../../accounts/sync-schedule/mirror-audits.ts';
import {
  addListing,
  compareListing,
  countMirrored,
  forgetListing,
} from '../../mail/messages/mirror/audited-messages.ts';
import { forgetSeen, noteSeen, recordDays } from '../../mail/messages/mirror/audited-days.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { Database } from '../../platform/database/sql.ts';
import type { Connector, MailPort, MessageIds } from '../../providers/port/connector.ts';
import {
  type AuditPort,
  type AuditRun,
  firstAudits,
  isAuditable,
  isAuditDue,
  lastAudit,
  problemOf,
  roundOf,
} from './audit-round.ts';
import { daysOfRound, firstShownDay, startOfDay } from './audit-days.ts';
import { CollectionAudit } from './collection-audit.ts';
import { SECOND_PROOF_AFTER_MS } from './doubts.ts';
import { FolderMirror } from '../folders/folder-mirror.ts';
import { LOST_OF_MAILBOX, reportLost } from './lost-objects.ts';
import { MirrorRepairs } from './mirror-repairs.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';
import { nextPoll } from '../sync-policy.ts';

/** Most ids that are requested at a time. */
const PAGE = 10_000;
/** Shortest wait after the provider failed or limited an audit. Seconds. */
const AFTER_FAILURE_SECONDS = 300;
const DAY_SECONDS = 86_400;
/** The listing of a folder that the provider does not have. */
const GONE: MessageIds = { ids: [], cursor: null };

/** What is audited. */
export type AuditedPorts = Pick<Connector, 'mail' | 'calendar' | 'contacts'>;

/** State of the audit after a run. */
export interface AuditOutcome {
  /** True if the audit can continue at once. */
  more: boolean;
  /** Why the mirror must not be shown as healthy; `null` if it is. */
  problem: string | null;
  /** False if no audit was due. */
  ran: boolean;
}

/**
 * Compares the mailbox at the provider with the mirror and repairs what differs (ADR 0080). An
 * audit lists the ids of each folder. A message that differs is a candidate. After the next sync
 * pass the provider is asked for the candidates themselves, and only what still differs is
 * repaired. Messages and folders are removed after an hour and a second answer only (ADR 0124).
 */
@Injectable()
export class MirrorAudit {
  readonly #log = new Logger(MirrorAudit.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly folders: FolderMirror,
    private readonly repairs: MirrorRepairs,
    private readonly collections: CollectionAudit,
    private readonly clock: Clock,
  ) {}

  /**
   * Continues the audit of an account, or begins one that is due. Called after a sync pass that has
   * stored everything the provider reports. Calendars and contacts follow the mailbox. Errors of
   * the provider postpone the audit.
   * @param goOn called between requests; `false` ends the run, and the next one continues
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    { mail, calendar, contacts }: AuditedPorts,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
  ): Promise<AuditOutcome> {
    const isOff = this.config.sync.audit.seconds === 0;
    if (isOff && state.collectionsDoubted !== true)
      return { more: false, problem: null, ran: false };
    const hasMailbox = mail !== undefined;
    const isAudited = hasMailbox && isAuditable(mail) && !isOff;
    if (!isAuditDue(state, this.clock.now(), isAudited))
      return { more: false, problem: isAudited ? problemOf(lastAudit(state)) : null, ran: false };
    const first = firstAudits(this.clock.now(), state.wasCurrent, this.config.sync.audit);
    const outcome = await this.#mailbox(
      account,
      isAudited ? mail : undefined,
      claim,
      state,
      goOn,
      first,
    );
    if (outcome.more) return { ...outcome, ran: true };
    const collections = { account, calendar, contacts, claim, hasMailbox, goOn, first };
    return { ...outcome, more: await this.collections.run(collections), ran: true };
  }

  async #mailbox(
    account: ConnectedAccount,
    mail: MailPort | undefined,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
    first: FirstAudits,
  ): Promise<Omit<AuditOutcome, 'ran'>> {
    if (!mail || !isAuditable(mail)) return { more: false, problem: null };
    const now = this.clock.now();
    const { recentDays } = this.config.sync.audit;
    const recentSince = new Date(now.getTime() - recentDays * DAY_SECONDS * 1000);
    const run: AuditRun = { account, mail, claim, state, recentSince, goOn };
    const audit = await auditState(this.database, account.accountId, first);
    const isDue = audit.round !== null || audit.recentAt <= now || audit.fullAt <= now;
    const mayRun = isDue && (audit.notBefore === null || audit.notBefore <= now);
    if (!mayRun) return { more: false, problem: problemOf(audit) };
    try {
      const more = await this.#continue(run, audit);
      if (more) return { more, problem: problemOf(audit) };
      const after = await auditState(this.database, account.accountId, first);
      return { more, problem: problemOf(after) };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      await this.#postpone(run, error);
      return { more: false, problem: problemOf(audit) };
    }
  }

  /** @returns true if the audit is not complete */
  async #continue(run: AuditRun, audit: AuditState): Promise<boolean> {
    const { account, goOn } = run;
    // The sync pass of this run would have reported changes that the listing saw too early.
    const areProven = audit.round?.folders.length === 0;
    let round = audit.round ?? (await this.#begin(run, audit));
    while (round.folders.length > 0) {
      if (!goOn()) return true;
      round = await this.#list(run, round);
    }
    const left = await this.repairs.left(account.accountId);
    if (left && !areProven) return true;
    if (left) {
      const result = await this.repairs.run(run, round);
      round = result.round;
      if (result.more) return true;
    }
    const waitsUntil = await this.#secondProofAt(account.accountId, round);
    if (waitsUntil && waitsUntil > this.clock.now())
      await this.claims.withClaim(run.claim, null, (sql) =>
        postponeAudit(sql, account.accountId, waitsUntil),
      );
    else await this.#finish(run, round, audit);
    return false;
  }

  /** When messages and folders that seem to be gone can be asked for again; `null` without any. */
  async #secondProofAt(accountId: string, round: AuditRound): Promise<Date | null> {
    const messages = (await this.repairs.secondProofAt(accountId))?.getTime() ?? 0;
    const isFolderGone = round.surplusFolders.length > 0;
    const folders = isFolderGone ? Date.parse(round.beganAt) + SECOND_PROOF_AFTER_MS : 0;
    const later = Math.max(messages, folders);
    return later === 0 ? null : new Date(later);
  }

  async #begin(
    { account, mail, claim, recentSince }: AuditRun,
    audit: AuditState,
  ): Promise<AuditRound> {
    const { accountId } = account;
    const now = this.clock.now();
    const isFull = audit.fullAt <= now;
    const surplusFolders = isFull
      ? await this.folders.addMissing(account, claim, await mail.listFolders(account), now)
      : [];
    const { horizonDays } = this.config.sync;
    const horizon =
      horizonDays === 0 ? null : new Date(now.getTime() - horizonDays * DAY_SECONDS * 1000);
    // With a horizon, the mirror has fewer messages than the provider counts.
    const counts = horizon ? undefined : await mail.countMessages?.(account);
    const mirrored = await countMirrored(this.database, accountId);
    const round = roundOf({
      now,
      isFull,
      recentSince,
      surplusFolders,
      horizon,
      counts,
      mirrored,
      counted: audit.counted,
    });
    await this.claims.withClaim(claim, null, async (sql) => {
      await forgetListing(sql, accountId);
      await forgetSeen(sql, accountId);
      await storeRound(sql, accountId, round);
    });
    return round;
  }

  /** Lists one page of the first folder, and compares the folder if that was the last page. */
  async #list({ account, mail, claim }: AuditRun, round: AuditRound): Promise<AuditRound> {
    const { accountId } = account;
    const [folderId = '', ...folders] = round.folders;
    const isWhole = round.kind === 'full' || round.whole.includes(folderId);
    const isSurplus = round.surplusFolders.includes(folderId);
    const from = isSurplus ? null : isWhole ? round.wholeSince : round.since;
    const since = from === null ? null : new Date(from);
    const beganAt = round.folderBeganAt ?? this.clock.now().toISOString();
    const request = { folderId, since, cursor: round.cursor };
    const page = await this.#page(account, mail, request, isSurplus);
    const surplusFolders =
      page === GONE ? round.surplusFolders : round.surplusFolders.filter((id) => id !== folderId);
    const next = { ...round, surplusFolders, folders, cursor: null, folderBeganAt: null };
    return this.claims.withClaim(claim, null, async (sql) => {
      let stored: AuditRound = { ...next, skipped: round.skipped + (page === null ? 1 : 0) };
      if (page === null) await forgetListing(sql, accountId);
      else {
        await addListing(sql, accountId, page.ids);
        if (page.cursor !== null) {
          stored = { ...round, surplusFolders, cursor: page.cursor, folderBeganAt: beganAt };
        } else {
          await noteSeen(sql, accountId, startOfDay(firstShownDay(new Date(round.beganAt))));
          await compareListing(sql, accountId, folderId, since, new Date(beganAt));
          stored = { ...next, checked: round.checked + (await forgetListing(sql, accountId)) };
        }
      }
      await storeRound(sql, accountId, stored);
      return stored;
    });
  }

  /**
   * @param isSurplus whether the provider has not listed the folder
   * @returns `null` if the folder cannot be listed now; it is then not compared
   */
  async #page(
    account: ConnectedAccount,
    mail: AuditPort,
    request: { folderId: string; since: Date | null; cursor: string | null },
    isSurplus: boolean,
  ): Promise<MessageIds | null> {
    try {
      const page = await mail.listIds(account, { ...request, until: null, limit: PAGE });
      if (page.cursor !== null && page.cursor === request.cursor)
        throw new ProviderError('temporary', 'The listing of a folder does not end');
      return page;
    } catch (error) {
      const code = error instanceof ProviderError ? error.code : null;
      if (code === 'not-found' && isSurplus) return GONE;
      if (code === 'not-found' || code === 'conflict') return null;
      throw error;
    }
  }

  async #finish(run: AuditRun, round: AuditRound, audit: AuditState): Promise<void> {
    const { account, claim } = run;
    const { accountId } = account;
    await this.#removeFolders(run, round);
    const { seconds, fullDays } = this.config.sync.audit;
    const at = this.clock.now();
    const { found, repaired, checked, kind, missing, surplus, misplaced, skipped } = round;
    const recentAt = nextPoll(at, seconds, Math.random());
    const isFine = found === repaired && (audit.failed === 0 || kind === 'full');
    const later =
      kind === 'full' ? nextPoll(at, fullDays * DAY_SECONDS, Math.random()) : audit.fullAt;
    // Until an audit of everything finds nothing that it cannot repair, each audit is one.
    const fullAt = isFine ? later : recentAt;
    // The whole log is read only if messages were stored again, and after audits of everything.
    const mayHaveLost = kind === 'full' || missing > 0;
    const lost = await this.claims.withClaim(claim, null, async (sql) => {
      if (round.notesDays) {
        const { days, firstShown } = daysOfRound(round);
        await recordDays(sql, accountId, days, firstShown);
      }
      await finishAudit(sql, accountId, { at, recentAt, fullAt });
      const wanted = { kinds: LOST_OF_MAILBOX, collections: [] };
      return mayHaveLost ? reportLost(sql, { ...account, at }, wanted) : 0;
    });
    if (found + skipped + lost > 0)
      this.#log.warn(
        `account ${accountId}: the audit compared ${checked} messages with the provider, found ${found} differences (${missing} missing, ${surplus} surplus, ${misplaced} misplaced), repaired ${repaired}, could not list ${skipped} folders, and reported ${lost} ids as deleted that are not stored any more`,
      );
  }

  /** Removes empty folders that the provider does not list an hour later either. */
  async #removeFolders({ account, mail, claim }: AuditRun, round: AuditRound): Promise<void> {
    const { surplusFolders } = round;
    if (surplusFolders.length === 0) return;
    const requestedAt = this.clock.now();
    const folders = await mail.listFolders(account);
    await this.folders.removeEmpty(account, claim, folders, surplusFolders, requestedAt);
  }

  async #postpone({ account, claim }: AuditRun, error: ProviderError): Promise<void> {
    const seconds = Math.max(AFTER_FAILURE_SECONDS, error.retryAfterSeconds ?? 0);
    const until = new Date(this.clock.now().getTime() + seconds * 1000);
    await this.claims.withClaim(claim, null, (sql) => postponeAudit(sql, account.accountId, until));
    if (error.code !== 'rate-limited')
      this.#log.warn(
        `account ${account.accountId}: the audit failed and will be continued: ${error.message}`,
      );
  }
}
