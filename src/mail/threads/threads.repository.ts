import { Injectable } from '@nestjs/common';
import { type Listing, type Page, runListing } from '../../platform/database/listing.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { type FilterFolders, findFolders, type FoundFolder } from '../folders/find-folders.ts';
import {
  addSpan,
  filenameCondition,
  peopleAskedFor,
} from '../messages/filters/message-conditions.ts';
import type { StoredThread, ThreadFilter, ThreadListRequest } from './thread-filter.ts';
import { readThreadMessages } from './thread-messages.ts';

// `offset 0`: the folders are looked up by their keys, in the order of their ids. Without it, all
// folders of the account are read for each thread. Looked up one by one and then sorted, they take
// 28 of 300 µs for a page of ten threads.
const FOLDERS = `
  (select coalesce(json_agg(f), '[]') from (
     select f.id, f.name, f.display_name as "displayName" from (
       select * from folder where id = any(t.folder_ids) order by id offset 0) f
     where f.account_id = t.account_id and not f.deleting) f)`;

// Drafts of a thread are few and have an index of their own. All other columns are stored ready to
// use.
const COLUMNS = `
  t.id, t.account_id as "accountId", t.subject, t.first_message_at as "firstMessageAt",
  t.last_message_at as "lastMessageAt", t.last_received_at as "lastReceivedAt", t.last_sent_at as "lastSentAt",
  t.unread, t.starred, t.version, t.people, t.snippet, t.has_attachments as "hasAttachments",
  to_json(t.message_ids) as "messageIds",
  (select coalesce(json_agg(d.id order by d.date, d.id), '[]') from message d
   where d.thread_id = t.id and d.account_id = t.account_id and d.draft and not d.deleting) as "draftIds",
  ${FOLDERS} as folders`;

const itemsBy = (orderBy: string) => ({
  from: 'thread t',
  with: 'join thread_summary s on s.thread_id = t.id',
  fields: 't.*, s.people, s.snippet, s.has_attachments, s.message_ids',
  id: 't.id',
  orderBy,
});

/** `bytes` estimates the parts that can be long: people and message ids. */
const THREADS = { columns: COLUMNS, bytes: 's.length', from: 'thread t', id: 't.id' };

/** A thread as its own row shows it. */
type ThreadRow = Omit<StoredThread, 'messages'>;

const NEWEST_FIRST = 't.last_message_at desc, t.id desc';

/**
 * A group of people is frequent if it appears in at least `FREQUENT` threads. For late pages the
 * limit is higher: `FREQUENT_FOR_EACH` times the number of threads up to the end of the page. A
 * list filtered by a frequent group reads through all threads, newest first.
 */
const FREQUENT = 2_000;
const FREQUENT_FOR_EACH = 20;
const ARE_FREQUENT = `
  select count(*) >= $3 as enough from (
    select 1 from thread_person p where p.account_id = $1 and p.person = any($2::text[]) limit $3) p`;

/** Reads threads. Every statement is limited to one account. */
@Injectable()
export class ThreadsRepository {
  constructor(
    private readonly database: Database,
    private readonly reads: ReadDatabase,
  ) {}

  /** Newest last message first. */
  async list(
    accountId: string,
    { filter, page, view }: ThreadListRequest,
  ): Promise<Listing<StoredThread>> {
    const folders = await findFolders(this.reads, accountId, filter);
    const people = peopleAskedFor(filter);
    const frequent = view === 'count' ? [] : await this.#frequent(accountId, people, page);
    const conditions = conditionsOf(accountId, filter, folders, { people, frequent });
    const listing = await runListing<ThreadRow>(this.reads, {
      ...THREADS,
      orderBy: NEWEST_FIRST,
      items: itemsBy(NEWEST_FIRST),
      conditions,
      page,
      view: view === 'expanded' ? undefined : view,
      // Only a statement whose single parameter is the account has a plan that suits every value,
      // so only that one is prepared.
      prepared: conditions.values.length === 1,
    });
    if (listing.view !== 'items') return listing;
    const expanded = view === 'expanded';
    const items = await withMessages(this.reads, accountId, listing.items, expanded);
    return { view: 'items', items };
  }

  /** Groups of several people that appear in very many threads. */
  async #frequent(
    accountId: string,
    people: readonly string[][],
    { limit, offset }: Page,
  ): Promise<readonly string[][]> {
    const enough = Math.max(FREQUENT, FREQUENT_FOR_EACH * (offset + limit));
    const frequent: string[][] = [];
    for (const group of people.filter(({ length }) => length > 1)) {
      const [row] = await this.reads.query<{ enough: boolean }>(ARE_FREQUENT, [
        accountId,
        group,
        enough,
      ]);
      if (row?.enough) frequent.push(group);
    }
    return frequent;
  }

  /**
   * Returns the threads of the account with these ids, in no particular order. Unknown ids and
   * threads without messages are left out.
   * @throws {PageTooLargeError}
   */
  async findMany(
    accountId: string,
    ids: readonly string[],
    { expanded, sql = this.database }: { expanded: boolean; sql?: Sql },
  ): Promise<StoredThread[]> {
    const conditions = new Conditions();
    conditions.add(`t.account_id = ${conditions.value(accountId)} and t.message_count > 0`);
    conditions.add(`t.id = any(${conditions.value(ids)}::uuid[])`);
    const listing = await runListing<ThreadRow>(sql, {
      ...THREADS,
      orderBy: 't.id',
      items: itemsBy('t.id'),
      conditions,
      page: { limit: ids.length, offset: 0 },
    });
    return listing.view === 'items' ? withMessages(sql, accountId, listing.items, expanded) : [];
  }

  /**
   * @param options.sql a transaction to read in
   * @returns `undefined` if the account has no such thread, or the thread has no messages
   */
  async find(
    accountId: string,
    id: string,
    options: { expanded: boolean; sql?: Sql },
  ): Promise<StoredThread | undefined> {
    return (await this.findMany(accountId, [id], options))[0];
  }
}

/** Adds the messages to threads in the expanded view; in other views they have none. */
async function withMessages(
  sql: Sql,
  accountId: string,
  threads: readonly ThreadRow[],
  expanded: boolean,
): Promise<StoredThread[]> {
  const messages =
    expanded && threads.length > 0
      ? await readThreadMessages(sql, accountId, idsOf(threads))
      : undefined;
  return threads.map((thread) => ({ ...thread, messages: messages?.get(thread.id) ?? [] }));
}

/** The people of a filter, and those groups of them that are in many threads. */
interface AskedFor {
  people: readonly string[][];
  frequent: readonly string[][];
}

function conditionsOf(
  accountId: string,
  filter: ThreadFilter,
  folders: FilterFolders,
  askedFor: AskedFor,
): Conditions {
  const conditions = new Conditions();
  const account = conditions.value(accountId);
  conditions.add(`t.account_id = ${account} and t.message_count > 0`);
  if (filter.unread !== undefined) conditions.add(filter.unread ? 't.unread' : 'not t.unread');
  if (filter.starred !== undefined) conditions.add(filter.starred ? 't.starred' : 'not t.starred');
  if (filter.subject !== undefined) {
    const subject = `${conditions.value(filter.subject)}::text`;
    conditions.add(`md5(t.subject) = md5(${subject}) and t.subject = ${subject}`);
  }
  if (filter.threadId !== undefined)
    conditions.add(isId(filter.threadId) ? `t.id = ${conditions.value(filter.threadId)}` : 'false');
  addFolderConditions(conditions, folders);
  addPeopleConditions(conditions, account, askedFor);
  addFilenameCondition(conditions, account, filter);
  addSpan(conditions, 't.first_message_at', filter.started);
  addSpan(conditions, 't.last_message_at', filter.lastMessage);
  addSpan(conditions, 't.updated_at', filter.lastUpdated);
  return conditions;
}

const DRAFT = 'select 1 from message m where m.thread_id = t.id and m.draft and not m.deleting';

/**
 * Conditions on the folders of messages. If the folder of drafts is named, threads with drafts
 * match too.
 */
function addFolderConditions(
  conditions: Conditions,
  { in: wanted, notIn: unwanted }: FilterFolders,
): void {
  const condition = (folders: readonly FoundFolder[]) => {
    const isIn = `t.folder_ids && ${conditions.value(idsOf(folders))}::uuid[]`;
    return folders.some(({ name }) => name === 'drafts') ? `${isIn} or exists (${DRAFT})` : isIn;
  };
  if (wanted) conditions.add(wanted.length > 0 ? condition(wanted) : 'false');
  if (unwanted && unwanted.length > 0) conditions.add(`not (${condition(unwanted)})`);
}

/**
 * Conditions on people: for each group, one message of the thread must have one of its members.
 * Different messages may match different groups.
 */
function addPeopleConditions(
  conditions: Conditions,
  account: string,
  { people, frequent }: AskedFor,
): void {
  for (const group of people) {
    const wanted =
      group.length === 1
        ? `= ${conditions.value(group[0] ?? null)}`
        : `= any(${conditions.value(group)}::text[])`;
    // The planner counts one index lookup for several people as several lookups and would collect
    // all their threads instead. `offset 0` prevents that.
    conditions.add(
      frequent.includes(group)
        ? `exists (select 1 from thread_person p where p.thread_id = t.id and p.person ${wanted} offset 0)`
        : `t.id in (select p.thread_id from thread_person p where p.account_id = ${account} and p.person ${wanted})`,
    );
  }
}

function addFilenameCondition(
  conditions: Conditions,
  account: string,
  { filename }: ThreadFilter,
): void {
  if (filename === undefined) return;
  conditions.add(
    `t.id in (select m.thread_id from file f join message m on m.id = f.message_id and not m.draft
              where ${filenameCondition(conditions, account, filename)})`,
  );
}
