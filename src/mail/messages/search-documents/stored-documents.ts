import { moveHasBegun, oldTableInUse } from '../../../platform/moves/table-moves.ts';
import type { Sql } from '../../../platform/database/sql.ts';

/*
 * The documents of messages are in `search_document`. Documents of the release before are in
 * `message_search` until they are moved (ADR 0167). A statement reads both tables, because a
 * document may be moved at any moment.
 */

/** Name of the table and of its move. */
export const NEW_TABLE = 'search_document';

/** Whether new documents are written to `search_document`. See `moveHasBegun`. */
export const writesNewTable = (sql: Sql): Promise<boolean> => moveHasBegun(sql, NEW_TABLE);

/** Whether `message_search` may have rows, as SQL. See `oldTableInUse`. */
export const OLD_TABLE_IN_USE = oldTableInUse(NEW_TABLE);

/**
 * Two tsqueries as SQL: for plain lexemes, and for keyed ones (`formats/text/lexemes.ts`).
 * `keyed` is null if the old table is not in use. It is then left out of all statements.
 */
export interface QueryPair {
  plain: string;
  keyed: string | null;
}

/**
 * The document of a message, as a relation `s (document, keyed)` to join with.
 * @param account SQL of the account's id
 * @param id SQL of the message's id
 * @param usesOld whether the old table is in use
 */
// `offset 0` keeps the planner from reading all documents of the account first.
export const documentOf = (account: string, id: string, usesOld: boolean): string => `lateral (
    select d.document, false as keyed from search_document d where d.account_id = ${account} and d.message_id = ${id}
    ${usesOld ? `union all select d.document, true from message_search d where d.message_id = ${id}` : 'offset 0'}) s`;

/** The query for the document `s`. */
const queryFor = ({ plain, keyed }: QueryPair): string =>
  keyed === null
    ? `${plain}::tsquery`
    : `case when s.keyed then ${keyed}::tsquery else ${plain}::tsquery end`;

/**
 * Whether the document `s` matches. The function, unlike its operator `@@`, does not make the
 * planner use the index.
 */
export const documentMatches = (query: QueryPair): string =>
  `ts_match_vq(s.document, ${queryFor(query)})`;

/**
 * Rank of the document `s`. The weights are for body, attachment names, people and subject (D to
 * A).
 */
export const documentRank = (query: QueryPair): string =>
  `ts_rank('{0.1, 0.3, 0.6, 1.0}', s.document, ${queryFor(query)})`;

/**
 * Ids and dates of the account's messages that match, from the indexes, in no order.
 * @param query for the lexemes of both indexes
 * @param condition further condition on the column `date`, begins with `and`; may be empty
 */
export const indexedDocuments = (
  account: string,
  { plain, keyed }: QueryPair,
  condition: string,
): string => `
    select message_id, date from search_document
    where account_id = ${account} and search_lexemes(account_id, document) @@ ${plain}::tsquery ${condition}
    ${
      keyed === null
        ? ''
        : `union all select message_id, date from message_search
           where account_id = ${account} and document @@ ${keyed}::tsquery ${condition}`
    }`;
