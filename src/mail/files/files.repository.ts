import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import { Database, idsOf, recordset, type Sql } from '../../platform/database/sql.ts';
import { filenameCondition } from '../messages/filters/message-conditions.ts';
import { LEAST_COUNTED_BYTES } from './file-limits.ts';
import type { CarriedFile, FileFilter, FileRecord, FileSource, NewUpload } from './file-record.ts';
import type { VisibleFiles } from './visible-files.ts';
import { IS_UNUSED } from './uploads/unused-uploads.ts';
import type { File } from './file.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const COLUMNS = `
  f.id, f.account_id as "accountId", f.filename, f.content_type as "contentType",
  case when f.message_id is not null then f.content_disposition end as "contentDisposition",
  f.content_id as "contentId", f.size,
  array(select f.message_id where f.message_id is not null
        union
        select d.message_id from draft_file d join message w on w.id = d.message_id
        where d.file_id = f.id and not w.deleting
        order by 1) as "messageIds"`;
const FROM = 'file f left join message m on m.id = f.message_id';
const SOURCE = `
  ${COLUMNS}, f.message_id as "messageId", f.part, f.section, f.data_id as "dataId", m.provider_id as "messageProviderId"
  from ${FROM} where f.account_id = $1 and m.deleting is not true`;

/**
 * Conditions on a file `f` of the account `$1`. Drafts are few, so a subquery finds them once
 * instead of once per file.
 */
const VISIBLE_TO: Readonly<Record<VisibleFiles, string>> = {
  all: 'true',
  drafts: `(f.message_id is null
    or f.message_id in (select m.id from message m where m.account_id = $1 and m.draft and not m.deleting)
    or f.id in (select d.file_id from draft_file d join message m on m.id = d.message_id
                where m.account_id = $1 and m.draft and not m.deleting))`,
  uploads:
    'f.message_id is null and not exists (select 1 from draft_file d where d.file_id = f.id)',
};

const FIND = (sight: VisibleFiles) =>
  `select ${SOURCE} and f.id = any($2::uuid[]) and ${VISIBLE_TO[sight]}`;

// The original message was deleted, but the draft that attached its file still has a copy.
const KEPT_BY_DRAFT = `
  select distinct on (d.file_id) d.file_id as id, m.account_id as "accountId", d.filename, d.content_type as "contentType",
    d.content_disposition as "contentDisposition", d.content_id as "contentId", d.size, array[d.message_id] as "messageIds",
    d.message_id as "messageId", 0 as part, null as section, d.data_id as "dataId", null as "messageProviderId"
  from draft_file d join message m on m.id = d.message_id
  where m.account_id = $1 and d.file_id = any($2::uuid[]) and d.data_id is not null and not m.deleting
    and not exists (select 1 from file f where f.id = d.file_id)
  order by d.file_id, d.message_id`;

// For a draft written through the API its own rows list the files. For any other message the files
// are those of the provider's copy.
const OF_MESSAGE = `
  select d.file_id as id, d.filename, d.content_type as "contentType", d.content_disposition as "contentDisposition",
    d.content_id as "contentId", d.size, d.data_id as "dataId", d.position
  from draft_file d where d.message_id = $1
  union all
  select f.id, f.filename, f.content_type, f.content_disposition, f.content_id, f.size, f.data_id, f.part
  from file f
  where f.message_id = $1 and not exists (select 1 from draft_file d where d.message_id = $1)
  order by position`;

const ADD = `
  insert into file (id, account_id, message_id, part, section, filename, content_type, content_disposition, size, data_id)
  select x.id, $1, null, 0, null, x.filename, x.content_type, 'attachment', x.size, x.data_id
  from jsonb_to_recordset($2::jsonb) x(id uuid, filename text, content_type text, size integer, data_id uuid)`;
const LOCK = `
  select f.message_id is not null as attached from file f
  left join message m on m.id = f.message_id
  where f.account_id = $1 and f.id = $2 and m.deleting is not true for update of f`;
const LOCK_UPLOADS = `
  select id from file where account_id = $1 and id = any($2::uuid[]) and message_id is null
  order by id for key share`;
const UNUSED_BYTES = `
  select coalesce(sum(greatest(f.size, $2)), 0)::float8 as bytes from file f
  where f.account_id = $1 and f.message_id is null and ${IS_UNUSED}`;
const DELETE_UNUSED = `
  delete from file f
  where f.account_id = $1 and f.id = $2 and f.message_id is null and ${IS_UNUSED}
  returning f.data_id as "dataId"`;

/** Attachments are deleted with their messages; uploads stay. */
export const FILES_OF_ACCOUNT: AccountListener = {
  visibleObjects: [
    `select id, 'file' as object from file where account_id = $1 and message_id is not null`,
  ],
};

/**
 * SQL of files: uploads, and the mirror of attachments. Every statement is limited to one account.
 */
@Injectable()
export class FilesRepository {
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
  ) {}

  /** Oldest first. */
  list(
    accountId: string,
    { messageId, filename, contentType }: FileFilter,
    page: PageOfView,
    sight: VisibleFiles,
  ): Promise<Listing<FileRecord>> {
    const conditions = new Conditions();
    const account = conditions.value(accountId);
    // Only drafts can be hidden for deletion, and drafts are few. The subquery finds them once
    // instead of once per file.
    conditions.add(
      `f.account_id = ${account} and (f.message_id is null or f.message_id not in (
         select m.id from message m where m.account_id = ${account} and m.draft and m.deleting))`,
    );
    // The condition expects the account as `$1`, which is the first value above.
    if (sight !== 'all') conditions.add(VISIBLE_TO[sight]);
    if (messageId !== undefined)
      conditions.add(isId(messageId) ? inMessage(conditions.value(messageId)) : 'false');
    if (filename !== undefined) conditions.add(filenameCondition(conditions, account, filename));
    if (contentType !== undefined) conditions.add(contentTypeCondition(conditions, contentType));
    return runListing<FileRecord>(this.reads, {
      columns: COLUMNS,
      from: 'file f',
      id: 'f.id',
      orderBy: 'f.id',
      conditions,
      page,
      view: page.view,
    });
  }

  /**
   * Returns the files of the account with these ids that the reader may see, in no particular
   * order.
   */
  async find(
    accountId: string,
    ids: readonly string[],
    sight: VisibleFiles,
    sql: Sql = this.database,
  ): Promise<FileSource[]> {
    const files = await sql.query<FileSource>(FIND(sight), [accountId, ids]);
    if (files.length === new Set(ids).size || sight === 'uploads') return files;
    return [...files, ...(await sql.query<FileSource>(KEPT_BY_DRAFT, [accountId, ids]))];
  }

  /** The files of a message or draft, in their order. */
  ofMessage(messageId: string, sql: Sql = this.database): Promise<CarriedFile[]> {
    return sql.query<CarriedFile>(OF_MESSAGE, [messageId]);
  }

  /** Inserts uploads whose bytes are stored already. */
  async add(sql: Sql, accountId: string, uploads: readonly NewUpload[]): Promise<FileRecord[]> {
    await sql.query(ADD, [accountId, recordset(uploads)]);
    return uploads.map(({ id, filename, contentType, size }) => {
      const none = { messageIds: [], contentDisposition: null, contentId: null };
      return { id, accountId, filename, contentType, size, ...none };
    });
  }

  /** Sum of the bytes of all unused uploads. Small uploads count as `LEAST_COUNTED_BYTES`. */
  async unusedBytes(accountId: string): Promise<number> {
    const [row] = await this.database.query<{ bytes: number }>(UNUSED_BYTES, [
      accountId,
      LEAST_COUNTED_BYTES,
    ]);
    return row?.bytes ?? 0;
  }

  /**
   * Locks uploads until the transaction ends, so that they cannot be deleted.
   * @returns ids of the uploads that exist
   */
  async lockUploads(
    sql: Sql,
    accountId: string,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const locked =
      ids.length === 0 ? [] : await sql.query<{ id: string }>(LOCK_UPLOADS, [accountId, ids]);
    return new Set(idsOf(locked));
  }

  /**
   * Reads a file and locks its row until the transaction ends. `undefined` if there is none.
   * `attached` is true for an attachment of a message.
   */
  async lock(sql: Sql, accountId: string, id: string): Promise<{ attached: boolean } | undefined> {
    return (await sql.query<{ attached: boolean }>(LOCK, [accountId, id]))[0];
  }

  /** Deletes an unused upload. `undefined` if a draft or a waiting message uses it. */
  async deleteUnused(
    sql: Sql,
    accountId: string,
    id: string,
  ): Promise<{ dataId: string | null } | undefined> {
    return (await sql.query<RowOf<File, 'dataId'>>(DELETE_UNUSED, [accountId, id]))[0];
  }
}

const inMessage = (messageId: string): string => `
  f.id in (select id from file where message_id = ${messageId}
           union all select file_id from draft_file where message_id = ${messageId})`;

/**
 * Compares hashes to use the index, because some media types are longer than an index entry allows.
 */
function contentTypeCondition(conditions: Conditions, contentType: string): string {
  const type = `lower(${conditions.value(contentType)}::text)`;
  return `md5(lower(f.content_type)) = md5(${type}) and lower(f.content_type) = ${type}`;
}
