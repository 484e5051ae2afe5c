import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import {
  type FailedWrite,
  type ProviderWrite,
  type ProviderWriteHandler,
  ProviderWrites,
  type WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import { amendNextWrite } from '../../accounts/provider-writes/open-writes.ts';
import type { MailboxPort } from '../../providers/port/connector.ts';
import { removeMessages, removeDuplicates } from '../messages/mirror/remove-messages.ts';
import { compose, type ComposedAttachment } from '../../formats/mime/compose.ts';
import { ComposingSlots } from '../composing/composing-slots.ts';
import { changesOfFiles } from '../messages/mirror/file-changes.ts';
import { showDraft, storeDraftProviderId } from '../messages/mirror/store-draft.ts';
import { providerThreadOf } from '../threading/provider-threads.ts';
import { refreshThreads, threadChanges } from '../threading/refresh-threads.ts';
import { DraftFiles } from './draft-files.ts';
import { type DraftRow, DraftsRepository } from './drafts.repository.ts';
import type { DraftPayload } from './drafts.service.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const DELETED: WriteOutcome = {
  kind: 'superseded',
  reason: 'The draft was deleted before this change had reached the provider',
};

/** A large draft that got no free slot tries again after this time. */
const WAIT_MS = 1_000;

/** Stores drafts at their provider, and deletes them there. */
@Injectable()
export class DraftWrites implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly repository: DraftsRepository,
    private readonly files: DraftFiles,
    private readonly composingSlots: ComposingSlots,
    private readonly writes: ProviderWrites,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.writes.register('save_draft', 'mailbox', this.#save, { failed: keepReplaced });
    this.writes.register('delete_draft', 'mailbox', this.#delete, { failed: showAgain });
  }

  /**
   * Stores the current version of a draft in place of the previous one. If the draft is edited
   * meanwhile, the job of the edit replaces the version stored here. If the provider refuses a
   * version, it stays in the mirror: its author may have the text nowhere else.
   */
  readonly #save: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const draft = await this.repository.find(account.accountId, write.objectId);
    const { replaces } = write.payload as unknown as DraftPayload;
    const isDeleted = !draft || (draft.deleting && !write.mayHaveRun);
    // Every change clears the provider's id. If the id is set, this version is stored already.
    if (isDeleted || draft.providerId !== null || draft.messageIdHeader === null) {
      // Nobody else knows the id of the version that this one was to replace.
      if (replaces !== null && replaces !== draft?.providerId)
        await port.deleteDraft(account, replaces);
      return isDeleted ? DELETED : { kind: 'written' };
    }
    const { messageIdHeader } = draft;
    const bytes = Buffer.byteLength(draft.body) + (await this.files.sizeOf(draft.id));
    const outcome = await this.composingSlots.runNow(account.accountId, bytes, async () => {
      // The files are stored here before anything is replaced, so that a lost response cannot lose
      // them.
      await this.files.collect(account, draft.id, replaces);
      return this.#store(port, account, write, { ...draft, messageIdHeader });
    });
    return outcome ?? { kind: 'waits', until: new Date(this.clock.now().getTime() + WAIT_MS) };
  };

  async #store(
    port: MailboxPort,
    account: ConnectedAccount,
    write: ProviderWrite,
    draft: DraftRow & { messageIdHeader: string },
  ): Promise<WriteOutcome> {
    const { messageIdHeader } = draft;
    const { replaces } = write.payload as unknown as DraftPayload;
    const threadId = await providerThreadOf(this.database, account.accountId, draft.threadId);
    const save = async (header: string, before: string | null) => {
      const mime = await mimeOf(draft, header, await this.files.attachments(draft.id));
      const version = { mime, messageIdHeader: header, threadId };
      return (await port.saveDraft(account, version, before)).providerId;
    };
    // A version whose response was lost may exist at the provider although it is no longer the
    // current one. It is found by its Message-ID and replaced.
    let before = replaces;
    const earlier = write.mayHaveRun ? await this.repository.earlierHeaders(draft) : [];
    for (const header of earlier) before = await save(header, before);
    const providerId = await save(messageIdHeader, before);
    const stored = {
      id: write.objectId,
      jobId: write.jobId,
      messageIdHeader,
      providerId,
      replaces,
    };
    return { kind: 'written', store: (sql, at) => store(sql, account, stored, at) };
  }

  readonly #delete: ProviderWriteHandler<MailboxPort> = async (port, account, write) => {
    const draft = await this.repository.find(account.accountId, write.objectId);
    const { replaces } = write.payload as unknown as DraftPayload;
    const ids = [...new Set([draft?.providerId, replaces])].flatMap((id) => id ?? []);
    for (const id of ids) await port.deleteDraft(account, id);
    return {
      kind: 'written',
      store: async (sql, at) => {
        await removeDuplicates(sql, account, write.objectId, ids, at);
        await removeMessages(sql, account, draft?.deleting ? [draft.id] : [], at);
      },
    };
  };
}

function mimeOf(
  draft: DraftRow,
  messageIdHeader: string,
  attachments: readonly ComposedAttachment[],
): Promise<Buffer> {
  return compose({
    from: draft.from[0] ?? { email: '', name: '' },
    to: draft.to,
    cc: draft.cc,
    bcc: draft.bcc,
    replyTo: draft.replyTo,
    subject: draft.subject,
    html: draft.body,
    messageIdHeader,
    date: draft.date,
    inReplyTo: draft.inReplyTo,
    references: draft.references,
    ownCopy: true,
    attachments,
  });
}

interface StoredDraft {
  id: string;
  jobId: string;
  messageIdHeader: string;
  providerId: string;
  replaces: string | null;
}

async function store(
  sql: Sql,
  account: ConnectedAccount,
  draft: StoredDraft,
  at: Date,
): Promise<void> {
  const { id, jobId, messageIdHeader, providerId, replaces } = draft;
  // A sync pass may have stored this version, or the previous one, as a message of its own, before
  // we knew its provider id.
  const seen = replaces === null ? [providerId] : [providerId, replaces];
  await removeDuplicates(sql, account, id, seen, at);
  const stored = await storeDraftProviderId(
    sql,
    account.accountId,
    id,
    providerId,
    messageIdHeader,
  );
  // The draft was edited meanwhile: the job of the edit has to replace this version.
  if (!stored) await handOn(sql, { objectId: id, jobId }, providerId);
}

const OWNER = `select application_id as "applicationId" from "grant" where id = $1`;

/**
 * Makes the next provider write of the draft replace this version at the provider.
 * @returns false if there is no other provider write
 */
function handOn(
  sql: Sql,
  write: { objectId: string; jobId: string },
  replaces: string,
): Promise<boolean> {
  return amendNextWrite(sql, write, ['save_draft', 'delete_draft'], { replaces });
}

/**
 * A failed save leaves the previous version at the provider. The next provider write of the draft
 * has to replace that version. If there is none, the draft gets the provider id of that version
 * back.
 */
async function keepReplaced(
  sql: Sql,
  { jobId, objectId, accountId, payload }: FailedWrite,
  at: Date,
) {
  const { replaces } = payload as unknown as DraftPayload;
  const [owner] = await sql.query<RowOf<Grant, 'applicationId'>>(OWNER, [accountId]);
  if (replaces === null || !owner) return;
  if (await handOn(sql, { objectId, jobId }, replaces)) return;
  await removeDuplicates(sql, { accountId, ...owner }, objectId, [replaces], at);
  await storeDraftProviderId(sql, accountId, objectId, replaces, null);
}

/** The provider did not delete the draft, so it is shown again. */
async function showAgain(sql: Sql, { objectId, accountId }: FailedWrite, at: Date): Promise<void> {
  const shown = await showDraft(sql, accountId, objectId, at);
  const [grant] = await sql.query<RowOf<Grant, 'applicationId'>>(OWNER, [accountId]);
  if (!shown || !grant) return;
  const owner = { ...grant, accountId, at };
  const threads = await refreshThreads(sql, accountId, [shown.threadId], at);
  const files = await changesOfFiles(sql, owner, [objectId]);
  await recordChanges(sql, [
    { ...owner, object: 'draft', objectId, event: 'create' },
    ...files.map((file) => ({
      ...file,
      event: file.event === 'delete' ? ('create' as const) : file.event,
    })),
    ...threadChanges(owner, threads),
  ]);
}
