import { Injectable, Logger } from '@nestjs/common';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { listedIds } from '../../mail/messages/listed-messages.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { MailPort, ReadMessage, RemoteMessage } from '../../providers/port/connector.ts';
import { contentOf, type FetchedMessages } from '../messages/fetched-messages.ts';
import { isAfterCrash } from '../messages/message-reader.ts';
import { MAY_BE_COPY } from '../messages/unclear-copies.ts';
import { MailboxSync, type Repair } from '../mailbox-sync.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';
import { forgetFailures, recordFailures, waitingFailures } from './sync-failures.ts';

/** Messages requested together. Larger groups would keep more contents in memory. */
const TOGETHER = 20;

/** A message that is due. */
interface Due {
  providerId: string;
  reason: string;
}

/** Errors that do not concern one message. */
const GENERAL: readonly string[] = ['auth-invalid', 'rate-limited', 'quota-exhausted'];

/**
 * Reads messages again on which the provider failed: messages that are missing in the mirror, and
 * mirrored messages whose latest change is unknown. `ListedMessages` handles listed messages.
 */
@Injectable()
export class FailedMessages {
  readonly #log = new Logger(FailedMessages.name);

  constructor(
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly mailboxes: MailboxSync,
    private readonly clock: Clock,
  ) {}

  /**
   * Requests each message whose time has come, and stores it. Messages on which the provider has
   * failed are requested alone, so that none of them hinders another one.
   * @param canGoOn called before each message or group; `false` stops the run
   * @returns false if the run was stopped
   * @throws {ProviderError} if the provider refuses every request now
   * @throws {ClaimLostError}
   */
  async retry(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    canGoOn: () => Promise<boolean>,
  ): Promise<boolean> {
    const { accountId } = account;
    const waiting = await waitingFailures(this.database, accountId, this.clock.now());
    const due = waiting.filter((failure) => failure.due);
    if (due.length === 0) return true;
    const ids = due.map(({ providerId }) => providerId);
    const listed = await listedIds(this.database, accountId, ids);
    if (!mail.readMessages) return true;
    const waits = (one: Due) => one.reason === MAY_BE_COPY && !isAfterCrash(state);
    const all = due.filter(({ providerId }) => !listed.has(providerId));
    const unclear = all.filter(waits);
    const alone = all.filter((one) => !waits(one));
    for (let from = 0; from < unclear.length; from += TOGETHER) {
      if (!(await canGoOn())) return false;
      const group = unclear.slice(from, from + TOGETHER);
      const read = await this.#retryTogether(account, mail, claim, state, group);
      alone.push(...group.filter(({ providerId }) => !read.has(providerId)));
    }
    for (const failure of alone) {
      if (!(await canGoOn())) return false;
      await this.#retry(account, mail, claim, state, failure);
    }
    return true;
  }

  /** @returns the ids of the messages that were read and stored */
  async #retryTogether(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    group: readonly Due[],
  ): Promise<ReadonlySet<string>> {
    const requestedAt = this.clock.now();
    const messages = await readTogether(account, mail, idsIn(group));
    if (messages.length > 0)
      await this.#store(account, mail, claim, state, { requestedAt, messages, removed: [] });
    return new Set(idsIn(messages));
  }

  async #retry(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    { providerId, reason: before }: Due,
  ): Promise<void> {
    const { accountId } = account;
    const requestedAt = this.clock.now();
    const read = await readAgain(account, mail, providerId);
    // One answer may be passing (ADR 0124).
    if (!read.message && read.reason === undefined && before !== GONE) read.reason = GONE;
    if (read.reason !== undefined) {
      const failure = { providerId, reason: read.reason, again: true };
      await this.repository.withClaim(claim, null, (sql) =>
        recordFailures(sql, accountId, [failure], requestedAt),
      );
      this.#log.warn(
        `message ${providerId} of account ${accountId} could still not be read and will be requested again: ${read.reason}`,
      );
      return;
    }
    await this.#store(account, mail, claim, state, {
      requestedAt,
      messages: read.message ? [read.message] : [],
      removed: read.message ? [] : [providerId],
    });
  }

  /** Stores what the provider has returned, and forgets that it was to be requested again. */
  async #store(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    found: Pick<Repair, 'messages' | 'removed' | 'requestedAt'>,
  ): Promise<void> {
    const { outdated } = await this.mailboxes.repair(account, mail, claim, state, {
      ...found,
      // Vanished messages keep waiting for the end of a whole pass.
      more: true,
      newsSince: state.connectedAt,
      hasVanished: state.hasVanished,
    });
    if (outdated) return;
    // Contents may have failed again; those failures were recorded together with the messages.
    const ids = [...idsIn(found.messages), ...found.removed];
    await forgetFailures(this.database, account.accountId, ids, found.requestedAt);
  }
}

const idsIn = (messages: readonly { providerId: string }[]): string[] =>
  messages.map(({ providerId }) => providerId);

/**
 * Messages with their contents, as far as the provider returns both at once. Some providers return
 * the state with the content, others need a second request.
 */
async function readTogether(
  account: ConnectedAccount,
  mail: MailPort,
  ids: readonly string[],
): Promise<RemoteMessage[]> {
  const contents = await readMany(account, mail, ids, true);
  const lacking = ids.filter((id) => contents.get(id)?.content && !contents.get(id)?.state);
  const states = await readMany(account, mail, lacking, false);
  return ids.flatMap((id): RemoteMessage[] => {
    const read = contents.get(id);
    const known = read?.state ?? states.get(id)?.state;
    return read?.content && known ? [{ ...known, content: read.content, mayBeEdited: true }] : [];
  });
}

/** @returns nothing if the provider fails on all of them */
async function readMany(
  account: ConnectedAccount,
  mail: MailPort,
  providerIds: readonly string[],
  content: boolean,
): Promise<FetchedMessages> {
  if (providerIds.length === 0 || !mail.readMessages) return new Map();
  try {
    return await mail.readMessages(account, { providerIds, content, priority: 'history' });
  } catch (error) {
    if (!(error instanceof ProviderError) || GENERAL.includes(error.code)) throw error;
    return new Map();
  }
}

/** @returns `reason` if the provider failed again; no `message` if it is gone */
async function readAgain(
  account: ConnectedAccount,
  mail: MailPort,
  providerId: string,
): Promise<{ message?: RemoteMessage; reason?: string }> {
  try {
    const state = await readOne(account, mail, providerId, false);
    if (state === null) return {};
    if (!state?.state) return { reason: state?.failed ?? NOTHING };
    const read = await readOne(account, mail, providerId, true);
    const content = contentOf(read);
    if (read === null) return {};
    return content
      ? { message: { ...state.state, ...read?.state, content, mayBeEdited: true } }
      : { reason: NOTHING };
  } catch (error) {
    if (!(error instanceof ProviderError) || GENERAL.includes(error.code)) throw error;
    return { reason: error.message };
  }
}

const NOTHING = 'the provider returned nothing';
const GONE = 'the provider does not find the message, and is asked once more';

async function readOne(
  account: ConnectedAccount,
  mail: MailPort,
  providerId: string,
  content: boolean,
): Promise<ReadMessage | null | undefined> {
  // Mostly it is news, which must not wait until midnight because a ceiling comes near (ADR 0125).
  const request = { providerIds: [providerId], content, priority: 'interactive' } as const;
  return (await mail.readMessages?.(account, request))?.get(providerId);
}
