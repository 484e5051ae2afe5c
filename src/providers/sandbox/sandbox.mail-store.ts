import { columnsOf, type Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { type Mailbox, stableId } from './sandbox.ids.ts';
import type { SandboxMessage } from './sandbox.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/** One copy of a message to be stored. */
export interface NewCopy {
  email: string;
  folder: 'inbox' | 'sent' | 'drafts';
  unread: boolean;
  /** Header lines added in front of this copy only, each with its line end. */
  extraHeaders: string;
}

/** A stored copy, as returned to the mirror. */
export interface StoredCopy extends RowOf<
  SandboxMessage,
  'id' | 'folders' | 'receivedAt' | 'unread' | 'starred' | 'deleted' | 'modseq'
> {
  /** `null` if the message had arrived before the given cursor. */
  mime: Buffer | null;
}

// The counter's row lock lasts until the commit, so copies become visible in the order of their
// numbers, and a cursor never skips a copy that is not committed yet. Locks are taken in the order
// of the addresses, which prevents deadlocks.
const STORE = `
  with copy as (
    select *, row_number() over (partition by address) as n, count(*) over (partition by address) as total
    from unnest($2::uuid[], $3::text[], $4::text[], $5::boolean[], $6::bytea[]) c(id, address, folder, unread, extra)),
  counter as (
    insert into sandbox_mailbox (application_id, address, modseq)
    select $1::uuid, address, count(*) from copy group by address order by address
    on conflict (application_id, address) do update set modseq = sandbox_mailbox.modseq + excluded.modseq
    returning address, modseq)
  insert into sandbox_message
    (id, application_id, address, folders, mime, received_at, unread, starred, deleted, added_modseq, modseq)
  select c.id, $1, c.address, array[c.folder], c.extra || $7::bytea, $8, c.unread, false, false,
    m.modseq - c.total + c.n, m.modseq - c.total + c.n
  from copy c join counter m using (address)
  on conflict (id) do nothing
  returning address`;

// Returns at most $5 bytes at a time, but always at least one message.
const CHANGES = `
  select id, folders, received_at as "receivedAt", unread, starred, deleted, modseq, mime, candidates
  from (
    select *, sum(size) over (order by modseq) as bytes, row_number() over (order by modseq) as n,
      count(*) over () as candidates
    from (
      select id, folders, received_at, unread, starred, deleted, modseq,
        case when added_modseq > $3 and not deleted then mime end as mime,
        case when added_modseq > $3 and not deleted then octet_length(mime) else 0 end as size
      from sandbox_message where application_id = $1 and address = $2 and modseq > $3
      order by modseq limit $4) page) sized
  where n = 1 or bytes <= $5
  order by modseq`;

const CHANGE = `
  with counter as (
    insert into sandbox_mailbox (application_id, address, modseq) values ($1, $2, 1)
    on conflict (application_id, address) do update set modseq = sandbox_mailbox.modseq + 1
    returning modseq)
  update sandbox_message m
  set unread = coalesce($4, m.unread), starred = coalesce($5, m.starred), folders = coalesce($6::text[], m.folders),
    deleted = coalesce($7, m.deleted), modseq = counter.modseq
  from counter
  where m.id = $3 and m.application_id = $1 and m.address = $2 and not m.deleted
  returning 1`;

// `$3` is null for "All Mail", which is computed.
const IN_FOLDER = `
  from sandbox_message m
  where m.application_id = $1 and m.address = $2 and not m.deleted
    and case when $3::text is null then not m.folders && array['trash', 'spam'] else $3 = any(m.folders) end`;
const IDS = `
  select m.id ${IN_FOLDER}
    and ($4::timestamptz is null or m.received_at >= $4) and ($5::timestamptz is null or m.received_at < $5)
    and ($6::uuid is null or m.id > $6)
  order by m.id limit $7`;
const COUNTS = `
  select name, count(*)::int from sandbox_message m, unnest(m.folders) name
  where m.application_id = $1 and m.address = $2 and not m.deleted group by name`;
const READ = `
  select m.id, m.folders, m.received_at as "receivedAt", m.unread, m.starred, m.deleted, m.modseq,
    case when $4 then m.mime end as mime
  from sandbox_message m
  where m.application_id = $1 and m.address = $2 and m.id = any($3::uuid[]) and not m.deleted`;

const BYTES_AT_A_TIME = 16 * 1024 * 1024;

/**
 * The sandbox's mail server. Every address of an application has a mailbox, whether or not an
 * account is connected.
 */
export class SandboxMailStore {
  constructor(private readonly database: Database) {}

  /**
   * Changes the given properties of one copy.
   * @returns false if the copy does not exist or was deleted
   */
  async change(
    { applicationId, email }: Mailbox,
    id: string,
    change: { unread?: boolean; starred?: boolean; folders?: readonly string[]; deleted?: boolean },
    sql: Sql = this.database,
  ): Promise<boolean> {
    const { unread = null, starred = null, folders = null, deleted = null } = change;
    const values = [applicationId, email, id, unread, starred, folders, deleted];
    return (await sql.query(CHANGE, values)).length > 0;
  }

  /**
   * Stores a draft and deletes its previous version. The same Message-ID is stored only once.
   * @param replaces id of the previous version; it may already be deleted
   * @returns the id of the draft
   */
  async storeDraft(
    mailbox: Mailbox,
    messageIdHeader: string,
    mime: Buffer,
    at: Date,
    replaces: string | null,
  ): Promise<string> {
    const { applicationId, email } = mailbox;
    const id = copyId(mailbox, 'drafts', messageIdHeader);
    await this.database.transaction(async (sql) => {
      const copy: NewCopy = { email, folder: 'drafts', unread: false, extraHeaders: '' };
      await this.store(applicationId, messageIdHeader, mime, at, [copy], sql);
      if (replaces !== null && replaces !== id)
        await this.change(mailbox, replaces, { deleted: true }, sql);
    });
    return id;
  }

  /**
   * Stores copies of one message, all or none. The same Message-ID in the same folder of the same
   * mailbox is stored only once, even if it is delivered again.
   * @returns addresses of the mailboxes that have changed
   */
  async store(
    applicationId: string,
    messageIdHeader: string,
    mime: Buffer,
    at: Date,
    copies: readonly NewCopy[],
    sql: Sql = this.database,
  ): Promise<string[]> {
    if (copies.length === 0) return [];
    const rows = await sql.query<{ address: string }>(STORE, [
      applicationId,
      copies.map((copy) =>
        copyId({ applicationId, email: copy.email }, copy.folder, messageIdHeader),
      ),
      ...columnsOf(copies, 'email', 'folder', 'unread'),
      copies.map(({ extraHeaders }) => Buffer.from(extraHeaders)),
      mime,
      at,
    ]);
    return [...new Set(rows.map(({ address }) => address))];
  }

  /** Whether the mailbox has, or ever had, a Sent copy of the message. */
  async hasSent(mailbox: Mailbox, messageIdHeader: string): Promise<boolean> {
    const rows = await this.database.query(`select 1 from sandbox_message where id = $1`, [
      copyId(mailbox, 'sent', messageIdHeader),
    ]);
    return rows.length > 0;
  }

  /** Copies that arrived or changed after `modseq`, oldest change first. */
  async changes(
    { applicationId, email }: Mailbox,
    modseq: number,
    limit: number,
  ): Promise<{ copies: StoredCopy[]; more: boolean }> {
    const rows = await this.database.query<StoredCopy & { candidates: number }>(CHANGES, [
      applicationId,
      email,
      modseq,
      limit + 1,
      BYTES_AT_A_TIME,
    ]);
    const copies = rows.slice(0, limit);
    return { copies, more: (rows[0]?.candidates ?? 0) > copies.length };
  }

  /**
   * Ids of the copies in a folder that arrived within a time, in the order of the ids.
   * @param folder `null` for "All Mail"
   * @param after ids up to this one are left out
   */
  async ids(
    { applicationId, email }: Mailbox,
    folder: string | null,
    time: { since: Date | null; until: Date | null },
    after: string | null,
    limit: number,
  ): Promise<string[]> {
    const values = [applicationId, email, folder, time.since, time.until, after, limit];
    return idsOf(await this.database.query<{ id: string }>(IDS, values));
  }

  /** Number of copies in each folder that contains any. */
  async counts({ applicationId, email }: Mailbox): Promise<Map<string, number>> {
    const rows = await this.database.query<{ name: string; count: number }>(COUNTS, [
      applicationId,
      email,
    ]);
    return new Map(rows.map(({ name, count }) => [name, count]));
  }

  /** Those of the copies that exist. */
  read(
    { applicationId, email }: Mailbox,
    ids: readonly string[],
    content: boolean,
  ): Promise<StoredCopy[]> {
    return this.database.query<StoredCopy>(READ, [applicationId, email, ids, content]);
  }

  /** @returns `undefined` if the copy does not exist or was deleted */
  async mime({ applicationId, email }: Mailbox, id: string): Promise<Buffer | undefined> {
    const [row] = await this.database.query<RowOf<SandboxMessage, 'mime'>>(
      `select mime from sandbox_message where id = $1 and application_id = $2 and address = $3 and not deleted`,
      [id, applicationId, email],
    );
    return row?.mime;
  }
}

function copyId(mailbox: Mailbox, folder: string, messageIdHeader: string): string {
  return stableId(mailbox, 'message', folder, messageIdHeader);
}
