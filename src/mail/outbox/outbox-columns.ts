/**
 * SQL: the recipients of a message as a JSON array in lower case, as they are indexed.
 * @param row alias of the row with a dot, such as `m.`; empty for none
 */
export const RECIPIENTS_IN_LOWER_CASE = (row: string): string =>
  `lower(${row}envelope ->> 'recipients')::jsonb`;

/** SQL: the words of a message's subject, as they are indexed. @param row as above */
export const SUBJECT_WORDS = (row: string): string =>
  `to_tsvector('simple'::regconfig, left(${row}content ->> 'subject', 500))`;
