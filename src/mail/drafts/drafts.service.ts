import { Inject, Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { ConflictError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import type { Address } from '../../platform/base/text/address.ts';
import { isEmptyChange } from '../../platform/base/empty-change.ts';
import { isId, newId, randomBase36 } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { assertBelow } from '../../platform/base/ceilings.ts';
import type { Listing } from '../../platform/database/listing.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import { openProviderWrite } from '../../accounts/provider-writes/provider-jobs.ts';
import type { MessageListRequest, MessageRecord } from '../messages/filters/message-filter.ts';
import { StoredBodies } from '../messages/objects/stored-bodies.ts';
import { MessagesService } from '../messages/messages.service.ts';
import { ListedContents } from '../listed-contents/listed-contents.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { referencesOf, ReplyTargets, replySubject } from '../composing/reply-targets.ts';
import type { TrackingWish } from '../tracking/tracker.ts';
import { changesOfFiles } from '../messages/mirror/file-changes.ts';
import { storeDocuments } from '../messages/search-documents/store-document.ts';
import { snippetOf } from '../../formats/text/snippet.ts';
import { threadChanges } from '../threading/refresh-threads.ts';
import { DraftFiles } from './draft-files.ts';
import { type DraftRow, DraftsRepository } from './drafts.repository.ts';

/** Changes to a draft. Absent fields stay unchanged; in a new draft they are empty. */
export interface DraftChange {
  from?: Address | undefined;
  to?: Address[] | undefined;
  cc?: Address[] | undefined;
  bcc?: Address[] | undefined;
  replyTo?: Address[] | undefined;
  subject?: string | undefined;
  body?: string | undefined;
  /** Ids in the order of the files. */
  fileIds?: readonly string[] | undefined;
  threadId?: string | undefined;
  replyToMessageId?: string | undefined;
  metadata?: Record<string, string> | undefined;
  /** Notifications about the sent message, used when the draft is sent. */
  tracking?: TrackingWish | undefined;
}

/**
 * A draft after a change, and the job that writes the change to the provider; `undefined` if
 * nothing was to be changed.
 */
export interface WrittenDraft {
  draft: MessageRecord;
  jobId: string | undefined;
}

/** Payload of the jobs of drafts. */
export interface DraftPayload {
  /**
   * The provider's id of the version to replace. `null` if the previous version is not at the
   * provider yet. An earlier job of the draft fills it in when it has stored a version.
   */
  replaces: string | null;
  /** Message-ID of the version the job was opened for. */
  messageIdHeader: string | null;
}

/**
 * Drafts of an account. They are read from the mirror. Changes are written to the mirror at once,
 * and to the provider by a job.
 */
@Injectable()
export class DraftsService {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly database: Database,
    private readonly repository: DraftsRepository,
    private readonly files: DraftFiles,
    private readonly messages: MessagesService,
    private readonly replies: ReplyTargets,
    private readonly listed: ListedContents,
    private readonly bodies: StoredBodies,
    private readonly connectors: ConnectorRegistry,
    private readonly clock: Clock,
  ) {}

  /** Lists drafts, newest first. */
  list(account: AccountPrincipal, request: MessageListRequest): Promise<Listing<MessageRecord>> {
    return this.messages.list(account, request);
  }

  /**
   * @throws {NotFoundError}
   * @throws {DomainError} if the mirror only lists the draft, and the provider cannot deliver it
   *   now
   */
  async get(account: AccountPrincipal, id: string): Promise<MessageRecord> {
    const draft = isId(id) ? await this.messages.findComplete(account, id) : undefined;
    if (!draft?.draft) throw new NotFoundError('draft', id);
    return draft;
  }

  /**
   * Creates a draft.
   * @throws {InvalidInputError} if a message, a thread or a file does not exist
   * @throws {AttachmentsTooLargeError}
   * @throws {CeilingReachedError} if the account has the most drafts
   */
  create(account: AccountPrincipal, change: DraftChange): Promise<WrittenDraft> {
    const empty: DraftRow = {
      id: newId(),
      accountId: account.accountId,
      providerId: null,
      threadId: '',
      version: -1,
      messageIdHeader: null,
      from: [],
      to: [],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: '',
      body: '',
      metadata: {},
      replyToMessageId: null,
      tracking: null,
      inReplyTo: null,
      references: [],
      date: this.clock.now(),
      deleting: false,
      hasAttachments: false,
    };
    const { drafts } = this.config.quotas.ceilings;
    return this.#write(account, change, async (sql) => {
      const stored = await this.repository.count(sql, account.accountId, drafts.limit);
      assertBelow(drafts, stored, 'drafts of this account', 'delete or send one first');
      return empty;
    });
  }

  /**
   * Changes a draft. A change without fields leaves it as it is, with its version.
   * @throws {NotFoundError}
   * @throws {ConflictError} if the draft has another version
   * @throws {InvalidInputError} if a message, a thread or a file does not exist
   * @throws {AttachmentsTooLargeError}
   */
  async update(
    account: AccountPrincipal,
    id: string,
    version: number,
    change: DraftChange,
  ): Promise<WrittenDraft> {
    // Fields that the change does not name must be known.
    const { accountId } = account;
    if (isId(id)) {
      await this.listed.complete(accountId, [id]);
      await this.bodies.bringBack(accountId, [id]);
    }
    return this.#write(account, change, async (sql) => {
      const draft = await this.#lock(sql, account, id, version);
      await this.bodies.requireHere(sql, accountId, id);
      return draft;
    });
  }

  /**
   * Deletes a draft.
   * @returns id of the job that deletes it at the provider
   * @throws {NotFoundError}
   * @throws {ConflictError} if the draft has another version
   */
  async delete(account: AccountPrincipal, id: string, version: number): Promise<string> {
    this.connectors.requireMailbox(account.provider);
    const at = this.clock.now();
    return this.database.transaction(async (sql) => {
      const draft = await this.#lock(sql, account, id, version);
      const owner = ownerOf(account, at);
      const files = await changesOfFiles(sql, owner, [draft.id]);
      const threads = await this.repository.hide(sql, draft, at);
      const changes = [...files, ...threadChanges(owner, threads)];
      return this.#open(
        sql,
        account,
        draft,
        'delete_draft',
        [{ ...owner, object: 'draft', objectId: draft.id, event: 'delete' }, ...changes],
        at,
      );
    });
  }

  async #lock(sql: Sql, account: AccountPrincipal, id: string, version: number): Promise<DraftRow> {
    const draft = isId(id) ? await this.repository.lock(sql, account.accountId, id) : undefined;
    if (!draft) throw new NotFoundError('draft', id);
    if (draft.version !== version)
      throw new ConflictError(
        'draft.version',
        `version: the draft is at version ${draft.version}, not ${version}`,
      );
    return draft;
  }

  async #write(
    account: AccountPrincipal,
    asked: DraftChange,
    load: (sql: Sql) => Promise<DraftRow>,
  ): Promise<WrittenDraft> {
    this.connectors.requireMailbox(account.provider);
    const { threadId, replyToMessageId: messageId } = asked;
    await this.replies.prepare(account, { threadId, messageId });
    const at = this.clock.now();
    const written = await this.database.transaction(async (sql) => {
      const before = await load(sql);
      const isNew = before.version === -1;
      const change = withoutEcho(asked, before);
      if (!isNew && isEmptyChange(change))
        return { draft: await this.messages.findPacked(sql, account, before.id) };
      const changed = await this.#changed(sql, account, before, change, at);
      const carried = await this.files.choose(sql, account, changed, change.fileIds);
      const hasAttachments = carried.some(
        ({ contentDisposition }) => contentDisposition === 'attachment',
      );
      const after = { ...changed, hasAttachments };
      const threads = await this.repository.write(
        sql,
        after,
        snippetOf(after.body),
        before.threadId,
      );
      const { gone, moved } = await this.files.write(sql, after, carried);
      await storeDocuments(sql, account.accountId, [{ ...after, files: carried }]);
      const owner = ownerOf(account, at);
      const file = { ...owner, object: 'file' } as const;
      const jobId = await this.#open(
        sql,
        account,
        { ...after, providerId: before.providerId },
        'save_draft',
        [
          { ...owner, object: 'draft', objectId: after.id, event: isNew ? 'create' : 'modify' },
          ...threadChanges(owner, threads),
          ...gone.map((objectId) => ({ ...file, objectId, event: 'delete' }) as const),
          ...moved.map((objectId) => ({ ...file, objectId, event: 'modify' }) as const),
        ],
        at,
      );
      return { jobId, draft: await this.messages.findPacked(sql, account, after.id) };
    });
    const draft = written.draft && (await this.messages.unpack(account, written.draft));
    if (!draft) throw new NotFoundError('draft', '');
    return { jobId: written.jobId, draft };
  }

  async #changed(
    sql: Sql,
    account: AccountPrincipal,
    before: DraftRow,
    change: DraftChange,
    at: Date,
  ): Promise<DraftRow> {
    const { threadId, replyToMessageId: messageId } = change;
    const reply = await this.replies.conversationOf(account, { threadId, messageId }, sql);
    const own = { email: account.email, name: account.name };
    const subject = change.subject ?? before.subject;
    const messageIdHeader = `<${newId()}.${randomBase36(10)}@${this.config.outbox.mailDomain}>`;
    const answered = reply?.message;
    return {
      ...before,
      threadId: reply?.threadId ?? (before.threadId || newId()),
      version: before.version + 1,
      messageIdHeader,
      from: change.from ? [change.from] : before.from.length > 0 ? before.from : [own],
      to: change.to ?? before.to,
      cc: change.cc ?? before.cc,
      bcc: change.bcc ?? before.bcc,
      replyTo: change.replyTo ?? before.replyTo,
      subject: subject === '' && answered ? replySubject(answered) : subject,
      body: change.body ?? before.body,
      metadata: change.metadata ?? before.metadata,
      tracking: change.tracking ?? before.tracking,
      replyToMessageId: change.replyToMessageId ?? (reply ? null : before.replyToMessageId),
      inReplyTo: reply ? (answered?.messageIdHeader ?? null) : before.inReplyTo,
      references: reply ? referencesOf(answered) : before.references,
      date: at,
    };
  }

  async #open(
    sql: Sql,
    { accountId }: AccountPrincipal,
    {
      id: objectId,
      providerId,
      messageIdHeader,
    }: Pick<DraftRow, 'id' | 'providerId' | 'messageIdHeader'>,
    action: 'save_draft' | 'delete_draft',
    changes: readonly ChangeRecord[],
    at: Date,
  ): Promise<string> {
    const id = newId();
    const payload: DraftPayload = { replaces: providerId, messageIdHeader };
    await openProviderWrite(sql, {
      id,
      accountId,
      action,
      object: 'draft',
      objectId,
      payload: { ...payload },
      at,
    });
    await recordChanges(sql, changes);
    return id;
  }
}

/**
 * The change without the conversation that the draft has already. Clients send back all that they
 * have read; that must neither choose another message to reply to nor fail because that message
 * was deleted.
 */
function withoutEcho(change: DraftChange, before: DraftRow): DraftChange {
  const other = (id: string | undefined, known: string | null) =>
    id?.toLowerCase() === known ? undefined : id;
  return {
    ...change,
    threadId: other(change.threadId, before.threadId),
    replyToMessageId: other(change.replyToMessageId, before.replyToMessageId),
  };
}

function ownerOf({ accountId, applicationId }: AccountPrincipal, at: Date) {
  return { accountId, applicationId, at };
}
