import { Injectable } from '@nestjs/common';
import type { Page } from '../../platform/database/listing.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { foldersOf, SearchConditions } from './search-conditions.ts';
import type { SearchQuery } from './search-query.ts';
import {
  documentRank,
  indexedDocuments,
  OLD_TABLE_IN_USE,
  type QueryPair,
} from '../messages/search-documents/stored-documents.ts';

/** Kind of result: messages, or their threads without duplicates. */
export type Found = 'messages' | 'threads';

/** A page of ids, best match first. */
export interface FoundPage {
  ids: string[];
  /** True if unread parts of the mailbox may contain more matches. */
  more: boolean;
}

/** The requested part of the results. */
export interface FindRequest {
  found: Found;
  page: Page;
  /** Time that the age of messages is measured from, for ranking. */
  now: Date;
  /** Factor for how many messages are read. 1 at first; larger if that was not enough. */
  reach: number;
}

/** Number of newest matches that are ranked. Older matches follow, newest first. */
export const RANKED = 300;
/**
 * The same for queries whose matches must be checked one by one, because the index alone cannot
 * decide.
 */
export const RANKED_OF_CHECKED = 100;
/** Number of newest messages that are sampled for the words first. */
export const PROBED = 200;
/**
 * Number of messages that are read from the newest back instead of using the index, if the sample
 * promises enough matches in half of them. The index would return all matches of the account, but
 * only the newest are needed (ADR 0053).
 */
export const READ_BACK = 4_000;
/**
 * Words in more messages than this are not collected from the index when flags, folders or word
 * order also matter.
 */
export const FREQUENT = 8_000;
/**
 * Fixes the plan: joins by key in the order of the statement, and no JIT compilation. Finds out
 * which tables to read.
 */
const PLANNING = `
  select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
    set_config('jit', 'off', true), ${OLD_TABLE_IN_USE} as "usesOld"`;

/** Score of a match. A message of today counts twice as much as one of years ago. */
const SCORE = (rank: QueryPair, now: string) => `
  ${documentRank(rank)}
    * (0.5 + 0.5 / (1 + greatest(0, extract(epoch from ${now}::timestamptz - p.date)) / 7776000.0))`;

/** Searches messages. Every statement is limited to one account. */
@Injectable()
export class SearchRepository {
  constructor(private readonly reads: ReadDatabase) {}

  find(accountId: string, query: SearchQuery, request: FindRequest): Promise<FoundPage> {
    return this.reads.transaction(async (sql) => {
      const { text, values } = await prepare(sql, accountId, query, request);
      const [row] = await sql.query<FoundPage>(text, values, { prepared: false });
      return row ?? { ids: [], more: false };
    });
  }

  /** Runs a search and returns its plan (`explain analyze`). */
  async explain(accountId: string, query: SearchQuery, request: FindRequest): Promise<string> {
    return this.reads.transaction(async (sql) => {
      const { text, values } = await prepare(sql, accountId, query, request);
      const rows = await sql.query<Record<'QUERY PLAN', string>>(
        `explain (analyze, buffers) ${text}`,
        values,
        { prepared: false },
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
  }
}

interface Statement {
  text: string;
  values: readonly unknown[];
}

/** Makes the statement of a search, and fixes its plan for the transaction. */
async function prepare(
  sql: Sql,
  accountId: string,
  query: SearchQuery,
  request: FindRequest,
): Promise<Statement> {
  const folders = await foldersOf(sql, accountId, query);
  const [planning] = await sql.query<{ usesOld: boolean }>(PLANNING);
  const search = new SearchConditions(accountId, query, folders, planning?.usesOld ?? true);
  return statementOf(search, request);
}

/** A strategy to find the messages to rank, as `kept (id, thread_id, date)`. */
interface Strategy {
  /** Common table expressions that end with `kept`. */
  text: string;
  ranked: number;
  more: string;
}

function statementOf(
  search: SearchConditions,
  { found, page, now, reach }: FindRequest,
): Statement {
  const { conditions, rank } = search;
  const strategy = strategyOf(search, page, reach);
  const score =
    rank === null
      ? '0::float8'
      : `case when p.n <= ${strategy.ranked} then ${SCORE(rank, conditions.value(now))} else 0 end`;
  const documents =
    rank === null ? '' : `left join ${search.documentOf('p.id')} on p.n <= ${strategy.ranked}`;
  const best = `p.n > ${strategy.ranked}, p.score desc nulls last, p.n`;
  const ids =
    found === 'messages'
      ? `select p.id from ranked p order by ${best}`
      : `select p.thread_id from (select p.thread_id, row_number() over (order by ${best}) as place from ranked p) p
         group by p.thread_id order by min(p.place)`;
  const text = `
    with ${strategy.text},
    numbered as (select *, row_number() over (order by date desc, id desc) as n from kept),
    ranked as materialized (select p.id, p.thread_id, p.n, ${score} as score from numbered p ${documents})
    select array(${ids} limit ${conditions.value(page.limit)} offset ${conditions.value(page.offset)})::text[] as ids,
      ${strategy.more} as more`;
  return { text, values: conditions.values };
}

function strategyOf(search: SearchConditions, { limit, offset }: Page, reach: number): Strategy {
  const most = (least: number) => Math.max(least, offset + limit) * reach;
  const { indexed, checked, hasStates } = search;
  if (indexed === null) return scanning(search, most(RANKED_OF_CHECKED));
  if (hasStates || checked !== null)
    return collectingOrScanning(search, indexed, most(RANKED_OF_CHECKED));
  return usingIndex(search, indexed, most(RANKED));
}

/** Reads messages from the newest back until there are enough. */
function scanning(search: SearchConditions, most: number): Strategy {
  const limit = search.conditions.value(most);
  return {
    text: `kept as materialized (${scan(search, search.text, limit)})`,
    ranked: RANKED_OF_CHECKED,
    more: `(select count(*) from kept) >= ${limit}`,
  };
}

function scan(search: SearchConditions, where: string, limit: string): string {
  const documents = where.includes('s.document') ? `cross join ${search.documentOf('m.id')}` : '';
  return `
    select m.id, m.thread_id, m.date from message m ${documents} where ${where}
    order by m.date desc, m.id desc limit ${limit}`;
}

const DONE = '(select done from reading)';

/**
 * Common table expressions that read messages from the newest back into `read`, if the sample shows
 * that the words are frequent. `DONE` is true if nothing else must be read. Not used if flags or
 * folders also matter: the requested folder may contain none of the recent messages with the word.
 */
function readingBack(search: SearchConditions, most: number, limit: string): string {
  const { account, conditions, hasStates } = search;
  const wanted = Math.ceil((2 * most * PROBED) / READ_BACK);
  const common = '(select common from probe)';
  const probe = hasStates
    ? 'select false as common'
    : `
      select count(*) >= ${wanted} as common
      from (select m.id from message m where m.account_id = ${account} and not m.draft${search.spansOf('m.date')}
            order by m.date desc, m.id desc limit ${PROBED}) m
      cross join ${search.documentOf('m.id')} where ${search.words}`;
  return `
    probe as materialized (${probe}),
    read as materialized (
      select m.id, m.thread_id, m.date
      from (${scan(search, `${common} and ${conditions.text}`, conditions.value(READ_BACK))}) m
      cross join ${search.documentOf('m.id')} where ${search.words}
      order by m.date desc, m.id desc limit ${limit}),
    reading as materialized (select (select count(*) from read) >= ${limit} as done)`;
}

/** Matches of the index, if reading back did not find enough. */
const matches = (search: SearchConditions, indexed: QueryPair): string =>
  indexedDocuments(search.account, indexed, `${search.spansOf('date')} and not ${DONE}`);

/** For queries that consist of words only: the index decides. */
function usingIndex(search: SearchConditions, indexed: QueryPair, most: number): Strategy {
  const limit = search.conditions.value(most);
  return {
    text: `
      ${readingBack(search, most, limit)},
      near as materialized (
        select s.message_id as id, s.date from (${matches(search, indexed)}) s
        order by s.date desc, s.message_id desc limit ${limit}),
      kept as materialized (
        select * from read where ${DONE}
        union all
        select m.id, m.thread_id, m.date from near join message m on m.id = near.id where ${search.text})`,
    ranked: RANKED,
    more: `${DONE} or (select count(*) from near) >= ${limit}`,
  };
}

/**
 * Uses the index, unless the words are in too many messages; then it reads messages from the newest
 * back. Both stop when there are enough matches. The limit is a subquery, which hides it from the
 * planner.
 */
function collectingOrScanning(
  search: SearchConditions,
  indexed: QueryPair,
  most: number,
): Strategy {
  const limit = search.conditions.value(most);
  const few = `not ${DONE} and (select count(*) from few) <= ${FREQUENT}`;
  const many = `not ${DONE} and (select count(*) from few) > ${FREQUENT}`;
  const documents = search.readsDocuments
    ? `cross join ${search.documentOf('few.message_id')}`
    : '';
  return {
    text: `
      ${readingBack(search, most, limit)},
      few as materialized (
        select s.message_id, s.date from (${matches(search, indexed)}) s
        limit (select ${FREQUENT + 1})),
      collected as materialized (
        select m.id, m.thread_id, few.date
        from (select * from few where ${few} order by date desc, message_id desc limit ${FREQUENT}) few
        ${documents} join message m on m.id = few.message_id
        where ${search.text} order by few.date desc, few.message_id desc limit ${limit}),
      walked as materialized (${scan(search, `${many} and ${search.textOfScan}`, limit)}),
      kept as materialized (
        select * from read where ${DONE} union all select * from collected union all select * from walked)`,
    ranked: RANKED_OF_CHECKED,
    more: `(select count(*) from kept) >= ${limit}`,
  };
}
