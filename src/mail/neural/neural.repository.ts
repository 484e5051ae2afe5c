import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { Database } from '../../platform/database/sql.ts';
import type { FeedbackKind } from './neural-feedback.entity.ts';
import type { Category } from './text/categorize.ts';
import { readHeaders } from '../messages/contents/read-contents.ts';

export interface NewFeedback {
  accountId: string;
  kind: FeedbackKind;
  subject: string;
  /** Only if the feedback is about a message. */
  messageId: string | null;
  content: object;
  at: Date;
}

/** Data of a message that is not part of its record. */
export interface MessageHeaders {
  messageId: string;
  /** As `readHeaders` has them; `null` without a header block. */
  headers: string | null;
  /** The category a user has set, and the time of that feedback; `null` without feedback. */
  category: Category | null;
  recategorizedAt: Date | null;
}

/**
 * Maximum number of feedback rows per account that belong to no message. Those are not deleted with
 * a message, so only the newest are kept.
 */
const MOST_WITHOUT_MESSAGE = 1000;

const HEADERS = `
  select m.id as "messageId", f.content ->> 'category' as "category", f.updated_at as "recategorizedAt"
  from message m
  left join neural_feedback f on f.account_id = m.account_id and f.kind = 'categorize' and f.subject = m.id::text
  where m.account_id = $1 and m.id = any($2::uuid[])`;

const STORE = `
  insert into neural_feedback (id, account_id, kind, subject, message_id, content, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7)`;
const INSTEAD = `
  on conflict (account_id, kind, subject) do update
  set content = excluded.content, updated_at = greatest(neural_feedback.updated_at, excluded.updated_at)`;
const ONCE = `on conflict (account_id, kind, subject) do nothing returning id`;
const FORGET = `
  delete from neural_feedback where account_id = $1 and message_id is null and id in (
    select id from neural_feedback where account_id = $1 and message_id is null order by id desc offset $2)`;

/**
 * SQL of feedback, and of the data that categorising needs. Every statement is limited to one
 * account.
 */
@Injectable()
export class NeuralRepository {
  constructor(private readonly database: Database) {}

  /** Header blocks and user categories of the messages that the account has, by message id. */
  async headersOf(
    accountId: string,
    messageIds: readonly string[],
  ): Promise<Map<string, MessageHeaders>> {
    const rows = await this.database.query<Omit<MessageHeaders, 'headers'>>(HEADERS, [
      accountId,
      messageIds,
    ]);
    const ids = rows.map(({ messageId }) => messageId);
    const headers = await readHeaders(this.database, accountId, ids);
    return new Map(
      rows.map((row) => [row.messageId, { ...row, headers: headers.get(row.messageId) ?? null }]),
    );
  }

  /**
   * Stores feedback.
   * @param overwrite true to replace earlier feedback on the same subject
   * @returns false if there was earlier feedback and nothing was stored
   */
  async store(feedback: NewFeedback, overwrite: boolean): Promise<boolean> {
    const { accountId, kind, subject, messageId, content, at } = feedback;
    const values = [newId(), accountId, kind, subject, messageId, JSON.stringify(content), at];
    if (overwrite) await this.database.query(`${STORE} ${INSTEAD}`, values);
    else if ((await this.database.query(`${STORE} ${ONCE}`, values)).length === 0) return false;
    if (messageId === null) await this.database.query(FORGET, [accountId, MOST_WITHOUT_MESSAGE]);
    return true;
  }
}
