/*
 * The lexemes of search documents. Imported by the worker thread that parses messages, so it may
 * import only files whose types Node itself can strip.
 */

/**
 * Fields that can be searched separately. The letter is the beginning of the lexeme. Words are in
 * lower case, so none begins with such a letter.
 */
export const FIELD = {
  any: '',
  /** A word as written, if that differs from its folded form. */
  exact: 'X',
  subject: 'S',
  from: 'F',
  to: 'T',
  cc: 'C',
  bcc: 'B',
  filename: 'N',
} as const;
export type Field = (typeof FIELD)[keyof typeof FIELD];

/** Makes the lexeme of a word in a field. */
export type LexemeOf = (field: Field, word: string) => string;

/** Lexemes in the documents of the table `search_document`. */
export const plainLexeme: LexemeOf = (field, word) => field + word;

/**
 * Lexemes in the index of the table `search_document`: 18 random bits of the account's id in three
 * characters, then the plain lexeme. `search_lexemes` in the database makes the same. They keep the
 * entries of one account apart from others. Two accounts of a partition may share them, so every
 * query also names the account.
 */
export function indexLexeme(accountId: string): LexemeOf {
  const key = lastBytes(accountId).toString('base64').slice(0, 3);
  return (field, word) => key + field + word;
}

/**
 * Lexemes in the documents and the index of the table `message_search`, which an earlier release
 * wrote: 24 bits of the account's id in four characters, a letter for the field, and the word.
 */
export function keyedLexeme(accountId: string): LexemeOf {
  const key = lastBytes(accountId).toString('base64url');
  return (field, word) => key + keyedLetter(field) + word;
}

/**
 * A document for the table `message_search`.
 * @param document made by `searchDocument`
 */
export function keyedDocument(accountId: string, document: string): string {
  const lexemeOf = keyedLexeme(accountId);
  // Lexemes contain neither quotes nor spaces.
  return document.replaceAll(
    /(^| )'([A-Z]?)/g,
    (_, gap: string, field: Field) => `${gap}'${lexemeOf(field, '')}`,
  );
}

/** The letter of a field in a keyed lexeme. */
export const keyedLetter = (field: Field): string =>
  field === FIELD.any ? 'w' : field.toLowerCase();

const lastBytes = (accountId: string): Buffer => Buffer.from(accountId.slice(-6), 'hex');
