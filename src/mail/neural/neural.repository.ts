import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { Database } from '../../platform/database/sql.ts';
import type { FeedbackKind } from './neural-feedback.entity.ts';
import type { Category } from './text/categorize.ts';

export interface NewFeedback {
  accountId: string;
  kind: FeedbackKind;
  subject: string;
  /** When it is about one. */
  messageId: string | null;
  content: object;
  at: Date;
}

/** What is known of a message besides its record. */
export interface MessageHeaders {
  messageId: string;
  /** The header block as received; null: not kept. */
  headers: string | null;
  /** What the user says it is, and since when. */
  category: Category | null;
  recategorizedAt: Date | null;
}

/** Feedback that is not about a message does not go with one: so much of it is kept per account. */
const MOST_WITHOUT_MESSAGE = 1000;

const HEADERS = `
  select m.id as "messageId", b.headers, f.content ->> 'category' as "category", f.updated_at as "recategorizedAt"
  from message m
  left join message_body b on b.message_id = m.id
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

/** Feedback, and what categorizing needs of messages; every statement carries the account. */
@Injectable()
export class NeuralRepository {
  constructor(private readonly database: Database) {}

  /** Of those of the messages that the account has. */
  async headersOf(
    accountId: string,
    messageIds: readonly string[],
  ): Promise<Map<string, MessageHeaders>> {
    const rows = await this.database.query<MessageHeaders>(HEADERS, [accountId, messageIds]);
    return new Map(rows.map((row) => [row.messageId, row]));
  }

  /**
   * @param overwrite whether it takes the place of what was said before about the same
   * @returns false when something was said before, and nothing was stored
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
