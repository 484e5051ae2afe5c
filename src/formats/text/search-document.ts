import type { Address } from '../../platform/base/text/address.ts';
import { htmlText } from './snippet.ts';
import { type Token, tokensOf } from './words.ts';

/*
 * What a message is found by: the text of a tsvector. Imported by the thread that parses messages: only what Node itself
 * can strip of types.
 */

/** What can be looked for apart from the rest; the letter is part of the lexeme. */
export const FIELD = {
  any: 'w',
  /** A word as it was written, where that is not how it is compared. */
  exact: 'x',
  subject: 's',
  from: 'f',
  to: 't',
  cc: 'c',
  bcc: 'b',
  filename: 'n',
} as const;
export type Field = (typeof FIELD)[keyof typeof FIELD];

/** What of a message is searched. */
export interface Searchable {
  subject: string;
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  bcc: readonly Address[];
  body: string;
  files: readonly { filename: string }[];
}

/** Stands for the account until a document is stored: parsing knows no account. */
const ACCOUNT_MARK = '\u0001';
/** UTF-16 units of a body's text, and of the HTML that is looked at for it. */
const MOST_TEXT = 32_768;
const MOST_HTML = 512 * 1024;
/** Addresses of each header, names of attachments. */
const MOST_PEOPLE = 200;
const MOST_FILES = 200;
/** PostgreSQL counts words up to 16383, and has 255 places of one at most. */
const LAST_POSITION = 16_000;
const MOST_PLACES = 64;
/** PostgreSQL takes a tsvector of 1 MB, its words and places together; words beyond these bytes are not found. */
const MOST_BYTES = 800_000;
const KEY_BYTES = 4;
const PLACE_BYTES = 2;
/** The number of its places, and what it is aligned to. */
const WORD_BYTES = 4;
/** Words of different fields, or of different people, are no phrase. */
const GAP = 10;

/**
 * The text of the tsvector of a message, yet without the account: `documentFor` puts it in. Every word is in it once for
 * any place, with weights by where it is (A subject, B people, C names of attachments, D body), and once for each
 * header that can be asked for.
 */
export function searchDocument(message: Searchable): string {
  const document = new SearchDocument();
  document.add(message.subject, 'A', FIELD.subject);
  for (const header of ['from', 'to', 'cc', 'bcc'] as const) {
    for (const { name, email } of message[header].slice(0, MOST_PEOPLE)) {
      if (name !== email) document.add(name, 'B', FIELD[header]);
      document.add(email, 'B', FIELD[header]);
    }
  }
  for (const { filename } of message.files.slice(0, MOST_FILES))
    document.add(filename, 'C', FIELD.filename);
  document.add(htmlText(message.body, MOST_HTML, MOST_TEXT).slice(0, MOST_TEXT), '', null);
  return document.text;
}

/** A document as it is stored. */
export function documentFor(accountId: string, document: string): string {
  return document.replaceAll(ACCOUNT_MARK, accountKey(accountId));
}

/**
 * Begins every lexeme, so that the index of one account is apart from those of others: 24 random bits of its id in
 * four characters. Two accounts may share one; every query names the account besides.
 */
export function accountKey(accountId: string): string {
  return Buffer.from(accountId.slice(-6), 'hex').toString('base64url');
}

/** Where a word is, as a tsvector has it. */
interface Places {
  text: string;
  count: number;
}

class SearchDocument {
  /** By the word itself: what is looked for anywhere, by far the most. */
  readonly #anywhere = new Map<string, Places>();
  /** By letter and word. */
  readonly #apart = new Map<string, Places>();
  #position = 1;
  #bytes = 0;

  add(text: string, weight: 'A' | 'B' | 'C' | '', field: Field | null): void {
    for (const token of tokensOf(text)) {
      if (this.#position > LAST_POSITION || this.#bytes > MOST_BYTES) return;
      this.#addToken(token, weight, field);
    }
    this.#position += GAP;
  }

  get text(): string {
    let text = '';
    for (const [word, places] of this.#anywhere)
      text += `'${ACCOUNT_MARK}${FIELD.any}${word}':${places.text} `;
    for (const [lexeme, places] of this.#apart)
      text += `'${ACCOUNT_MARK}${lexeme}':${places.text} `;
    return text;
  }

  #addToken({ words, wholes }: Token, weight: string, field: Field | null): void {
    for (const whole of wholes) {
      this.#put(this.#anywhere, whole, this.#position, weight);
      if (field) this.#put(this.#apart, field + whole, this.#position, weight);
    }
    for (const { folded, exact } of words) {
      this.#put(this.#anywhere, folded, this.#position, weight);
      if (exact !== null) this.#put(this.#apart, FIELD.exact + exact, this.#position, weight);
      if (field) this.#put(this.#apart, field + folded, this.#position, weight);
      this.#position += 1;
    }
  }

  #put(places: Map<string, Places>, word: string, at: number, weight: string): void {
    const known = places.get(word);
    if (!known) {
      places.set(word, { text: at + weight, count: 1 });
      this.#bytes += Buffer.byteLength(word) + KEY_BYTES + WORD_BYTES + PLACE_BYTES;
    } else if (known.count < MOST_PLACES) {
      known.text += `,${at}${weight}`;
      known.count += 1;
      this.#bytes += PLACE_BYTES;
    }
  }
}
