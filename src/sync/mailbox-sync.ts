import { Injectable, Logger } from '@nestjs/common';
import { newId } from '../common/ids/ids.ts';
import { Clock } from '../common/time/clock.ts';
import { Wake } from '../common/wake.ts';
import { type ChangeRecord, recordChanges } from '../deltas/change-log.ts';
import type { ConnectedAccount } from '../grants/provider-accounts.ts';
import type { MailChanges, MailPort, RemoteFolder, RemoteMessage } from '../providers/connector.ts';
import { ProviderError } from '../providers/provider-error.ts';
import { parseMessage, type ParsedMessage, UNREADABLE } from './mime-parser.ts';
import { changesOf, type MirrorOwner, removalsOf } from './mirror-changes.ts';
import { type IncomingMessage, planBatch, type StandardFolders } from './mirror-plan.ts';
import {
  type MirrorClaim,
  type MirrorFolder,
  MirrorRepository,
  type MirrorState,
} from './mirror.repository.ts';

/** Messages fetched and stored at a time. */
const BATCH = 100;

/** Brings the mirror of one mailbox up to date (design 3: messages, threads, folders, files). */
@Injectable()
export class MailboxSync {
  readonly #log = new Logger(MailboxSync.name);

  constructor(
    private readonly repository: MirrorRepository,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /**
   * Follows the mailbox from the stored cursor to its present. Each batch is stored together with its cursor, so it
   * may be interrupted anywhere and goes on where it was.
   * @param goOn asked between batches; false: stop early
   * @returns whether the present was reached
   * @throws {ProviderError}
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    state: MirrorState,
    goOn: () => boolean,
  ): Promise<boolean> {
    const folders = await this.#mirrorFolders(account, claim, await mail.listFolders(account));
    const newsSince = state.wasCurrent ? null : state.connectedAt;
    let { cursor } = state;
    while (goOn()) {
      const changes = await mail.listChanges(account, cursor, BATCH);
      if (changes.cursor !== cursor) {
        await this.#store(account, mail, claim, { folders, newsSince, changes });
        cursor = changes.cursor;
      }
      if (!changes.more) return true;
    }
    return false;
  }

  async #mirrorFolders(
    account: ConnectedAccount,
    claim: MirrorClaim,
    remote: readonly RemoteFolder[],
  ): Promise<StandardFolders> {
    const { accountId, applicationId, organizationUnit: object } = account;
    const mirrored = new Map((await this.repository.folders(accountId)).map((one) => [one.providerId, one]));
    const written: MirrorFolder[] = [];
    for (const folder of remote) {
      const known = mirrored.get(folder.providerId);
      mirrored.delete(folder.providerId);
      if (known?.name === folder.name && known.displayName === folder.displayName) continue;
      written.push({ ...folder, id: known?.id ?? newId() });
    }
    const gone = [...mirrored.values()];
    if (written.length + gone.length > 0) {
      const at = this.clock.now();
      const existing = new Set((await this.repository.folders(accountId)).map(({ id }) => id));
      const change = (objectId: string, event: ChangeRecord['event']): ChangeRecord => {
        return { applicationId, accountId, object, objectId, event, at };
      };
      await this.repository.holding(claim, null, async (sql) => {
        const goneIds = gone.map(({ id }) => id);
        await this.repository.writeFolders(sql, accountId, written, goneIds, at);
        await recordChanges(sql, [
          ...written.map(({ id }) => change(id, existing.has(id) ? 'modify' : 'create')),
          ...goneIds.map((id) => change(id, 'delete')),
        ]);
      });
    }
    const idOf = (name: string) => remote.find((folder) => folder.name === name)?.providerId;
    return { drafts: idOf('drafts'), sent: idOf('sent') };
  }

  async #store(
    account: ConnectedAccount,
    mail: MailPort,
    claim: MirrorClaim,
    batch: { folders: StandardFolders; newsSince: Date | null; changes: MailChanges },
  ): Promise<void> {
    const { accountId } = account;
    const { folders, newsSince, changes } = batch;
    const known = await this.repository.known(
      accountId,
      changes.messages.map(({ providerId }) => providerId),
    );
    const incoming: IncomingMessage[] = [];
    for (const remote of changes.messages) {
      const isNew = !known.has(remote.providerId);
      const parsed = isNew ? await this.#read(account, mail, remote) : null;
      incoming.push({ remote, parsed });
    }
    const contents = incoming.flatMap(({ parsed }) => parsed ?? []);
    const own = contents.flatMap(({ messageIdHeader }) => messageIdHeader ?? []);
    const related = contents.flatMap(({ inReplyTo, references }) => [inReplyTo ?? [], references].flat());
    const [threads, sent] = await Promise.all([
      this.repository.threads(accountId, [...new Set([...own, ...related])]),
      this.repository.sentByUs(accountId, own),
    ]);
    const plan = planBatch(incoming, { known, threads, sent }, folders);
    const owner: MirrorOwner = { account, newsSince, at: this.clock.now() };
    const told = await this.repository.holding(claim, changes.cursor, async (sql) => {
      const created = await this.repository.write(sql, accountId, plan, owner.at);
      const removed = await this.repository.remove(sql, accountId, changes.removed);
      return recordChanges(sql, [
        ...changesOf(plan, created, owner),
        ...removalsOf(removed.messages, removed.threads, owner),
      ]);
    });
    if (told) this.wake.wake('hook');
  }

  /** A message that cannot be read does not stop the mailbox: what is known of it is kept. */
  async #read(
    account: ConnectedAccount,
    mail: MailPort,
    remote: RemoteMessage,
  ): Promise<ParsedMessage | null> {
    try {
      return await parseMessage(remote.mime ?? (await mail.fetchRaw(account, remote.providerId)));
    } catch (error) {
      // Removed between the list and now.
      if (error instanceof ProviderError && error.code === 'not-found') return null;
      if (error instanceof ProviderError) throw error;
      this.#log.warn(
        `message ${remote.providerId} of account ${account.accountId} cannot be parsed: ${String(error)}`,
      );
      return UNREADABLE;
    }
  }
}
