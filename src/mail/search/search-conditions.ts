import { Conditions } from '../../platform/database/conditions.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  indexLexeme,
  keyedLexeme,
  type LexemeOf,
  plainLexeme,
} from '../../formats/text/lexemes.ts';
import type { SearchQuery, StateMatch, Term } from './search-query.ts';
import {
  documentMatches,
  documentOf,
  type QueryPair,
} from '../messages/search-documents/stored-documents.ts';
import { groupText, rankText, type Strictness } from './tsquery.ts';
import type { Folder } from '../folders/folder.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

const FOLDERS = `
  select x.asked, f.id, f.name
  from unnest($2::text[]) x(asked)
  join folder f on f.account_id = $1 and not f.deleting
    and x.asked in (lower(f.name), lower(f.display_name), replace(lower(f.display_name), ' ', '-'), f.id::text)`;

/** A folder that a query names. */
export interface FolderRow extends RowOf<Folder, 'id' | 'name'> {
  asked: string;
}

/** The folders that a query names. */
export async function foldersOf(
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
export class SearchConditions {
  readonly conditions = new Conditions();
  readonly account: string;
  /** Query for the indexes; `null` if they cannot help. */
  readonly indexed: QueryPair | null;
  /**
   * Query that each document is checked with, in addition to the index or without it; `null` if no
   * check is needed.
   */
  readonly checked: QueryPair | null;
  readonly rank: QueryPair | null;
  /** Query for a document, with all words of the query; `null` if it has none. */
  readonly #exact: QueryPair | null;
  readonly #keyed: LexemeOf;
  /** True if flags, folders or alternatives to words matter. */
  readonly hasStates: boolean;
  readonly #spans: Span[] = [];

  constructor(
    accountId: string,
    { groups }: SearchQuery,
    private readonly folders: readonly FolderRow[],
    private readonly usesOld: boolean,
  ) {
    this.#keyed = keyedLexeme(accountId);
    this.account = this.conditions.value(accountId);
    const drafts = groups.some((group) =>
      group.some((term) => !term.negated && this.#asksForDrafts(term)),
    );
    this.conditions.add(
      `m.account_id = ${this.account} and not m.deleting${drafts ? '' : ' and not m.draft'}`,
    );
    const texts = groups.filter((group) => group.every(({ match }) => match.kind === 'text'));
    const textOf = (lexemeOf: LexemeOf, strictness: Strictness) =>
      texts.flatMap((group) => groupText(lexemeOf, group, strictness) ?? []).join(' & ');
    const exact = textOf(plainLexeme, 'exact');
    // The index can look up only words that must be present.
    const helps = texts.some((group) => group.every(({ negated }) => !negated));
    this.#exact =
      exact === '' ? null : this.#pair((lexemeOf) => textOf(lexemeOf, 'exact'), plainLexeme);
    this.indexed = helps
      ? this.#pair((lexemeOf) => textOf(lexemeOf, 'loose'), indexLexeme(accountId))
      : null;
    this.checked = helps && exact === textOf(plainLexeme, 'loose') ? null : this.#exact;
    this.rank =
      rankText(plainLexeme, groups) === null
        ? null
        : this.#pair((lexemeOf) => rankText(lexemeOf, groups), plainLexeme);
    const others = groups.filter((group) => !texts.includes(group));
    for (const group of others) this.#addGroup(group);
    this.hasStates = others.length > this.#spans.length;
  }

  /** The document of a message, as a relation `s`. See `documentOf`. */
  documentOf(id: string): string {
    return documentOf(this.account, id, this.usesOld);
  }

  /** Conditions on the message `m`, and on its document `s` if `readsDocuments`. */
  get text(): string {
    const matches = this.checked === null ? '' : ` and ${documentMatches(this.checked)}`;
    return `${this.conditions.text}${matches}`;
  }

  get readsDocuments(): boolean {
    return this.text.includes('s.document');
  }

  /**
   * Condition that the document has all words. Words that a query joins by OR with a flag, a folder
   * or a date are left out.
   */
  get words(): string {
    return this.#exact === null ? 'true' : documentMatches(this.#exact);
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

  #pair(textOf: (lexemeOf: LexemeOf) => string | null, lexemeOf: LexemeOf): QueryPair {
    return {
      plain: this.conditions.value(textOf(lexemeOf)),
      keyed: this.usesOld ? this.conditions.value(textOf(this.#keyed)) : null,
    };
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
    if (match.kind === 'text') {
      const group = [{ ...term, negated: false }];
      return documentMatches(this.#pair((lexemeOf) => groupText(lexemeOf, group), plainLexeme));
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
