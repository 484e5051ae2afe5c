import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { ListedContents } from '../listed-contents/listed-contents.ts';
import type { Message } from '../messages/message.entity.ts';
import type { ThreadReference } from '../threading/thread-reference.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** A message that is replied to. */
export interface ReplyTarget extends RowOf<
  Message,
  'id' | 'threadId' | 'messageIdHeader' | 'listed'
> {
  /** Oldest first. */
  references: string[];
  /** `null` if the token may not read it. */
  subject: string | null;
}

/** What a request names to reply to. */
export interface NamedConversation {
  threadId?: string | null | undefined;
  messageId?: string | null | undefined;
}

/** The thread of a new message, and the message that it replies to. */
export interface Conversation {
  threadId: string;
  message: ReplyTarget | null;
}

/** The account that replies, and its scopes. */
export type Answerer = Pick<AccountPrincipal, 'accountId' | 'scopes'>;

const ANSWERED = `
  select m.id, m.thread_id as "threadId", m.message_id_header as "messageIdHeader",
    m.reference_ids as "references", m.subject, m.listed
  from message m where m.account_id = $1 and not m.draft`;
const BY_ID = `${ANSWERED} and m.id = $2`;
const LAST_OF_THREAD = `${ANSWERED} and m.thread_id = $2 order by m.date desc, m.id desc limit 1`;
const THREAD = 'select id from thread where account_id = $1 and id = $2 for key share';

// Messages show the same one as the message they reply to; see `message-columns.ts`.
const WITH_HEADER = `
  select a.id from (
    select id from message where account_id = $1 and message_id_header = $2 and not draft limit 20) a
  order by a.id limit 1`;

const THREAD_OF = `
  select r.thread_id as "threadId" from thread_reference r
  where r.account_id = $1 and r.message_id_header = any($2::text[])
  order by array_position($2::text[], r.message_id_header) limit 1`;

/**
 * Finds the message that a draft, a send or an outbox message replies to. Every query names the
 * account.
 */
@Injectable()
export class ReplyTargets {
  constructor(
    private readonly database: Database,
    private readonly listed: ListedContents,
  ) {}

  /**
   * Fetches the content of the message that a request replies to, if the mirror only lists it. Call
   * it before a transaction that passes its `sql` to `conversationOf`. Does nothing if the request
   * names no message or thread, or one that does not exist.
   * @throws {DomainError} if the provider cannot deliver the message now
   */
  async prepare(account: Answerer, { threadId, messageId }: NamedConversation): Promise<void> {
    const id = messageId || threadId;
    if (!id || !isId(id)) return;
    const statement = messageId ? BY_ID : LAST_OF_THREAD;
    const [row] = await this.database.query<ReplyTarget>(statement, [account.accountId, id]);
    if (row?.listed) await this.listed.complete(account.accountId, [row.id]);
  }

  /**
   * The message that a request replies to; `undefined` if it names none.
   * @throws {InvalidInputError} if there is no such message
   */
  async named(
    account: Answerer,
    messageId: string | null | undefined,
    sql: Sql = this.database,
  ): Promise<ReplyTarget | undefined> {
    if (!messageId) return undefined;
    const target = isId(messageId) ? await this.find(account, messageId, sql) : undefined;
    if (!target)
      throw new InvalidInputError(
        `reply_to_message_id: Couldn't find message ${messageId.slice(0, 100)}`,
      );
    return target;
  }

  /** Like `named`, for a message that was replied to before and may have been deleted since. */
  async find(
    account: Answerer,
    messageId: string,
    sql: Sql = this.database,
  ): Promise<ReplyTarget | undefined> {
    const [row] = await sql.query<ReplyTarget>(BY_ID, [account.accountId, messageId]);
    return row && readable(account, row);
  }

  /**
   * Finds the conversation of a new message: the thread of the message it replies to, or the thread
   * that it names.
   * @returns `undefined` if the request names neither; `message` is `null` if the thread has only
   *   drafts
   * @param sql a transaction to read in; see `prepare`
   * @throws {InvalidInputError} if the message or the thread does not exist, or the message is in
   *   another thread
   * @throws {DomainError} if the content of the message is still to be fetched, and the provider
   *   cannot deliver it now
   */
  async conversationOf(
    account: Answerer,
    named: NamedConversation,
    sql?: Sql,
  ): Promise<Conversation | undefined> {
    const found = await this.#conversationOf(account, named, sql);
    if (sql || !found?.message?.listed) return found;
    await this.listed.complete(account.accountId, [found.message.id]);
    return this.#conversationOf(account, named);
  }

  async #conversationOf(
    account: Answerer,
    { threadId, messageId }: NamedConversation,
    sql: Sql = this.database,
  ): Promise<Conversation | undefined> {
    const { accountId } = account;
    const message = await this.named(account, messageId, sql);
    if (message) {
      if (threadId && threadId.toLowerCase() !== message.threadId)
        throw new InvalidInputError(
          'reply_to_message_id: the message is not in the thread that thread_id names',
        );
      return { threadId: message.threadId, message };
    }
    if (!threadId) return undefined;
    const threads = isId(threadId) ? await sql.query(THREAD, [accountId, threadId]) : [];
    if (threads.length === 0)
      throw new InvalidInputError(`thread_id: Couldn't find thread ${threadId.slice(0, 100)}`);
    const [last] = await sql.query<ReplyTarget>(LAST_OF_THREAD, [accountId, threadId]);
    return { threadId: threadId.toLowerCase(), message: last ? readable(account, last) : null };
  }

  /** The id of the message with this Message-ID; `undefined` if the account has none. */
  async idOf(accountId: string, header: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ id: string }>(WITH_HEADER, [accountId, header]);
    return row?.id;
  }

  /** The thread of the first of these Message-IDs that belongs to one; `undefined` if none does. */
  async threadOf(accountId: string, headers: readonly string[]): Promise<string | undefined> {
    if (headers.length === 0) return undefined;
    const [row] = await this.database.query<RowOf<ThreadReference, 'threadId'>>(THREAD_OF, [
      accountId,
      headers,
    ]);
    return row?.threadId;
  }
}

/**
 * A token that may send but not read mail does not learn the subject of the message it replies to.
 */
function readable({ scopes }: Answerer, target: ReplyTarget): ReplyTarget {
  return allows(scopes, SCOPES_FOR.readMail) ? target : { ...target, subject: null };
}

/**
 * Subject of a reply without a subject of its own: that of the message it replies to, with a single
 * `Re:`. Empty if the token may not read that subject.
 */
export function replySubject({ subject }: Pick<ReplyTarget, 'subject'>): string {
  if (subject === null) return '';
  return /^re:/i.test(subject) ? subject : `Re: ${subject}`;
}

/** The References header of a reply (RFC 5322, 3.6.4). */
export function referencesOf(
  answered: Pick<ReplyTarget, 'messageIdHeader' | 'references'> | null | undefined,
): string[] {
  if (!answered?.messageIdHeader) return [];
  return [...answered.references, answered.messageIdHeader];
}
