import { Injectable } from '@nestjs/common';
import type { Page } from '../../platform/database/listing.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { ReadDatabase } from '../../platform/database/replicas/read-database.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { accountKey } from '../../formats/text/search-document.ts';
import type { SearchQuery, StateMatch, Term } from './search-query.ts';
import { groupText, rankText } from './tsquery.ts';
import type { Folder } from '../folders/folder.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

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
/** Fixes the plan: joins by key in the order of the statement, and no JIT compilation. */
const PLANNING = `
  select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
    set_config('jit', 'off', true)`;

const FOLDERS = `
  select x.asked, f.id, f.name
  from unnest($2::text[]) x(asked)
  join folder f on f.account_id = $1 and not f.deleting
    and x.asked in (lower(f.name), lower(f.display_name), replace(lower(f.display_name), ' ', '-'), f.id::text)`;

/**
 * Score of a match. The weights are for body, attachment names, people and subject (D to A). A
 * message of today counts twice as much as one of years ago.
 */
const SCORE = (rank: string, now: string) => `
  ts_rank('{0.1, 0.3, 0.6, 1.0}', s.document, ${rank}::tsquery)
    * (0.5 + 0.5 / (1 + greatest(0, extract(epoch from ${now}::timestamptz - p.date)) / 7776000.0))`;

interface FolderRow extends RowOf<Folder, 'id' | 'name'> {
  asked: string;
}

/** Searches messages. Every statement is limited to one account. */
@Injectable()
export class SearchRepository {
  constructor(private readonly reads: ReadDatabase) {}

  find(accountId: string, query: SearchQuery, request: FindRequest): Promise<FoundPage> {
    return this.reads.transaction(async (sql) => {
      const folders = await foldersOf(sql, accountId, query);
      await sql.query(PLANNING);
      const { text, values } = statementOf(accountId, query, folders, request);
      const [row] = await sql.query<FoundPage>(text, values, { prepared: false });
      return row ?? { ids: [], more: false };
    });
  }

  /** Runs a search and returns its plan (`explain analyze`). */
  async explain(accountId: string, query: SearchQuery, request: FindRequest): Promise<string> {
    return this.reads.transaction(async (sql) => {
      const folders = await foldersOf(sql, accountId, query);
      await sql.query(PLANNING);
      const { text, values } = statementOf(accountId, query, folders, request);
      const rows = await sql.query<Record<'QUERY PLAN', string>>(
        `explain (analyze, buffers) ${text}`,
        values,
        {
          prepared: false,
        },
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
  }
}

async function foldersOf(
  sql: Sql,
  accountId: string,
  { groups }: SearchQuery,
): Promise<FolderRow[]> {
  const names = groups
    .flat()
    .flatMap(({ match }) => (match.kind === 'folder' ? [match.name.toLowerCase()] : []));
  return names.length === 0 ? [] : sql.query<FolderRow>(FOLDERS, [accountId, [...new Set(names)]]);
}

type Span = Extract<StateMatch, { at: Date }>;

/** Converts a query to SQL conditions. */
class SearchConditions {
  readonly conditions = new Conditions();
  readonly key: string;
  readonly account: string;
  /** Query for the index; `null` if the index cannot help. */
  readonly indexed: string | null;
  /**
   * Query that each document is checked with, in addition to the index or without it; `null` if no
   * check is needed.
   */
  readonly checked: string | null;
  readonly rank: string | null;
  /** True if flags, folders or alternatives to words matter. */
  readonly hasStates: boolean;
  readonly #spans: Span[] = [];

  constructor(
    accountId: string,
    { groups }: SearchQuery,
    private readonly folders: readonly FolderRow[],
  ) {
    this.key = accountKey(accountId);
    this.account = this.conditions.value(accountId);
    const drafts = groups.some((group) =>
      group.some((term) => !term.negated && this.#asksForDrafts(term)),
    );
    this.conditions.add(
      `m.account_id = ${this.account} and not m.deleting${drafts ? '' : ' and not m.draft'}`,
    );
    const texts = groups.filter((group) => group.every(({ match }) => match.kind === 'text'));
    const exact = texts.flatMap((group) => groupText(this.key, group) ?? []).join(' & ');
    const loose = texts.flatMap((group) => groupText(this.key, group, 'loose') ?? []).join(' & ');
    // The index can look up only words that must be present.
    const helps = texts.some((group) => group.every(({ negated }) => !negated));
    this.indexed = helps ? this.conditions.value(loose) : null;
    this.checked = exact === '' || (helps && exact === loose) ? null : this.conditions.value(exact);
    const rank = rankText(this.key, groups);
    this.rank = rank === null ? null : this.conditions.value(rank);
    const others = groups.filter((group) => !texts.includes(group));
    for (const group of others) this.#addGroup(group);
    this.hasStates = others.length > this.#spans.length;
  }

  /** Conditions on the message `m`, and on its document `s` if `readsDocuments`. */
  get text(): string {
    const matches =
      this.checked === null ? '' : ` and ts_match_vq(s.document, ${this.checked}::tsquery)`;
    return `${this.conditions.text}${matches}`;
  }

  get readsDocuments(): boolean {
    return this.text.includes('s.document');
  }

  /**
   * Condition on the document for all words, except those that are alternatives to other
   * conditions.
   */
  get words(): string {
    return `ts_match_vq(s.document, ${this.checked ?? this.indexed}::tsquery)`;
  }

  /** The same as `text`, but complete without the index. */
  get textOfScan(): string {
    return this.checked === null && this.indexed !== null
      ? `${this.text} and ${this.words}`
      : this.text;
  }

  /** Conditions on a date column that every message must meet. */
  spansOf(column: string): string {
    return this.#spans.map((span) => ` and ${this.#spanText(column, span)}`).join('');
  }

  #asksForDrafts({ match }: Term): boolean {
    if (match.kind === 'flag') return match.flag === 'draft';
    return (
      match.kind === 'folder' &&
      this.#foldersNamed(match.name).some(({ name }) => name === 'drafts')
    );
  }

  #foldersNamed(name: string): FolderRow[] {
    return this.folders.filter(({ asked }) => asked === name.toLowerCase());
  }

  #addGroup(group: readonly Term[]): void {
    const texts = group.map((term) => `${term.negated ? 'not ' : ''}${this.#termText(term)}`);
    this.conditions.add(texts.join(' or '));
    const [only] = group;
    if (!only || group.length > 1 || only.negated) return;
    if (only.match.kind === 'from' || only.match.kind === 'before') this.#spans.push(only.match);
  }

  #termText(term: Term): string {
    const { match } = term;
    // The function, unlike its operator `@@`, does not make the planner use the index.
    if (match.kind === 'text') {
      const text = this.conditions.value(groupText(this.key, [{ ...term, negated: false }]));
      return `ts_match_vq(s.document, ${text}::tsquery)`;
    }
    if (match.kind === 'from' || match.kind === 'before') return this.#spanText('m.date', match);
    if (match.kind === 'anything') return 'true';
    if (match.kind === 'folder') {
      const ids = this.conditions.value(this.#foldersNamed(match.name).map(({ id }) => id));
      return `m.id in (select mf.message_id from message_folder mf where mf.folder_id = any(${ids}::uuid[]))`;
    }
    // A constant instead of a parameter, so that the partial index of unread messages can be used.
    const column = {
      unread: 'unread',
      starred: 'starred',
      attachment: 'has_attachments',
      draft: 'draft',
    }[match.flag];
    return `${match.value ? '' : 'not '}m.${column}`;
  }

  #spanText(column: string, match: Span): string {
    return `${column} ${match.kind === 'from' ? '>=' : '<'} ${this.conditions.value(match.at)}`;
  }
}

/** A strategy to find the messages to rank, as `kept (id, thread_id, date)`. */
interface Strategy {
  /** Common table expressions that end with `kept`. */
  text: string;
  ranked: number;
  more: string;
}

function statementOf(
  accountId: string,
  query: SearchQuery,
  folders: readonly FolderRow[],
  { found, page, now, reach }: FindRequest,
): { text: string; values: readonly unknown[] } {
  const search = new SearchConditions(accountId, query, folders);
  const { conditions, rank } = search;
  const strategy = strategyOf(search, page, reach);
  const score =
    rank === null
      ? '0::float8'
      : `case when p.n <= ${strategy.ranked} then ${SCORE(rank, conditions.value(now))} else 0 end`;
  const documents =
    rank === null
      ? ''
      : `left join message_search s on p.n <= ${strategy.ranked} and s.message_id = p.id`;
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
  const documents = where.includes('s.document')
    ? 'join message_search s on s.message_id = m.id'
    : '';
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
      join message_search s on s.message_id = m.id and ${search.words}`;
  return `
    probe as materialized (${probe}),
    read as materialized (
      select m.id, m.thread_id, m.date
      from (${scan(search, `${common} and ${conditions.text}`, conditions.value(READ_BACK))}) m
      join message_search s on s.message_id = m.id and ${search.words}
      order by m.date desc, m.id desc limit ${limit}),
    reading as materialized (select (select count(*) from read) >= ${limit} as done)`;
}

/** For queries that consist of words only: the index decides. */
function usingIndex(search: SearchConditions, indexed: string, most: number): Strategy {
  const limit = search.conditions.value(most);
  return {
    text: `
      ${readingBack(search, most, limit)},
      near as materialized (
        select s.message_id as id, s.date from message_search s
        where not ${DONE} and s.account_id = ${search.account} and s.document @@ ${indexed}::tsquery${search.spansOf('s.date')}
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
function collectingOrScanning(search: SearchConditions, indexed: string, most: number): Strategy {
  const limit = search.conditions.value(most);
  const few = `not ${DONE} and (select count(*) from few) <= ${FREQUENT}`;
  const many = `not ${DONE} and (select count(*) from few) > ${FREQUENT}`;
  const documents = search.readsDocuments
    ? 'join message_search s on s.message_id = few.message_id'
    : '';
  return {
    text: `
      ${readingBack(search, most, limit)},
      few as materialized (
        select s.message_id, s.date from message_search s
        where not ${DONE} and s.account_id = ${search.account} and s.document @@ ${indexed}::tsquery${search.spansOf('s.date')}
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
