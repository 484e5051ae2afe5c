import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { readBodies } from '../messages/contents/read-contents.ts';
import { type DraftVersionRow, hideDraft, writeDraft } from '../messages/mirror/store-draft.ts';
import { type RefreshedThread, refreshThreads } from '../threading/refresh-threads.ts';
import { writeThreadOfDraft } from '../threading/store-threads.ts';
import type { Message } from '../messages/message.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** Content of a draft, without the fields that the server adds. */
export interface DraftRow extends DraftVersionRow, RowOf<Message, 'providerId' | 'deleting'> {}

const COLUMNS = `
  m.id, m.account_id as "accountId", m.provider_id as "providerId", m.thread_id as "threadId", m.version,
  m.message_id_header as "messageIdHeader", m.from_addresses as "from", m.to_addresses as "to", m.cc_addresses as "cc",
  m.bcc_addresses as "bcc", m.reply_to_addresses as "replyTo", m.subject, m.metadata, m.date, m.deleting,
  m.has_attachments as "hasAttachments", m.tracking, m.reply_to_message_id as "replyToMessageId", m.in_reply_to as "inReplyTo", m.reference_ids as "references"`;
const COUNT =
  'select count(*)::int as count from (select from message where account_id = $1 and draft limit $2) found';
const FIND = `select ${COLUMNS} from message m where m.account_id = $1 and m.id = $2 and m.draft`;

const LOCK = `${FIND} and not m.deleting for update of m`;

// Each attempt stores the version that is current at that time, so earlier attempts may have stored
// any of these versions. More than 20 are not searched for.
const EARLIER = `
  select payload ->> 'messageIdHeader' as header from provider_job
  where account_id = $1 and object_id = $2 and action = 'save_draft' and payload ->> 'messageIdHeader' <> $3
  order by id limit 20`;
/** SQL of drafts. Every statement is limited to one account. */
@Injectable()
export class DraftsRepository {
  constructor(private readonly database: Database) {}

  /** How many drafts an account has; no more than `most` are counted. */
  async count(sql: Sql, accountId: string, most: number): Promise<number> {
    return (await sql.query<{ count: number }>(COUNT, [accountId, most]))[0]?.count ?? 0;
  }

  /** Also finds a draft that is being deleted. */
  async find(accountId: string, id: string): Promise<DraftRow | undefined> {
    return findDraft(this.database, FIND, accountId, id);
  }

  /**
   * Locks a draft until the transaction ends.
   * @returns `undefined` if the draft does not exist or is being deleted
   */
  async lock(sql: Sql, accountId: string, id: string): Promise<DraftRow | undefined> {
    return findDraft(sql, LOCK, accountId, id);
  }

  /**
   * Writes a new draft or a new version of one.
   * @param snippet the beginning of its text
   * @param leaves the thread it was in until now; empty for a new draft
   * @returns changed threads, for the change log
   */
  async write(
    sql: Sql,
    draft: DraftRow,
    snippet: string,
    leaves: string,
  ): Promise<RefreshedThread[]> {
    const { accountId, threadId, date } = draft;
    await writeThreadOfDraft(sql, accountId, draft);
    await writeDraft(sql, draft, snippet);
    return refreshThreads(sql, accountId, [threadId, leaves].filter(Boolean), date);
  }

  /** Message-IDs of earlier versions whose jobs have not ended. */
  async earlierHeaders({ accountId, id, messageIdHeader }: DraftRow): Promise<string[]> {
    const rows = await this.database.query<{ header: string }>(EARLIER, [
      accountId,
      id,
      messageIdHeader,
    ]);
    return rows.map(({ header }) => header);
  }

  /**
   * Hides a draft.
   * @returns its changed thread, for the change log
   */
  async hide(sql: Sql, draft: DraftRow, at: Date): Promise<RefreshedThread[]> {
    const { accountId, threadId } = draft;
    await hideDraft(sql, draft, at);
    return refreshThreads(sql, accountId, [threadId], at);
  }
}

/** The body is read after the lock is granted, so that it is the one of the locked version. */
async function findDraft(
  sql: Sql,
  text: string,
  accountId: string,
  id: string,
): Promise<DraftRow | undefined> {
  const [draft] = await sql.query<Omit<DraftRow, 'body'>>(text, [accountId, id]);
  if (!draft) return undefined;
  return { ...draft, body: (await readBodies(sql, accountId, [id])).get(id) ?? '' };
}
