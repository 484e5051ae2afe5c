import { Injectable, Logger } from '@nestjs/common';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { listedIds } from '../../mail/messages/listed-messages.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database } from '../../platform/database/sql.ts';
import type { MailPort, ReadMessage, RemoteMessage } from '../../providers/port/connector.ts';
import { contentOf } from '../messages/fetched-messages.ts';
import { MailboxSync } from '../mailbox-sync.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from '../mirror.repository.ts';
import { forgetFailures, recordFailures, waitingFailures } from './sync-failures.ts';

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
   * Requests each message whose time has come, alone, and stores it.
   * @param canGoOn called before each message; `false` stops the run
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
    for (const failure of due.filter(({ providerId }) => !listed.has(providerId))) {
      if (!mail.readMessages) return true;
      if (!(await canGoOn())) return false;
      await this.#retry(account, mail, claim, state, failure);
    }
    return true;
  }

  async #retry(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    { providerId, reason: before }: { providerId: string; reason: string },
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
    const { outdated } = await this.mailboxes.repair(account, mail, claim, state, {
      messages: read.message ? [read.message] : [],
      removed: read.message ? [] : [providerId],
      // Vanished messages keep waiting for the end of a whole pass.
      more: true,
      newsSince: state.connectedAt,
      requestedAt,
      hasVanished: state.hasVanished,
    });
    if (outdated) return;
    // Its content may have failed again; that failure was recorded together with the message.
    await forgetFailures(this.database, accountId, [providerId], requestedAt);
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
  const request = { providerIds: [providerId], content, priority: 'history' } as const;
  return (await mail.readMessages?.(account, request))?.get(providerId);
}
