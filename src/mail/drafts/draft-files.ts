import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Database, idsOf, recordset, type Sql } from '../../platform/database/sql.ts';
import { placement } from '../files/attachment-sources.ts';
import { AttachmentsTooLargeError, MOST_FILE_BYTES, refuseTooLarge } from '../files/file-limits.ts';
import { type CarriedFile, type FileSource, mediaType } from '../files/file-record.ts';
import { FilesService } from '../files/files.service.ts';
import { deleteOtherAttachments, storeAttachmentBytes } from '../files/store-attachments.ts';
import { StoredBytes } from '../files/stored-bytes.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { ComposedAttachment } from '../../formats/mime/compose.ts';
import type { DraftRow } from './drafts.repository.ts';
import type { FilledTable } from '../../platform/account-fills/fill-account.ts';

/**
 * Bytes fetched for one file at most. Other mail programs attach more than the API accepts, but a
 * provider must not send data without end.
 */
const MOST_COLLECTED = 4 * MOST_FILE_BYTES;

const CLEAR = 'delete from draft_file where message_id = $1 returning file_id as id';
const WRITE = `
  insert into draft_file (message_id, position, file_id, filename, content_type, content_disposition, content_id, size, data_id, account_id)
  select $1, x.position, x.id, x.filename, x.content_type, x.content_disposition, x.content_id, x.size, x.data_id, $3
  from jsonb_to_recordset($2::jsonb) x(position integer, id uuid, filename text, content_type text,
    content_disposition text, content_id text, size integer, data_id uuid)`;
/** Where the account of a draft's file is found (`account-fills.ts`). */
export const ACCOUNT_OF_DRAFT_FILES: FilledTable = {
  table: 'draft_file',
  key: { message_id: 'uuid', position: 'integer' },
  parent: 'message',
  reference: 'message_id',
};
const SIZE = 'select coalesce(sum(size), 0)::float8 as size from draft_file where message_id = $1';
const COLLECTED = `
  update draft_file set data_id = $3, size = $4 where message_id = $1 and file_id = $2 and data_id is null`;

/**
 * Files of drafts. A draft that is written through the API lists its files itself, with their
 * bytes. Uploads share their bytes. The job that stores the draft fetches bytes that only the
 * provider has.
 */
@Injectable()
export class DraftFiles {
  constructor(
    private readonly database: Database,
    private readonly files: FilesService,
    private readonly stored: StoredBytes,
  ) {}

  /**
   * Chooses the files of a draft, in the caller's transaction.
   * @param draft as it will be; its text decides which uploads are shown in it
   * @param fileIds absent: the files that the draft has already
   * @throws {InvalidInputError} naming the first file that the account does not have
   * @throws {AttachmentsTooLargeError}
   */
  async choose(
    sql: Sql,
    account: AccountPrincipal,
    draft: Pick<DraftRow, 'id' | 'body'>,
    fileIds: readonly string[] | undefined,
  ): Promise<CarriedFile[]> {
    const carried = await this.files.ofMessage(draft.id, sql);
    const ids = [...new Set((fileIds ?? idsOf(carried)).map((id) => id.toLowerCase()))];
    if (ids.length === 0) return [];
    const now = new Map(carried.map((file) => [file.id, file]));
    const found = await this.#find(sql, account, ids);
    const chosen = ids.map((id): CarriedFile => {
      const [file, before] = [found.get(id), now.get(id)];
      if (file)
        return {
          ...file,
          ...placement(file, draft.body),
          dataId: file.dataId ?? before?.dataId ?? null,
        };
      if (before) return before;
      throw new InvalidInputError(`file_ids: Couldn't find file ${id.slice(0, 100)}`);
    });
    if (fileIds) refuseTooLarge(chosen);
    return chosen;
  }

  async #find(
    sql: Sql,
    account: AccountPrincipal,
    ids: readonly string[],
  ): Promise<Map<string, FileSource>> {
    const known = await this.files.findMany(account, ids, sql);
    const uploads = known.filter(({ messageId }) => messageId === null).map(({ id }) => id);
    const locked = await this.files.lockUploads(sql, account, uploads);
    return new Map(
      known
        .filter(({ id, messageId }) => messageId !== null || locked.has(id))
        .map((file) => [file.id, file]),
    );
  }

  /**
   * Writes the files of a draft, in the caller's transaction.
   * @returns `gone`: ids of attachments that were deleted; `moved`: ids of files that were added
   *   to the draft or removed from it
   */
  async write(
    sql: Sql,
    { accountId, id: draftId }: { accountId: string; id: string },
    files: readonly CarriedFile[],
  ): Promise<{ gone: string[]; moved: string[] }> {
    const before = new Set((await sql.query<{ id: string }>(CLEAR, [draftId])).map(({ id }) => id));
    const rows = files.map((file, position) => ({ ...file, position }));
    if (rows.length > 0) await sql.query(WRITE, [draftId, recordset(rows), accountId]);
    const after = new Set(idsOf(files));
    // Attachments of the provider's copy that the draft no longer has.
    const gone = await deleteOtherAttachments(sql, draftId, [...after]);
    const moved = [...before, ...after].filter((id) => before.has(id) !== after.has(id));
    return { gone, moved: moved.filter((id) => !gone.includes(id)) };
  }

  /** Total bytes of the draft's files. */
  async sizeOf(draftId: string): Promise<number> {
    const [row] = await this.database.query<{ size: number }>(SIZE, [draftId]);
    return row?.size ?? 0;
  }

  /**
   * Fetches bytes that only the provider has, one file at a time, and stores them here.
   * @param before the provider's id of the previous version, which has the draft's own
   *   attachments
   * @throws {ProviderError} if a file cannot be fetched
   */
  async collect(account: ConnectedAccount, draftId: string, before: string | null): Promise<void> {
    const isMissing = ({ dataId }: CarriedFile) => dataId === null;
    // The files are read again each time, because the draft may change meanwhile.
    for (let missing; (missing = (await this.files.ofMessage(draftId)).find(isMissing));) {
      const [source] = await this.files.findMany(account, [missing.id]);
      if (!source) throw new ProviderError('rejected', `Attachment ${missing.id} was deleted`);
      await this.#collect(account, draftId, source, before);
    }
  }

  async #collect(
    account: ConnectedAccount,
    draftId: string,
    source: FileSource,
    before: string | null,
  ) {
    const providerId = source.messageId === draftId ? before : source.messageProviderId;
    // The file belongs to another draft that is not stored at the provider yet.
    if (providerId === null)
      throw new ProviderError(
        'temporary',
        `Attachment ${source.id} is not stored at the provider yet`,
      );
    const bytes = await this.files.openAt(account, providerId, source);
    const data: string[] = [];
    try {
      const size = await this.stored.store(account.accountId, bytes, {
        use: (dataId) => data.push(dataId),
        check: (sizeSoFar) => {
          if (sizeSoFar > MOST_COLLECTED) throw new AttachmentsTooLargeError();
        },
      });
      const [dataId = ''] = data;
      await this.database.transaction(async (sql) => {
        // Lock the rows in the same order as `write`.
        await sql.query(COLLECTED, [draftId, source.id, dataId, size]);
        await storeAttachmentBytes(sql, { messageId: draftId, fileId: source.id, dataId, size });
      });
    } finally {
      // Deletes the bytes if the transfer failed, or if the draft no longer has the file.
      await this.stored.discard(account.accountId, data);
    }
  }

  /**
   * The attachments to be composed, from the bytes stored here. The bytes are read while they are
   * composed.
   */
  async attachments(draftId: string): Promise<ComposedAttachment[]> {
    return (await this.files.ofMessage(draftId)).map((file) => {
      if (file.dataId === null)
        throw new ProviderError('temporary', 'The draft was changed while it was being stored');
      const contentDisposition = file.contentDisposition === 'inline' ? 'inline' : 'attachment';
      const { filename, contentId, dataId, size } = file;
      const content = this.stored.open(dataId, size);
      return { filename, contentType: mediaType(file), contentDisposition, contentId, content };
    });
  }
}
