import { Injectable } from '@nestjs/common';
import { isId } from '../common/ids/ids.ts';
import { Conditions } from '../database/conditions.ts';
import { type Listing, runListing } from '../database/listing.ts';
import { addMetadataCondition } from '../database/metadata-filter.ts';
import { Database } from '../database/sql.ts';
import type { MessageFilter, MessageListRequest, MessageRecord, Span } from './message-filter.ts';

// Everything of a page in one round trip; the subqueries run for the rows of the page only.
const COLUMNS = `
  m.id, m.account_id as "accountId", m.thread_id as "threadId", m.subject, m.snippet, m.date,
  m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc", m.bcc_addresses as "bcc",
  m.reply_to_addresses as "replyTo", m.unread, m.starred, m.metadata, m.message_id_header as "messageIdHeader",
  m.in_reply_to as "inReplyTo", m.reference_ids as "references",
  (select b.body from message_body b where b.message_id = m.id) as body,
  (select coalesce(json_agg(json_build_object('id', f.id, 'filename', f.filename, 'contentType', f.content_type,
            'contentDisposition', f.content_disposition, 'contentId', f.content_id, 'size', f.size)
            order by f.part), '[]')
   from file f where f.message_id = m.id) as files,
  (select coalesce(json_agg(json_build_object('id', f.id, 'name', f.name, 'displayName', f.display_name)
            order by f.id), '[]')
   from message_folder mf join folder f on f.id = mf.folder_id where mf.message_id = m.id) as folders`;

const MESSAGES = {
  columns: COLUMNS,
  from: 'message m',
  id: 'm.id',
  // Known without being read.
  bytes: '(select octet_length(b.body) from message_body b where b.message_id = m.id)',
  orderBy: 'm.date desc, m.id desc',
};

const FIND = `select ${COLUMNS} from message m where m.account_id = $1 and m.id = $2`;

const PROVIDER_ID = `select provider_id as "providerId" from message where account_id = $1 and id = $2`;

/** Column of each header that can be filtered by an address. */
const ADDRESS_COLUMNS = {
  from: 'from_addresses',
  to: 'to_addresses',
  cc: 'cc_addresses',
  bcc: 'bcc_addresses',
} as const;

/** Reading the mirror of messages; every statement carries the account. */
@Injectable()
export class MessagesRepository {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  list(accountId: string, { filter, page, view }: MessageListRequest): Promise<Listing<MessageRecord>> {
    return runListing<MessageRecord>(this.database, {
      ...MESSAGES,
      conditions: conditionsOf(accountId, filter),
      page,
      view,
    });
  }

  async find(accountId: string, id: string): Promise<MessageRecord | undefined> {
    const [row] = await this.database.query<MessageRecord>(FIND, [accountId, id]);
    return row;
  }

  /** Those of the messages that the account has, in no order. @throws {PageTooLargeError} */
  async findMany(accountId: string, ids: readonly string[]): Promise<MessageRecord[]> {
    const conditions = new Conditions();
    conditions.add(`m.account_id = ${conditions.value(accountId)}`);
    conditions.add(`m.id = any(${conditions.value(ids)}::uuid[])`);
    const page = { limit: ids.length, offset: 0 };
    const listing = await runListing<MessageRecord>(this.database, { ...MESSAGES, conditions, page });
    return listing.view === 'items' ? listing.items : [];
  }

  /** What the provider calls the message; undefined when the account has no such message. */
  async findProviderId(accountId: string, id: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ providerId: string }>(PROVIDER_ID, [accountId, id]);
    return row?.providerId;
  }
}

function conditionsOf(accountId: string, filter: MessageFilter): Conditions {
  const conditions = new Conditions();
  const account = conditions.value(accountId);
  addFolderConditions(conditions, account, filter);
  addAddressConditions(conditions, filter);
  if (filter.subject !== undefined) conditions.add(`m.subject = ${conditions.value(filter.subject)}`);
  // Written out rather than as parameters: a prepared statement can then use the index of unread messages.
  if (filter.unread !== undefined) conditions.add(filter.unread ? 'm.unread' : 'not m.unread');
  if (filter.starred !== undefined) conditions.add(filter.starred ? 'm.starred' : 'not m.starred');
  if (filter.hasAttachment !== undefined)
    conditions.add(filter.hasAttachment ? 'm.has_attachments' : 'not m.has_attachments');
  if (filter.filename !== undefined) {
    const filename = conditions.value(filter.filename);
    conditions.add(`exists (select 1 from file f where f.message_id = m.id and f.filename = ${filename})`);
  }
  if (filter.threadId !== undefined) {
    // An id that cannot be one of ours is in no thread.
    conditions.add(isId(filter.threadId) ? `m.thread_id = ${conditions.value(filter.threadId)}` : 'false');
  }
  addSpan(conditions, 'm.date', filter.received);
  addThreadCondition(conditions, 'first_message_at', filter.threadStarted);
  addThreadCondition(conditions, 'last_message_at', filter.threadLastMessage);
  if (filter.metadata) addMetadataCondition(conditions, 'm.metadata', filter.metadata);
  return conditions;
}

/** Account and folders; drafts are messages only for those who ask for the folder of drafts (api facts 5.1). */
function addFolderConditions(conditions: Conditions, account: string, filter: MessageFilter): void {
  const folders = (names: readonly string[]) => {
    const given = `${conditions.value(names.map((name) => name.toLowerCase()))}::text[]`;
    return `select f.id from folder f where f.account_id = ${account}
      and (lower(f.name) = any(${given}) or lower(f.display_name) = any(${given}) or f.id::text = any(${given}))`;
  };
  const inFolder = (ids: string) =>
    `m.id in (select mf.message_id from message_folder mf where mf.folder_id in (${ids}))`;
  if (filter.in) {
    const wanted = folders(filter.in);
    conditions.add(`m.account_id = ${account} and (not m.draft or exists (${wanted} and f.name = 'drafts'))`);
    conditions.add(inFolder(wanted));
  } else {
    conditions.add(`m.account_id = ${account} and not m.draft`);
  }
  if (filter.notIn) {
    conditions.add(
      `not exists (select 1 from message_folder mf
                   where mf.message_id = m.id and mf.folder_id in (${folders(filter.notIn)}))`,
    );
  }
}

function addAddressConditions(conditions: Conditions, filter: MessageFilter): void {
  for (const [header, column] of Object.entries(ADDRESS_COLUMNS)) {
    const address = filter[header as keyof typeof ADDRESS_COLUMNS];
    if (address === undefined) continue;
    const value = `${conditions.value(address.trim().toLowerCase())}::text`;
    // The array has an index; which header it was in is looked up in the few that are left.
    conditions.add(
      `m.participants @> array[${value}]
       and exists (select 1 from jsonb_array_elements(m.${column}) a where lower(a ->> 'email') = ${value})`,
    );
  }
  if (filter.anyEmail) {
    const emails = filter.anyEmail.map((email) => email.toLowerCase());
    conditions.add(`m.participants && ${conditions.value(emails)}::text[]`);
  }
}

function addSpan(conditions: Conditions, column: string, span: Span | undefined): void {
  if (span?.from) conditions.add(`${column} >= ${conditions.value(span.from)}`);
  if (span?.before) conditions.add(`${column} < ${conditions.value(span.before)}`);
}

function addThreadCondition(
  conditions: Conditions,
  column: 'first_message_at' | 'last_message_at',
  span: Span | undefined,
): void {
  if (!span?.from && !span?.before) return;
  const from = span.from ? `t.${column} >= ${conditions.value(span.from)}` : 'true';
  const before = span.before ? `t.${column} < ${conditions.value(span.before)}` : 'true';
  conditions.add(`exists (select 1 from thread t where t.id = m.thread_id and ${from} and ${before})`);
}
