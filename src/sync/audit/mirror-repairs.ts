import { Injectable } from '@nestjs/common';
import type { AuditRound } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import { storeRound } from '../../accounts/sync-schedule/mirror-audits.ts';
import { mirroredFolders } from '../../mail/folders/mirror-folders.ts';
import {
  auditedMessages,
  countLook,
  forgetCandidates,
  goneSince,
  noteGone,
  resetLooks,
  candidates,
} from '../../mail/messages/mirror/audited-messages.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { RemoteMessageState, RemoteMessage } from '../../providers/port/connector.ts';
import {
  type AuditPort,
  type AuditRun,
  type Differences,
  differencesOf,
  type Seen,
  seenOf,
  sizeOf,
} from './audit-round.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { contentOf } from '../messages/fetched-messages.ts';
import { SECOND_PROOF_AFTER_MS } from './doubts.ts';
import { MailboxSync } from '../mailbox-sync.ts';
import { MirrorRepository } from '../mirror.repository.ts';

/** Candidates that are looked at together. */
const BATCH = 250;
/** The same after a worker crashed while it had claimed the mailbox. */
const BATCH_AFTER_CRASH = 10;
/** A candidate that this many looks could not clear up counts as a difference that stays. */
const MOST_LOOKS = 3;

/** A second look at candidates. */
interface Look {
  answer: Seen;
  /** Of the messages that only the mirror has, those that were gone an hour ago as well. */
  differences: Differences;
  /** The others: they need a second proof (ADR 0124). */
  doubted: ReadonlySet<string>;
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

/**
 * Looks at the candidates of an audit again, and repairs those that still differ. A message that
 * does not exist is removed when the provider says so again after an hour.
 */
@Injectable()
export class MirrorRepairs {
  constructor(
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly mailboxes: MailboxSync,
    private readonly clock: Clock,
  ) {}

  /** Whether an account has candidates that can be looked at now. */
  async left(accountId: string): Promise<boolean> {
    return (await this.#candidates(accountId, 1)).length > 0;
  }

  /** When the next candidate can be looked at that needs a second proof; `null` for none. */
  async secondProofAt(accountId: string): Promise<Date | null> {
    const since = await goneSince(this.database, accountId);
    return since && new Date(since.getTime() + SECOND_PROOF_AFTER_MS);
  }

  #candidates(accountId: string, limit: number): Promise<string[]> {
    const goneBefore = new Date(this.clock.now().getTime() - SECOND_PROOF_AFTER_MS);
    return candidates(this.database, accountId, limit, goneBefore);
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
    const found = await this.#candidates(accountId, limit + 1);
    const providerIds = found.slice(0, limit);
    if (providerIds.length === 0) return undefined;
    // Counted first: a candidate that crashes the worker must not be looked at forever.
    await this.claims.withClaim(claim, null, (sql) => countLook(sql, accountId, providerIds));
    const requestedAt = this.clock.now();
    const request = { providerIds, content: false, priority: 'history' } as const;
    const answer = seenOf(await mail.readMessages(account, request));
    const all = await this.#differences(accountId, answer, round);
    const doubted = new Set(
      await this.claims.withClaim(claim, null, (sql) =>
        noteGone(sql, accountId, all.gone, requestedAt),
      ),
    );
    const differences = without(all, doubted);
    return { answer, differences, doubted, requestedAt, more: found.length > limit };
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
    { answer, differences, doubted }: Look,
    { unread }: Repaired,
  ): Promise<AuditRound> {
    const left = without(await this.#differences(accountId, answer, round), doubted);
    const waiting = new Set([...unread, ...doubted]);
    const cleared = idsOf(answer).filter((id) => !waiting.has(id));
    return this.claims.withClaim(claim, null, async (sql) => {
      // Messages that did not fit into the provider's answer have not been looked at.
      if (unread.length < differences.missing.length) await resetLooks(sql, accountId, unread);
      await resetLooks(sql, accountId, [...doubted]);
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
  missing: readonly RemoteMessageState[],
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

/** The differences without messages that need a second proof. */
const without = (differences: Differences, doubted: ReadonlySet<string>): Differences => ({
  ...differences,
  gone: differences.gone.filter((id) => !doubted.has(id)),
});

const idsOf = ({ messages, gone }: Seen): string[] => [
  ...messages.map(({ providerId }) => providerId),
  ...gone,
];
