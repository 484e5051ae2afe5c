import { Injectable } from '@nestjs/common';
import { isId, newId } from '../common/ids/ids.ts';
import { Database, type Sql } from '../database/sql.ts';
import type { KnownMessage, MirrorPlan, NewMessage, SentByUs } from './mirror-plan.ts';

/** A claim on the mirror of one account: every write proves that it still holds. */
export interface MirrorClaim {
  /** Id of the row of `sync_job`. */
  id: string;
  fence: number;
  accountId: string;
}

/** Where a run begins. */
export interface MirrorState {
  cursor: string | null;
  failures: number;
  /** Whether the mirror has shown the mailbox' present before. */
  wasCurrent: boolean;
  /** What arrived earlier is history. */
  connectedAt: Date;
}

/** A folder of the mirror. */
export interface MirrorFolder {
  id: string;
  providerId: string;
  name: string | null;
  displayName: string;
}

/** The claim was lost: somebody else mirrors this account now. */
export class ClaimLostError extends Error {
  override name = 'ClaimLostError';
}

const BEGIN = `
  update sync_job j set again = false from "grant" g
  where j.id = $1 and j.fence = $2 and j.state = 1 and g.id = j.account_id
  returning j.cursor, j.failures, j.current_since is not null as "wasCurrent", g.created_at as "connectedAt"`;

const HOLD = `
  update sync_job set cursor = coalesce($3, cursor) where id = $1 and fence = $2 and state = 1 returning 1`;

const FOLDERS = `
  select id, provider_id as "providerId", name, display_name as "displayName" from folder where account_id = $1`;

const WRITE_FOLDERS = `
  with gone as (delete from folder where account_id = $1 and id = any($7::uuid[]))
  insert into folder (id, account_id, provider_id, name, display_name, created_at, updated_at)
  select x.id, $1, x.provider_id, x.name, x.display_name, $6, $6
  from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) x(id, provider_id, name, display_name)
  on conflict (account_id, provider_id) do update
    set name = excluded.name, display_name = excluded.display_name, updated_at = excluded.updated_at`;

const KNOWN = `
  select m.id, m.provider_id as "providerId", m.thread_id as "threadId", m.date, m.unread, m.starred, m.draft,
    array(select f.provider_id from message_folder mf join folder f on f.id = mf.folder_id
          where mf.message_id = m.id) as "folderIds"
  from message m where m.account_id = $1 and m.provider_id = any($2::text[])`;

const THREADS = `
  select distinct on (message_id_header) message_id_header as "header", thread_id as "threadId"
  from message where account_id = $1 and message_id_header = any($2::text[])
  order by message_id_header, date`;

const SENT = `
  select o.message_id_header as "messageIdHeader", s.message_id as "messageId", s.thread_id as "threadId",
    o.content -> 'metadata' as metadata, exists (select 1 from message m where m.id = s.message_id) as mirrored
  from outbox_message o join job_status s using (id)
  where o.id = any($2::uuid[]) and o.account_id = $1 and o.message_id_header = any($3::text[])
    and s.message_id is not null and s.thread_id is not null`;

const WRITE_THREADS = `
  insert into thread (id, account_id, subject, first_message_at, last_message_at)
  select x.id, $1, x.subject, x.first, x.last
  from unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::timestamptz[]) x(id, subject, first, last)
  on conflict (id) do update set first_message_at = least(thread.first_message_at, excluded.first_message_at),
    last_message_at = greatest(thread.last_message_at, excluded.last_message_at)
  returning id, (xmax = 0) as created`;

const WRITE_MESSAGES = `
  with given as (
    select * from jsonb_to_recordset($2::jsonb) x(
      id uuid, provider_id text, thread_id uuid, subject text, snippet text, date timestamptz, from_addresses jsonb,
      to_addresses jsonb, cc_addresses jsonb, bcc_addresses jsonb, reply_to_addresses jsonb, participants text[], unread boolean,
      starred boolean, has_attachments boolean, draft boolean, message_id_header text, in_reply_to text,
      reference_ids text[], metadata jsonb)),
  written as (
    insert into message (id, account_id, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses,
      cc_addresses, bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft,
      message_id_header, in_reply_to, reference_ids, metadata, created_at, updated_at)
    select id, $1, provider_id, thread_id, subject, snippet, date, from_addresses, to_addresses, cc_addresses,
      bcc_addresses, reply_to_addresses, participants, unread, starred, has_attachments, draft, message_id_header,
      in_reply_to, reference_ids, metadata, $3, $3
    from given)
  insert into message_body (message_id, body)
  select * from unnest($4::uuid[], $5::text[])`;

const WRITE_FILES = `
  insert into file (id, account_id, message_id, part, filename, content_type, content_disposition, content_id, size)
  select x.id, $1, x.message_id, x.part, x.filename, x.content_type, x.content_disposition, x.content_id, x.size
  from jsonb_to_recordset($2::jsonb) x(id uuid, message_id uuid, part integer, filename text, content_type text,
    content_disposition text, content_id text, size integer)`;

const WRITE_FLAGS = `
  update message m set unread = x.unread, starred = x.starred, draft = x.draft, updated_at = $6
  from unnest($2::uuid[], $3::boolean[], $4::boolean[], $5::boolean[]) x(id, unread, starred, draft)
  where m.id = x.id and m.account_id = $1`;

const LEAVE_FOLDERS = `
  delete from message_folder mf using message m
  where m.id = mf.message_id and m.account_id = $1 and m.id = any($2::uuid[])`;

const ENTER_FOLDERS = `
  insert into message_folder (message_id, folder_id)
  select x.message_id, f.id from unnest($2::uuid[], $3::text[]) x(message_id, provider_id)
  join folder f on f.account_id = $1 and f.provider_id = x.provider_id
  on conflict do nothing`;

const REMOVE = `
  delete from message where account_id = $1 and provider_id = any($2::text[])
  returning id, thread_id as "threadId", draft`;

const SHRINK_THREADS = `
  with span as (
    select t.id, min(m.date) as first, max(m.date) as last
    from unnest($2::uuid[]) t(id) left join message m on m.thread_id = t.id group by t.id),
  emptied as (
    delete from thread t using span s where t.id = s.id and t.account_id = $1 and s.first is null returning t.id),
  kept as (
    update thread t set first_message_at = s.first, last_message_at = s.last
    from span s where t.id = s.id and t.account_id = $1 and s.first is not null returning t.id)
  select id, true as deleted from emptied union all select id, false from kept`;

/** SQL of the mailbox mirror. Set-based: the number of statements does not depend on the number of messages. */
@Injectable()
export class MirrorRepository {
  constructor(private readonly database: Database) {}

  /** Starts a run; what is reported from here on asks for another one. @returns undefined when the claim is lost */
  async begin({ id, fence }: MirrorClaim): Promise<MirrorState | undefined> {
    const [state] = await this.database.query<MirrorState>(BEGIN, [id, fence]);
    return state;
  }

  /**
   * A transaction that holds the claim to its end.
   * @param cursor stored with what `work` writes; null leaves it
   * @throws {ClaimLostError} when the claim is lost; nothing is written
   */
  holding<T>({ id, fence }: MirrorClaim, cursor: string | null, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.database.transaction(async (sql) => {
      const held = await sql.query(HOLD, [id, fence, cursor]);
      if (held.length === 0) throw new ClaimLostError('the claim on the mailbox is lost');
      return work(sql);
    });
  }

  folders(accountId: string): Promise<MirrorFolder[]> {
    return this.database.query<MirrorFolder>(FOLDERS, [accountId]);
  }

  /** Adds or renames folders, and drops those that are gone. */
  async writeFolders(
    sql: Sql,
    accountId: string,
    folders: readonly MirrorFolder[],
    goneIds: readonly string[],
    at: Date,
  ): Promise<void> {
    await sql.query(WRITE_FOLDERS, [
      accountId,
      folders.map(({ id }) => id),
      folders.map(({ providerId }) => providerId),
      folders.map(({ name }) => name),
      folders.map(({ displayName }) => displayName),
      at,
      goneIds,
    ]);
  }

  /** Those of the messages that the mirror has, by the provider's id. */
  async known(accountId: string, providerIds: readonly string[]): Promise<Map<string, KnownMessage>> {
    const rows = await this.database.query<KnownMessage>(KNOWN, [accountId, providerIds]);
    return new Map(rows.map((row) => [row.providerId, row]));
  }

  /** Threads by Message-ID. */
  async threads(accountId: string, headers: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.database.query<{ header: string; threadId: string }>(THREADS, [
      accountId,
      headers,
    ]);
    return new Map(rows.map(({ header, threadId }) => [header, threadId]));
  }

  /** Those of the Message-IDs that the outbox has made; they begin with the id of their outbox message. */
  async sentByUs(accountId: string, headers: readonly string[]): Promise<Map<string, SentByUs>> {
    const ids = headers.map((header) => header.slice(1, 37)).filter(isId);
    if (ids.length === 0) return new Map();
    const rows = await this.database.query<SentByUs>(SENT, [accountId, ids, headers]);
    return new Map(rows.map((row) => [row.messageIdHeader, row]));
  }

  /** Writes the messages of a plan with everything that belongs to them. @returns threads that are new */
  async write(sql: Sql, accountId: string, plan: MirrorPlan, at: Date): Promise<Set<string>> {
    const created = await this.#writeThreads(sql, accountId, plan.added);
    if (plan.added.length > 0) await this.#writeMessages(sql, accountId, plan.added, at);
    const files = plan.added.flatMap((message) =>
      message.files.map((file) => ({
        id: newId(),
        message_id: message.id,
        part: file.part,
        filename: file.filename,
        content_type: file.contentType,
        content_disposition: file.contentDisposition,
        content_id: file.contentId,
        size: file.size,
      })),
    );
    if (files.length > 0) await sql.query(WRITE_FILES, [accountId, JSON.stringify(files)]);
    if (plan.changed.length > 0) {
      await sql.query(WRITE_FLAGS, [
        accountId,
        plan.changed.map(({ known }) => known.id),
        plan.changed.map(({ remote }) => remote.unread),
        plan.changed.map(({ remote }) => remote.starred),
        plan.changed.map(({ draft }) => draft),
        at,
      ]);
    }
    const moved = plan.changed.filter(({ foldersChanged }) => foldersChanged);
    if (moved.length > 0) await sql.query(LEAVE_FOLDERS, [accountId, moved.map(({ known }) => known.id)]);
    const memberships = [
      ...plan.added.map(({ id, remote }) => ({ id, remote })),
      ...moved.map(({ known, remote }) => ({ id: known.id, remote })),
    ].flatMap(({ id, remote }) => remote.folderIds.map((folderId) => ({ id, folderId })));
    if (memberships.length > 0) {
      await sql.query(ENTER_FOLDERS, [
        accountId,
        memberships.map(({ id }) => id),
        memberships.map(({ folderId }) => folderId),
      ]);
    }
    return created;
  }

  /** Removes messages that are gone, and threads that have become empty. */
  async remove(
    sql: Sql,
    accountId: string,
    providerIds: readonly string[],
  ): Promise<{
    messages: { id: string; threadId: string; draft: boolean }[];
    threads: { id: string; deleted: boolean }[];
  }> {
    const messages = await sql.query<{ id: string; threadId: string; draft: boolean }>(REMOVE, [
      accountId,
      providerIds,
    ]);
    if (messages.length === 0) return { messages, threads: [] };
    const threadIds = [...new Set(messages.map(({ threadId }) => threadId))];
    return { messages, threads: await sql.query(SHRINK_THREADS, [accountId, threadIds]) };
  }

  async #writeThreads(sql: Sql, accountId: string, added: readonly NewMessage[]): Promise<Set<string>> {
    if (added.length === 0) return new Set();
    const threads = new Map<string, { subject: string; first: Date; last: Date }>();
    for (const { threadId, subject, remote } of added) {
      // `added` is oldest first: the first message names the thread.
      const thread = threads.get(threadId) ?? { subject, first: remote.receivedAt, last: remote.receivedAt };
      threads.set(threadId, { ...thread, last: remote.receivedAt });
    }
    const rows = await sql.query<{ id: string; created: boolean }>(WRITE_THREADS, [
      accountId,
      [...threads.keys()],
      [...threads.values()].map(({ subject }) => subject),
      [...threads.values()].map(({ first }) => first),
      [...threads.values()].map(({ last }) => last),
    ]);
    return new Set(rows.filter(({ created }) => created).map(({ id }) => id));
  }

  async #writeMessages(sql: Sql, accountId: string, added: readonly NewMessage[], at: Date): Promise<void> {
    const rows = added.map((message) => ({
      id: message.id,
      provider_id: message.remote.providerId,
      thread_id: message.threadId,
      subject: message.subject,
      snippet: message.snippet,
      date: message.remote.receivedAt,
      from_addresses: message.from,
      to_addresses: message.to,
      cc_addresses: message.cc,
      bcc_addresses: message.bcc,
      reply_to_addresses: message.replyTo,
      participants: participantsOf(message),
      unread: message.remote.unread,
      starred: message.remote.starred,
      has_attachments: message.files.some(({ contentDisposition }) => contentDisposition === 'attachment'),
      draft: message.draft,
      message_id_header: message.messageIdHeader,
      in_reply_to: message.inReplyTo,
      reference_ids: message.references,
      metadata: message.metadata,
    }));
    await sql.query(WRITE_MESSAGES, [
      accountId,
      JSON.stringify(rows),
      at,
      added.map(({ id }) => id),
      added.map(({ body }) => body),
    ]);
  }
}

/** Longer ones are no addresses, and would not fit the index. */
const MAX_EMAIL_LENGTH = 320;

function participantsOf({ from, to, cc, bcc }: NewMessage): string[] {
  const emails = [from, to, cc, bcc].flat().map(({ email }) => email.toLowerCase());
  return [...new Set(emails.filter(({ length }) => length <= MAX_EMAIL_LENGTH))];
}
