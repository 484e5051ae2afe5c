import { Injectable } from '@nestjs/common';
import type { Page } from '../../platform/database/listing.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { accountKey } from '../../formats/text/search-document.ts';
import type { SearchQuery, StateMatch, Term } from './search-query.ts';
import { groupText, rankText } from './tsquery.ts';

/** What is found: messages, or each of their threads once. */
export type Found = 'messages' | 'threads';

/** A page of ids, best first. */
export interface FoundPage {
  ids: string[];
  /** Whether messages that were not looked at may match, too. */
  more: boolean;
}

/** Which part of what is found is wanted. */
export interface FindRequest {
  found: Found;
  page: Page;
  /** What recency is counted from. */
  now: Date;
  /** 1, and more when that was not enough: how far back it is looked. */
  reach: number;
}

/** So many of the newest matches are ranked; older ones follow, newest first. */
export const RANKED = 300;
/** The same where every match has to be looked at, and is not known from the index. */
export const RANKED_OF_CHECKED = 100;
/** So many of the newest messages are asked first whether they have the words. */
export const PROBED = 200;
/**
 * So many messages are read from the newest back instead of asking the index, if those that were asked promise enough in
 * half of them: the index would give all of an account's matches, of which the newest are wanted.
 */
export const READ_BACK = 4_000;
/** Words that more messages have are not collected when flags, folders or their order matter besides. */
export const FREQUENT = 8_000;
/** Steady plans: joins by key, in the order the statement says, and nothing compiled. */
const PLANNING = `
  select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
    set_config('jit', 'off', true)`;

const FOLDERS = `
  select x.asked, f.id, f.name
  from unnest($2::text[]) x(asked)
  join folder f on f.account_id = $1 and not f.deleting
    and x.asked in (lower(f.name), lower(f.display_name), replace(lower(f.display_name), ' ', '-'), f.id::text)`;

/** Where subject, people, names of attachments and body weigh, from D to A; today's mail twice as much as that of years ago. */
const SCORE = (rank: string, now: string) => `
  ts_rank('{0.1, 0.3, 0.6, 1.0}', s.document, ${rank}::tsquery)
    * (0.5 + 0.5 / (1 + greatest(0, extract(epoch from ${now}::timestamptz - p.date)) / 7776000.0))`;

interface FolderRow {
  asked: string;
  id: string;
  name: string | null;
}

/** Looks for messages; every statement carries the account. */
@Injectable()
export class SearchRepository {
  constructor(private readonly database: Database) {}

  find(accountId: string, query: SearchQuery, request: FindRequest): Promise<FoundPage> {
    return this.database.transaction(async (sql) => {
      const folders = await foldersOf(sql, accountId, query);
      await sql.query(PLANNING);
      const { text, values } = statementOf(accountId, query, folders, request);
      const [row] = await sql.query<FoundPage>(text, values, { prepared: false });
      return row ?? { ids: [], more: false };
    });
  }

  /** The plan of a search, as it is run. */
  async explain(accountId: string, query: SearchQuery, request: FindRequest): Promise<string> {
    return this.database.transaction(async (sql) => {
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

/** A query in SQL. */
class SearchConditions {
  readonly conditions = new Conditions();
  readonly key: string;
  readonly account: string;
  /** What the index is asked for; null: it cannot help. */
  readonly indexed: string | null;
  /** What the document has to say besides, or without, the index; null: nothing. */
  readonly checked: string | null;
  readonly rank: string | null;
  /** Whether flags, folders or alternatives to words matter. */
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
    // Only words that are there are something to look up.
    const helps = texts.some((group) => group.every(({ negated }) => !negated));
    this.indexed = helps ? this.conditions.value(loose) : null;
    this.checked = exact === '' || (helps && exact === loose) ? null : this.conditions.value(exact);
    const rank = rankText(this.key, groups);
    this.rank = rank === null ? null : this.conditions.value(rank);
    const others = groups.filter((group) => !texts.includes(group));
    for (const group of others) this.#addGroup(group);
    this.hasStates = others.length > this.#spans.length;
  }

  /** What of the message has to be so, `m`; and of its document, `s`, if `readsDocuments`. */
  get text(): string {
    const matches =
      this.checked === null ? '' : ` and ts_match_vq(s.document, ${this.checked}::tsquery)`;
    return `${this.conditions.text}${matches}`;
  }

  get readsDocuments(): boolean {
    return this.text.includes('s.document');
  }

  /** What all words ask of the document but those that are an alternative to something else. */
  get words(): string {
    return `ts_match_vq(s.document, ${this.checked ?? this.indexed}::tsquery)`;
  }

  /** The same as `text` without help of the index. */
  get textOfWalk(): string {
    return this.checked === null && this.indexed !== null
      ? `${this.text} and ${this.words}`
      : this.text;
  }

  /** Times that every message has to be in, as conditions of a column. */
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
    // Called by its name the operator does not look for an index.
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
    // Written out rather than as a parameter: the index of unread messages can be used then.
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

/** How the messages are found that are ranked then: `kept (id, thread_id, date)`. */
interface Way {
  /** Common table expressions. */
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
  const way = wayOf(search, page, reach);
  const score =
    rank === null
      ? '0::float8'
      : `case when p.n <= ${way.ranked} then ${SCORE(rank, conditions.value(now))} else 0 end`;
  const documents =
    rank === null
      ? ''
      : `left join message_search s on p.n <= ${way.ranked} and s.message_id = p.id`;
  const best = `p.n > ${way.ranked}, p.score desc nulls last, p.n`;
  const ids =
    found === 'messages'
      ? `select p.id from ranked p order by ${best}`
      : `select p.thread_id from (select p.thread_id, row_number() over (order by ${best}) as place from ranked p) p
         group by p.thread_id order by min(p.place)`;
  const text = `
    with ${way.text},
    numbered as (select *, row_number() over (order by date desc, id desc) as n from kept),
    ranked as materialized (select p.id, p.thread_id, p.n, ${score} as score from numbered p ${documents})
    select array(${ids} limit ${conditions.value(page.limit)} offset ${conditions.value(page.offset)})::text[] as ids,
      ${way.more} as more`;
  return { text, values: conditions.values };
}

function wayOf(search: SearchConditions, { limit, offset }: Page, reach: number): Way {
  const most = (least: number) => Math.max(least, offset + limit) * reach;
  const { indexed, checked, hasStates } = search;
  if (indexed === null) return walking(search, most(RANKED_OF_CHECKED));
  if (hasStates || checked !== null)
    return collectingOrWalking(search, indexed, most(RANKED_OF_CHECKED));
  return looking(search, indexed, most(RANKED));
}

/** Messages from the newest back, until there are enough of them. */
function walking(search: SearchConditions, most: number): Way {
  const limit = search.conditions.value(most);
  return {
    text: `kept as materialized (${walk(search, search.text, limit)})`,
    ranked: RANKED_OF_CHECKED,
    more: `(select count(*) from kept) >= ${limit}`,
  };
}

function walk(search: SearchConditions, where: string, limit: string): string {
  const documents = where.includes('s.document')
    ? 'join message_search s on s.message_id = m.id'
    : '';
  return `
    select m.id, m.thread_id, m.date from message m ${documents} where ${where}
    order by m.date desc, m.id desc limit ${limit}`;
}

const DONE = '(select done from reading)';

/**
 * Messages `read` from the newest back, if many have the words, and whether nothing else is to be done then: `DONE`. Not where
 * flags or folders matter besides: a word of this week may be nowhere in the folder that is asked for.
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
      from (${walk(search, `${common} and ${conditions.text}`, conditions.value(READ_BACK))}) m
      join message_search s on s.message_id = m.id and ${search.words}
      order by m.date desc, m.id desc limit ${limit}),
    reading as materialized (select (select count(*) from read) >= ${limit} as done)`;
}

/** The words alone decide. */
function looking(search: SearchConditions, indexed: string, most: number): Way {
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
 * By the index, unless the words are in too many messages; either way from the newest on, until there are enough. The
 * planner is not told how many would be too many.
 */
function collectingOrWalking(search: SearchConditions, indexed: string, most: number): Way {
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
      walked as materialized (${walk(search, `${many} and ${search.textOfWalk}`, limit)}),
      kept as materialized (
        select * from read where ${DONE} union all select * from collected union all select * from walked)`,
    ranked: RANKED_OF_CHECKED,
    more: `(select count(*) from kept) >= ${limit}`,
  };
}
