import { Injectable } from '@nestjs/common';
import type { AccountListener } from '../../accounts/grants/account-listeners.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../../platform/database/listing.ts';
import { Database, idsOf, recordset, type Sql } from '../../platform/database/sql.ts';
import { filenameCondition } from '../messages/message-conditions.ts';
import { LEAST_COUNTED_BYTES } from './file-limits.ts';
import type { CarriedFile, FileFilter, FileRecord, FileSource, NewUpload } from './file-record.ts';
import type { FileSight } from './file-sight.ts';
import { IS_UNUSED } from './unused-uploads.ts';

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

/** Conditions on a file `f` of the account `$1`. Drafts are few: they are looked for once, and not for each file. */
const SEEN: Readonly<Record<FileSight, string>> = {
  all: 'true',
  drafts: `(f.message_id is null
    or f.message_id in (select m.id from message m where m.account_id = $1 and m.draft and not m.deleting)
    or f.id in (select d.file_id from draft_file d join message m on m.id = d.message_id
                where m.account_id = $1 and m.draft and not m.deleting))`,
  uploads:
    'f.message_id is null and not exists (select 1 from draft_file d where d.file_id = f.id)',
};

const FIND = (sight: FileSight) => `select ${SOURCE} and f.id = any($2::uuid[]) and ${SEEN[sight]}`;

// What it was an attachment of is gone; the draft that carries it has it still.
const KEPT = `
  select distinct on (d.file_id) d.file_id as id, m.account_id as "accountId", d.filename, d.content_type as "contentType",
    d.content_disposition as "contentDisposition", d.content_id as "contentId", d.size, array[d.message_id] as "messageIds",
    d.message_id as "messageId", 0 as part, null as section, d.data_id as "dataId", null as "messageProviderId"
  from draft_file d join message m on m.id = d.message_id
  where m.account_id = $1 and d.file_id = any($2::uuid[]) and d.data_id is not null and not m.deleting
    and not exists (select 1 from file f where f.id = d.file_id)
  order by d.file_id, d.message_id`;

// Of a draft that was written here it is known what it carries; else it is what its provider's copy has.
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
const HOLD = `
  select f.message_id is not null as attached from file f
  left join message m on m.id = f.message_id
  where f.account_id = $1 and f.id = $2 and m.deleting is not true for update of f`;
const HOLD_UPLOADS = `
  select id from file where account_id = $1 and id = any($2::uuid[]) and message_id is null
  order by id for key share`;
const UNUSED_BYTES = `
  select coalesce(sum(greatest(f.size, $2)), 0)::float8 as bytes from file f
  where f.account_id = $1 and f.message_id is null and ${IS_UNUSED}`;
const DELETE_UNUSED = `
  delete from file f
  where f.account_id = $1 and f.id = $2 and f.message_id is null and ${IS_UNUSED}
  returning f.data_id as "dataId"`;

/** They are deleted with their messages; uploads stay. */
export const FILES_OF_ACCOUNT: AccountListener = {
  shown: [`select id, 'file' as object from file where account_id = $1 and message_id is not null`],
};

/** Files: uploads, and the mirror of attachments; every statement carries the account. */
@Injectable()
export class FilesRepository {
  constructor(private readonly database: Database) {}

  /** Oldest first. */
  list(
    accountId: string,
    { messageId, filename, contentType }: FileFilter,
    page: PageOfView,
    sight: FileSight,
  ): Promise<Listing<FileRecord>> {
    const conditions = new Conditions();
    const account = conditions.value(accountId);
    // Nothing but drafts is ever being deleted, and drafts are few: looked for once, and not for each file.
    conditions.add(
      `f.account_id = ${account} and (f.message_id is null or f.message_id not in (
         select m.id from message m where m.account_id = ${account} and m.draft and m.deleting))`,
    );
    // The account is the first value.
    if (sight !== 'all') conditions.add(SEEN[sight]);
    if (messageId !== undefined)
      conditions.add(isId(messageId) ? inMessage(conditions.value(messageId)) : 'false');
    if (filename !== undefined) conditions.add(filenameCondition(conditions, account, filename));
    if (contentType !== undefined) conditions.add(contentTypeCondition(conditions, contentType));
    return runListing<FileRecord>(this.database, {
      columns: COLUMNS,
      from: 'file f',
      id: 'f.id',
      orderBy: 'f.id',
      conditions,
      page,
      view: page.view,
    });
  }

  /** Those of the files that the account has, in no order. */
  async find(
    accountId: string,
    ids: readonly string[],
    sight: FileSight,
    sql: Sql = this.database,
  ): Promise<FileSource[]> {
    const files = await sql.query<FileSource>(FIND(sight), [accountId, ids]);
    if (files.length === new Set(ids).size || sight === 'uploads') return files;
    return [...files, ...(await sql.query<FileSource>(KEPT, [accountId, ids]))];
  }

  /** What a message or draft carries, in its order. */
  ofMessage(messageId: string, sql: Sql = this.database): Promise<CarriedFile[]> {
    return sql.query<CarriedFile>(OF_MESSAGE, [messageId]);
  }

  /** Writes uploads whose bytes are there. */
  async add(sql: Sql, accountId: string, uploads: readonly NewUpload[]): Promise<FileRecord[]> {
    await sql.query(ADD, [accountId, recordset(uploads)]);
    return uploads.map(({ id, filename, contentType, size }) => {
      const none = { messageIds: [], contentDisposition: null, contentId: null };
      return { id, accountId, filename, contentType, size, ...none };
    });
  }

  /** Bytes of all uploads that nothing carries; small ones count as `LEAST_COUNTED_BYTES`. */
  async unusedBytes(accountId: string): Promise<number> {
    const [row] = await this.database.query<{ bytes: number }>(UNUSED_BYTES, [
      accountId,
      LEAST_COUNTED_BYTES,
    ]);
    return row?.bytes ?? 0;
  }

  /** Holds those of the uploads that are there until the transaction ends: nobody removes them meanwhile. */
  async holdUploads(
    sql: Sql,
    accountId: string,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const held =
      ids.length === 0 ? [] : await sql.query<{ id: string }>(HOLD_UPLOADS, [accountId, ids]);
    return new Set(idsOf(held));
  }

  /** Held until the transaction ends. */
  async hold(sql: Sql, accountId: string, id: string): Promise<{ attached: boolean } | undefined> {
    return (await sql.query<{ attached: boolean }>(HOLD, [accountId, id]))[0];
  }

  /** Removes an upload; undefined: something carries it. */
  async deleteUnused(
    sql: Sql,
    accountId: string,
    id: string,
  ): Promise<{ dataId: string | null } | undefined> {
    return (await sql.query<{ dataId: string | null }>(DELETE_UNUSED, [accountId, id]))[0];
  }
}

const inMessage = (messageId: string): string => `
  f.id in (select id from file where message_id = ${messageId}
           union all select file_id from draft_file where message_id = ${messageId})`;

/** By an index: some senders write types that are longer than an index takes. */
function contentTypeCondition(conditions: Conditions, contentType: string): string {
  const type = `lower(${conditions.value(contentType)}::text)`;
  return `md5(lower(f.content_type)) = md5(${type}) and lower(f.content_type) = ${type}`;
}
