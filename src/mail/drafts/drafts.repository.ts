import { peopleOf } from '../messages/people.ts';
import { Injectable } from '@nestjs/common';
import type { Address } from '../../platform/base/text/address.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { type RefreshedThread, refreshThreads } from '../threading/refresh-threads.ts';

/** What a draft says, without what the server adds. */
export interface DraftRow {
  id: string;
  accountId: string;
  /** Null while it is on its way to the provider. */
  providerId: string | null;
  threadId: string;
  version: number;
  /** Another one for each version, with angle brackets. */
  messageIdHeader: string | null;
  from: Address[];
  to: Address[];
  cc: Address[];
  bcc: Address[];
  replyTo: Address[];
  subject: string;
  body: string;
  metadata: Record<string, string>;
  replyToMessageId: string | null;
  inReplyTo: string | null;
  references: string[];
  date: Date;
  deleting: boolean;
  hasAttachments: boolean;
}

const COLUMNS = `
  m.id, m.account_id as "accountId", m.provider_id as "providerId", m.thread_id as "threadId", m.version,
  m.message_id_header as "messageIdHeader", m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc",
  m.bcc_addresses as "bcc", m.reply_to_addresses as "replyTo", m.subject, m.metadata, m.date, m.deleting,
  m.has_attachments as "hasAttachments", m.reply_to_message_id as "replyToMessageId", m.in_reply_to as "inReplyTo", m.reference_ids as "references",
  coalesce((select b.body from message_body b where b.message_id = m.id), '') as body`;
const FIND = `select ${COLUMNS} from message m where m.account_id = $1 and m.id = $2 and m.draft`;

const WRITE_THREAD = `
  insert into thread (id, account_id, subject, first_message_at, last_message_at) values ($2, $1, $3, $4, $4)
  on conflict (id) do update set last_message_at = greatest(thread.last_message_at, excluded.last_message_at)`;

// The provider's id is that of another version from here on: it is handed to the job.
const WRITE = `
  insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
    cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
    message_id_header, in_reply_to, reference_ids, metadata, version, reply_to_message_id, created_at, updated_at)
  values ($2, $1, null, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, false, false, $19, true, $13, $14, $15, $16, $17,
    $18, $6, $6)
  on conflict (id) do update set provider_id = null, thread_id = excluded.thread_id, subject = excluded.subject,
    snippet = excluded.snippet, date = excluded.date, from_addresses = excluded.from_addresses,
    to_addresses = excluded.to_addresses, cc_addresses = excluded.cc_addresses, bcc_addresses = excluded.bcc_addresses,
    reply_to_addresses = excluded.reply_to_addresses, participants = excluded.participants,
    message_id_header = excluded.message_id_header, in_reply_to = excluded.in_reply_to,
    reference_ids = excluded.reference_ids, metadata = excluded.metadata, version = excluded.version,
    reply_to_message_id = excluded.reply_to_message_id, has_attachments = excluded.has_attachments, updated_at = excluded.updated_at`;
const WRITE_BODY = `
  insert into message_body (message_id, body) values ($1, $2)
  on conflict (message_id) do update set body = excluded.body, headers = null`;
const ENTER_DRAFTS = `
  insert into message_folder (message_id, folder_id, date)
  select $2, f.id, $3 from folder f where f.account_id = $1 and f.name = 'drafts' order by f.id limit 1
  on conflict (message_id, folder_id) do update set date = excluded.date`;
// Whichever of them was tried last was the present one then; a few are enough.
const EARLIER = `
  select payload ->> 'messageIdHeader' as header from provider_job
  where account_id = $1 and object_id = $2 and action = 'save_draft' and payload ->> 'messageIdHeader' <> $3
  order by id limit 20`;
const HIDE = `update message set deleting = true, updated_at = $3 where account_id = $1 and id = $2`;

/** SQL of drafts; every statement carries the account. */
@Injectable()
export class DraftsRepository {
  constructor(private readonly database: Database) {}

  /** Also one that is being deleted. */
  async find(accountId: string, id: string): Promise<DraftRow | undefined> {
    const [row] = await this.database.query<DraftRow>(FIND, [accountId, id]);
    return row;
  }

  /** Held against every other change until the transaction ends; not one that is being deleted. */
  async hold(sql: Sql, accountId: string, id: string): Promise<DraftRow | undefined> {
    const [row] = await sql.query<DraftRow>(`${FIND} and not m.deleting for update of m`, [accountId, id]);
    return row;
  }

  /**
   * Writes a new draft or another version of one.
   * @param snippet the beginning of its text
   * @param leaves the thread it was in until now; empty: it is new
   * @returns what the log is to tell of threads
   */
  async write(sql: Sql, draft: DraftRow, snippet: string, leaves: string): Promise<RefreshedThread[]> {
    const { accountId, id, threadId, date } = draft;
    await sql.query(WRITE_THREAD, [accountId, threadId, draft.subject, date]);
    const lists = [draft.from, draft.to, draft.cc, draft.bcc];
    await sql.query(WRITE, [
      accountId, id, threadId, draft.subject, snippet, date, ...lists.map((list) => JSON.stringify(list)),
      JSON.stringify(draft.replyTo), peopleOf(draft), draft.messageIdHeader, draft.inReplyTo, draft.references,
      JSON.stringify(draft.metadata), draft.version, draft.replyToMessageId, draft.hasAttachments,
    ]); // prettier-ignore
    await sql.query(WRITE_BODY, [id, draft.body]);
    await sql.query(ENTER_DRAFTS, [accountId, id, date]);
    return refreshThreads(sql, accountId, [threadId, leaves].filter(Boolean), date);
  }

  /** Message-IDs of versions before this one whose jobs have not ended. */
  async earlierHeaders({ accountId, id, messageIdHeader }: DraftRow): Promise<string[]> {
    const rows = await this.database.query<{ header: string }>(EARLIER, [accountId, id, messageIdHeader]);
    return rows.map(({ header }) => header);
  }

  /** @returns what the log is to tell of its thread */
  async hide(sql: Sql, { accountId, id, threadId }: DraftRow, at: Date): Promise<RefreshedThread[]> {
    await sql.query(HIDE, [accountId, id, at]);
    return refreshThreads(sql, accountId, [threadId], at);
  }
}
