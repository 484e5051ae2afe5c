import { Injectable } from '@nestjs/common';
import type { ConnectedAccount } from '../accounts/grants/provider-accounts.ts';
import type { MailChanges, MailPort, RemoteMessage } from '../providers/port/connector.ts';
import { ProviderError } from '../platform/base/errors/provider-error.ts';
import { Database } from '../platform/database/sql.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { fromUnixSeconds, toUnixSeconds } from '../platform/base/time/unix-seconds.ts';
import { type Batch, BatchStore, type StoredBatch } from './batch-store.ts';
import { FolderMirror, type FollowedFolders } from './folder-mirror.ts';
import { idsInFolder, mirroredIds } from '../mail/messages/mirrored-messages.ts';
import { type MessageContent, MessageParser } from '../mail/parsing/message-parser.ts';
import { UNREADABLE } from '../mail/parsing/mime-parser.ts';
import type { IncomingMessage } from './mirror-plan.ts';
import { type MirrorClaim, MirrorRepository, type MirrorState } from './mirror.repository.ts';
import type { ReadFailure } from './sync-failures.ts';

/** Messages fetched and stored at a time; the first page is there sooner, and history costs less. */
const FIRST_BATCH = 100;
const BATCH = 250;
/** The same after a worker has died with the mailbox in hand. */
const GUARDED_BATCH = 10;

/** How a run is followed and ended from outside. */
export interface RunControl {
  /** Messages received earlier are not wanted; null: all are. */
  since: Date | null;
  /** Asked between batches; false: stop early. */
  goOn(): boolean;
  /** Something has been stored; `present`: the mailbox is usable from now on. */
  onStored(present: boolean): Promise<void>;
}

interface Run {
  account: ConnectedAccount;
  mail: MailPort;
  claim: MirrorClaim;
  state: MirrorState;
  since: Date | null;
  /** Whether a worker has died with this mailbox in hand: everything is done with care. */
  guarded: boolean;
}

/** What was read of a batch. */
interface ReadBatch {
  incoming: IncomingMessage[];
  failures: ReadFailure[];
}

/** Brings the mirror of one mailbox up to date (design 3: messages, threads, folders, files). */
@Injectable()
export class MailboxSync {
  constructor(
    private readonly database: Database,
    private readonly repository: MirrorRepository,
    private readonly folders: FolderMirror,
    private readonly parser: MessageParser,
    private readonly batches: BatchStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Follows the mailbox from the stored cursor to its present, and through its history. Each batch is stored together
   * with its cursor, so it may be interrupted anywhere and goes on where it was; while one is being read and stored
   * the next is fetched.
   * @returns whether everything there is has been stored
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    control: RunControl,
  ): Promise<boolean> {
    const guarded = state.crashes > 0 || state.reading !== null;
    const run: Run = { account, mail, claim, state, since: control.since, guarded };
    let { cursor, hasVanished } = state;
    let lookedAt = this.clock.now();
    let next = control.goOn() ? this.#look(run, cursor, Promise.resolve()) : null;
    while (next) {
      const changes: MailChanges = await next;
      const stored = this.#store(run, changes, { cursor, hasVanished, lookedAt });
      cursor = changes.cursor;
      lookedAt = this.clock.now();
      const further = changes.more && control.goOn();
      // One look at a time with care: a batch that kills is to be the only one in hand.
      next = further && !guarded ? this.#look(run, cursor, stored) : null;
      try {
        const { outdated, ...result } = await stored;
        ({ hasVanished } = result);
        if (outdated) {
          // From where the cursor is now, in a run of its own.
          await next?.catch(() => undefined);
          return false;
        }
        await control.onStored(changes.present || !changes.more);
      } catch (error) {
        // Nothing of this run talks to the provider any more when it has ended.
        await next?.catch(() => undefined);
        throw error;
      }
      if (!changes.more) return true;
      if (further && guarded) {
        lookedAt = this.clock.now();
        next = this.#look(run, cursor, Promise.resolve());
      }
    }
    return false;
  }

  #look(
    { account, mail, since, guarded }: Run,
    cursor: string | null,
    stored: Promise<unknown>,
  ): Promise<MailChanges> {
    const limit = guarded ? GUARDED_BATCH : cursor === null ? FIRST_BATCH : BATCH;
    const known = async (folderId: string) => {
      await stored;
      return idsInFolder(this.database, account.accountId, folderId);
    };
    const look = mail.listChanges(account, { cursor, limit, since, known }).then((changes) => {
      // While the batch before is still being stored.
      if (!guarded)
        this.parser.readAhead(
          changes.messages.flatMap(({ content }) => content ?? []),
          account.accountId,
        );
      return changes;
    });
    // It may fail while the batch before is still being stored: that one comes first.
    look.catch(() => undefined);
    return look;
  }

  async #store(
    run: Run,
    changes: MailChanges,
    { cursor, hasVanished, lookedAt }: Pick<Batch, 'cursor' | 'hasVanished' | 'lookedAt'>,
  ): Promise<StoredBatch> {
    const { account, claim, state } = run;
    // First, as a renamed folder renames its messages.
    const {
      standard: folders,
      setAside,
      outdated,
    } = await this.#followFolders(run, changes, lookedAt);
    if (outdated) return { hasVanished: hasVanished || setAside, outdated };
    const mayTurnUp = hasVanished || setAside;
    // A server that does not count changes tells of flags without a cursor that moves.
    const told = changes.messages.length + changes.removed.length > 0;
    if (changes.cursor === cursor && !told && !mayTurnUp)
      return { hasVanished: false, outdated: false };
    const { incoming, failures } = await this.#read(run, changes.messages);
    // Servers tell whole seconds: what comes in the one in which the account was connected is news.
    const newsSince = state.wasCurrent ? null : fromUnixSeconds(toUnixSeconds(state.connectedAt));
    return this.batches.store(account, claim, {
      changes,
      incoming,
      failures,
      folders,
      newsSince,
      hasVanished: mayTurnUp,
      lookedAt,
      cursor,
    });
  }

  async #followFolders(
    { account, claim }: Run,
    changes: MailChanges,
    lookedAt: Date,
  ): Promise<FollowedFolders> {
    return changes.folders || changes.renamed.length > 0
      ? this.folders.follow(account, claim, changes, lookedAt)
      : {
          standard: await this.folders.standard(account.accountId),
          setAside: false,
          outdated: false,
        };
  }

  /** Reads what is new. A message that cannot be read does not stop the mailbox: what is known of it is kept. */
  async #read(run: Run, messages: readonly RemoteMessage[]): Promise<ReadBatch> {
    const { accountId } = run.account;
    const mirrored = await mirroredIds(
      this.database,
      accountId,
      messages.map(({ providerId }) => providerId),
    );
    const batch: ReadBatch = { incoming: [], failures: [] };
    const fresh: { remote: RemoteMessage; content: MessageContent }[] = [];
    for (const remote of messages) {
      // Only its flags have changed, and it was never wanted.
      const unwanted =
        remote.content === null && run.since !== null && remote.receivedAt < run.since;
      if (mirrored.has(remote.providerId)) batch.incoming.push({ remote, parsed: null });
      else if (!unwanted) {
        const content = await this.#contentOf(run, remote);
        if (content) fresh.push({ remote, content });
      }
    }
    if (run.guarded) for (const one of fresh) await this.#parse(run, [one], batch);
    else await this.#parse(run, fresh, batch);
    return batch;
  }

  /** @returns null when it was removed between the list and now */
  async #contentOf(
    { account, mail }: Run,
    { providerId, content }: RemoteMessage,
  ): Promise<MessageContent | null> {
    if (content) return content;
    try {
      return { kind: 'mime', mime: await mail.fetchRaw(account, providerId) };
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'not-found') return null;
      throw error;
    }
  }

  async #parse(
    { account, claim, state, guarded }: Run,
    fresh: readonly { remote: RemoteMessage; content: MessageContent }[],
    batch: ReadBatch,
  ): Promise<void> {
    const [first] = fresh;
    if (guarded && first) {
      const { providerId } = first.remote;
      if (providerId === state.reading) {
        batch.incoming.push({ remote: first.remote, parsed: UNREADABLE });
        batch.failures.push({ providerId, reason: 'the worker died while it read this message' });
        return;
      }
      await this.repository.noteReading(claim, providerId);
    }
    const read = await this.parser.read(fresh.map(({ content }) => content), account.accountId); // prettier-ignore
    for (const [index, { remote }] of fresh.entries()) {
      const { parsed, failure } = read[index] ?? { parsed: UNREADABLE, failure: 'not parsed' };
      batch.incoming.push({ remote, parsed });
      const reason = failure ?? parsed.passed;
      if (reason !== undefined) batch.failures.push({ providerId: remote.providerId, reason });
    }
  }
}
