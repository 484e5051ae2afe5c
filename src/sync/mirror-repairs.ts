import { Injectable } from '@nestjs/common';
import type { AuditRound } from '../accounts/sync-schedule/mirror-audit.entity.ts';
import { storeRound } from '../accounts/sync-schedule/mirror-audits.ts';
import { mirroredFolders } from '../mail/folders/mirror-folders.ts';
import {
  auditedMessages,
  countLook,
  forgetCandidates,
  resetLooks,
  candidates,
} from '../mail/messages/audited-messages.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { Database } from '../platform/database/sql.ts';
import type { MessageState, RemoteMessage } from '../providers/port/connector.ts';
import {
  type AuditPort,
  type AuditRun,
  type Differences,
  differencesOf,
  type Seen,
  seenOf,
  sizeOf,
} from './audit-round.ts';
import type { ConnectedAccount } from '../accounts/grants/provider-accounts.ts';
import { contentOf } from './fetched-messages.ts';
import { MailboxSync } from './mailbox-sync.ts';
import { MirrorRepository } from './mirror.repository.ts';

/** Candidates that are looked at together. */
const BATCH = 250;
/** The same after a worker crashed while it had claimed the mailbox. */
const BATCH_AFTER_CRASH = 10;
/** A candidate that this many looks could not clear up counts as a difference that stays. */
const MOST_LOOKS = 3;

/** A second look at candidates. */
interface Look {
  answer: Seen;
  differences: Differences;
  requestedAt: Date;
  /** Whether candidates are left that this look does not cover. */
  more: boolean;
}

/** Result of repairing the differences of a look. */
interface Repaired {
  /** True if one of our own writes ended meanwhile, so that nothing was stored. */
  outdated: boolean;
  hasVanished: boolean;
  /** Missing messages whose content has not been read yet. */
  unread: string[];
}

/** Looks at the candidates of an audit again, and repairs those that still differ. */
@Injectable()
export class MirrorRepairs {
  constructor(
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly mailboxes: MailboxSync,
    private readonly clock: Clock,
  ) {}

  /** Whether an account has candidates. */
  async left(accountId: string): Promise<boolean> {
    return (await candidates(this.database, accountId, 1)).length > 0;
  }

  /**
   * Looks at all candidates.
   * @returns the round with the differences counted; `more` if candidates are left
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(run: AuditRun, begun: AuditRound): Promise<{ round: AuditRound; more: boolean }> {
    const { crashes, reading } = run.state;
    const limit = crashes > 0 || reading !== null ? BATCH_AFTER_CRASH : BATCH;
    let round = begun;
    let { hasVanished } = run.state;
    while (run.goOn()) {
      const look = await this.#look(run, round, limit);
      if (!look) return { round, more: false };
      const repaired = await this.#repair(run, look, hasVanished);
      if (repaired.outdated) return { round, more: true };
      ({ hasVanished } = repaired);
      round = await this.#settle(run, round, look, repaired);
    }
    return { round, more: await this.left(run.account.accountId) };
  }

  /** @returns `undefined` if there are no candidates */
  async #look(
    { account, mail, claim }: AuditRun,
    round: AuditRound,
    limit: number,
  ): Promise<Look | undefined> {
    const { accountId } = account;
    const found = await candidates(this.database, accountId, limit + 1);
    const providerIds = found.slice(0, limit);
    if (providerIds.length === 0) return undefined;
    // Counted first: a candidate that crashes the worker must not be looked at forever.
    await this.claims.withClaim(claim, null, (sql) => countLook(sql, accountId, providerIds));
    const requestedAt = this.clock.now();
    const request = { providerIds, content: false, priority: 'history' } as const;
    const answer = seenOf(await mail.readMessages(account, request));
    const differences = await this.#differences(accountId, answer, round);
    return { answer, differences, requestedAt, more: found.length > limit };
  }

  async #differences(
    accountId: string,
    answer: Seen,
    { wholeSince }: AuditRound,
  ): Promise<Differences> {
    const mirror = await auditedMessages(this.database, accountId, idsOf(answer));
    const folders = await mirroredFolders(this.database, accountId);
    const ids = new Set(folders.flatMap(({ providerId }) => providerId ?? []));
    const since = wholeSince === null ? null : new Date(wholeSince);
    return differencesOf(answer, mirror, ids, since);
  }

  async #repair(
    { account, mail, claim, state, recentSince }: AuditRun,
    { differences, requestedAt, more }: Look,
    hasVanished: boolean,
  ): Promise<Repaired> {
    const { missing, misplaced, gone } = differences;
    const { read, unread } = await readContents(account, mail, missing);
    if (sizeOf(differences) === unread.length && !hasVanished)
      return { outdated: false, hasVanished, unread };
    const stored = await this.mailboxes.repair(account, mail, claim, state, {
      messages: [...read, ...misplaced.map((one) => ({ ...one, content: null }))],
      removed: gone,
      more: more || unread.length > 0,
      newsSince: state.connectedAt > recentSince ? state.connectedAt : recentSince,
      requestedAt,
      hasVanished,
    });
    return { ...stored, unread };
  }

  /** Forgets the candidates that are cleared up, and counts the differences among them. */
  async #settle(
    { account: { accountId }, claim }: AuditRun,
    round: AuditRound,
    { answer, differences }: Look,
    { unread }: Repaired,
  ): Promise<AuditRound> {
    const left = await this.#differences(accountId, answer, round);
    const waiting = new Set(unread);
    const cleared = idsOf(answer).filter((id) => !waiting.has(id));
    return this.claims.withClaim(claim, null, async (sql) => {
      // What did not fit into one answer is not held against the messages that are left.
      if (unread.length < differences.missing.length) await resetLooks(sql, accountId, unread);
      const stuck = await forgetCandidates(sql, accountId, cleared, MOST_LOOKS);
      const settled: AuditRound = {
        ...round,
        found: round.found + sizeOf(differences) - unread.length + stuck,
        missing: round.missing + differences.missing.length - unread.length,
        surplus: round.surplus + differences.gone.length,
        misplaced: round.misplaced + differences.misplaced.length,
        repaired: round.repaired + Math.max(0, sizeOf(differences) - sizeOf(left)),
      };
      await storeRound(sql, accountId, settled);
      return settled;
    });
  }
}

/** Reads the contents of as many messages as the provider returns now. */
async function readContents(
  account: ConnectedAccount,
  mail: AuditPort,
  missing: readonly MessageState[],
): Promise<{ read: RemoteMessage[]; unread: string[] }> {
  if (missing.length === 0) return { read: [], unread: [] };
  const providerIds = missing.map(({ providerId }) => providerId);
  const request = { providerIds, content: true, priority: 'history' } as const;
  const answer = await mail.readMessages(account, request);
  const read = missing.flatMap((state): RemoteMessage[] => {
    const message = answer.get(state.providerId);
    const content = contentOf(message);
    // The state may have changed since it was looked at.
    return content ? [{ ...state, ...message?.state, content }] : [];
  });
  const ids = new Set(read.map(({ providerId }) => providerId));
  return { read, unread: providerIds.filter((id) => !ids.has(id)) };
}

const idsOf = ({ messages, gone }: Seen): string[] => [
  ...messages.map(({ providerId }) => providerId),
  ...gone,
];
