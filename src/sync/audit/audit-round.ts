import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { AuditRound } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import type {
  AuditState,
  AuditTimes,
  FirstAudits,
} from '../../accounts/sync-schedule/mirror-audits.ts';
import type { AuditedMessage } from '../../mail/messages/mirror/audited-messages.ts';
import type { MailPort, RemoteMessageState, ReadMessage } from '../../providers/port/connector.ts';
import type { MirrorClaim, MirrorState } from '../mirror.repository.ts';

const DAY_SECONDS = 86_400;
/** An account is shown as failing after this many audits that could not repair every difference. */
const MOST_FAILED = 2;

/** A mail port whose mirror can be audited. */
export type AuditPort = MailPort &
  Required<Pick<MailPort, 'listFolders' | 'listIds' | 'readMessages'>>;

export const isAuditable = (mail: MailPort): mail is AuditPort =>
  mail.listIds !== undefined && mail.listFolders !== undefined && mail.readMessages !== undefined;

/** One run of an audit. */
export interface AuditRun {
  account: ConnectedAccount;
  mail: AuditPort;
  claim: MirrorClaim;
  state: MirrorState;
  /** Messages received at or after this time are recent. */
  recentSince: Date;
  /** Called between requests; `false` ends the run early. */
  goOn(): boolean;
}

/**
 * Whether an audit begins or continues, also of an account that has no audits yet.
 * @param hasMailbox whether the account has a mailbox that is audited
 */
export function isAuditDue(times: AuditTimes, now: Date, hasMailbox: boolean): boolean {
  const { recentAuditAt, fullAuditAt, auditNotBefore, auditBegun, collectionsAuditAt } = times;
  if (!recentAuditAt || !fullAuditAt || !collectionsAuditAt) return true;
  const wanted = auditBegun === true || recentAuditAt <= now || fullAuditAt <= now;
  const mayRun = auditNotBefore === null || auditNotBefore <= now;
  return (hasMailbox && wanted && mayRun) || collectionsAuditAt <= now;
}

/** Result of the last audits. */
export function lastAudit({ unrepairedDifferences, failedAudits }: AuditTimes) {
  return { unrepaired: unrepairedDifferences ?? 0, failed: failedAudits ?? 0 };
}

/** Why a mirror must not be shown as healthy; `null` if it is. */
export function problemOf({ failed, unrepaired }: Pick<AuditState, 'failed' | 'unrepaired'>) {
  return failed < MOST_FAILED
    ? null
    : `The mirror differs from the mailbox in ${unrepaired} messages, and ${failed} audits could not repair it`;
}

/**
 * When the first audits of an account begin: at once if its mirror has just become complete. If it
 * was complete before, audits are new on this server. They are then spread over their intervals,
 * because all accounts would be audited at the same time otherwise.
 * @param random 0 to 1
 */
export function firstAudits(
  now: Date,
  wasComplete: boolean,
  { seconds, fullDays }: { seconds: number; fullDays: number },
  random: () => number = Math.random,
): FirstAudits {
  const within = (interval: number) =>
    wasComplete ? new Date(now.getTime() + random() * interval * 1000) : now;
  return {
    recentAt: within(seconds),
    fullAt: within(fullDays * DAY_SECONDS),
    collectionsAt: within(fullDays * DAY_SECONDS),
  };
}

/** What is known when an audit begins. */
export interface RoundStart {
  now: Date;
  isFull: boolean;
  recentSince: Date;
  /** Provider ids of folders that only the mirror has. */
  surplusFolders: readonly string[];
  /** Sync horizon; `null` if all messages are mirrored. */
  horizon: Date | null;
  /** Messages in each folder at the provider; `undefined` if unknown. */
  counts: ReadonlyMap<string, number> | undefined;
  /** Messages in each folder of the mirror. */
  mirrored: ReadonlyMap<string, number>;
  /** `AuditRound.counted` of the previous round. */
  counted: Readonly<Record<string, number>>;
}

/**
 * Plans an audit. A folder is compared completely if the provider counts more or fewer messages
 * than the mirror has, unless the last audit has already seen that difference.
 */
export function roundOf(start: RoundStart): AuditRound {
  const { now, isFull, recentSince, horizon, counts, mirrored } = start;
  const folders = [...mirrored.keys()];
  const counted = Object.fromEntries(
    folders.flatMap((id) => {
      const difference = (counts?.get(id) ?? Number.NaN) - (mirrored.get(id) ?? 0);
      return Number.isNaN(difference) || difference === 0 ? [] : [[id, difference]];
    }),
  ) as Record<string, number>;
  const since = horizon && horizon > recentSince ? horizon : recentSince;
  return {
    kind: isFull ? 'full' : 'recent',
    beganAt: now.toISOString(),
    since: since.toISOString(),
    wholeSince: horizon?.toISOString() ?? null,
    whole: Object.keys(counted).filter((id) => counted[id] !== start.counted[id]),
    folders,
    surplusFolders: start.surplusFolders,
    cursor: null,
    folderBeganAt: null,
    notesDays: true,
    checked: 0,
    found: 0,
    repaired: 0,
    missing: 0,
    surplus: 0,
    misplaced: 0,
    skipped: 0,
    counted,
  };
}

/** What a provider says about candidates. */
export interface Seen {
  messages: readonly RemoteMessageState[];
  /** Ids that do not exist. */
  gone: readonly string[];
}

/** The states of the messages that exist, and the ids of the others. */
export function seenOf(read: ReadonlyMap<string, ReadMessage | null>): Seen {
  return {
    messages: [...read.values()].flatMap((message) => message?.state ?? []),
    gone: [...read].flatMap(([id, message]) => (message === null ? [id] : [])),
  };
}

/** Proven differences between the provider and the mirror. */
export interface Differences {
  /** Messages that the mirror does not have. */
  missing: RemoteMessageState[];
  /** Messages that are in other folders in the mirror. */
  misplaced: RemoteMessageState[];
  /** Provider ids of messages that only the mirror has. */
  gone: string[];
}

/**
 * Compares messages at the provider with the mirror. Messages that are changing, messages from
 * before the horizon, and folders that the mirror does not have are no differences.
 * @param mirror mirrored messages by provider id
 * @param folders provider ids of the folders in the mirror
 * @param since the sync horizon
 */
export function differencesOf(
  { messages, gone }: Seen,
  mirror: ReadonlyMap<string, AuditedMessage>,
  folders: ReadonlySet<string>,
  since: Date | null,
): Differences {
  const isIncluded = ({ receivedAt }: RemoteMessageState) => since === null || receivedAt >= since;
  const isMisplaced = ({ providerId, folderIds }: RemoteMessageState) => {
    const known = mirror.get(providerId);
    if (!known || known.isOpen) return false;
    const wanted = new Set(folderIds.filter((id) => folders.has(id)));
    const present = known.folderIds.filter((id) => folders.has(id));
    return wanted.size !== present.length || present.some((id) => !wanted.has(id));
  };
  return {
    missing: messages.filter((one) => !mirror.has(one.providerId) && isIncluded(one)),
    misplaced: messages.filter(isMisplaced),
    gone: gone.filter((id) => mirror.get(id)?.isOpen === false),
  };
}

/** Number of differences. */
export const sizeOf = ({ missing, misplaced, gone }: Differences): number =>
  missing.length + misplaced.length + gone.length;
