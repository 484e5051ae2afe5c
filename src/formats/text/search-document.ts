import type { Address } from '../../platform/base/text/address.ts';
import { FIELD, type Field, plainLexeme } from './lexemes.ts';
import { htmlText } from './snippet.ts';
import { type Token, tokensOf } from './words.ts';

/*
 * Builds the search document of a message: the text of a tsvector. Imported by the worker thread
 * that parses messages, so it may import only files whose types Node itself can strip.
 */

/** The parts of a message that can be searched. */
export interface Searchable {
  subject: string;
  from: readonly Address[];
  to: readonly Address[];
  cc: readonly Address[];
  bcc: readonly Address[];
  body: string;
  files: readonly { filename: string }[];
}

/** Most UTF-16 units of body text, and most HTML that is read to find it. */
const MOST_TEXT = 32_768;
const MOST_HTML = 512 * 1024;
/** Most addresses of each header, and most names of attachments. */
const MOST_PEOPLE = 200;
const MOST_FILES = 200;
/** PostgreSQL has positions up to 16383, and at most 255 positions of one word. */
const LAST_POSITION = 16_000;
const MOST_POSITIONS = 64;
/**
 * PostgreSQL limits a tsvector to 1 MB of words and positions together. Words beyond this size are
 * not found.
 */
const MOST_BYTES = 800_000;
/** What the database puts before each word. */
const KEY_BYTES = 4;
const POSITION_BYTES = 2;
/** The position count of a word, and its alignment. */
const WORD_BYTES = 4;
/** Gap between positions, so that words of different fields or people do not form a phrase. */
const GAP = 10;

/**
 * The text of the tsvector of a message, in the form of the table `search_document`.
 * Every word is included once for all fields, and once more for each header that can be searched
 * separately. Weights show the field: A subject, B people, C names of attachments, D body.
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

/** Positions of a word, in the notation of a tsvector. */
interface Positions {
  text: string;
  count: number;
}

class SearchDocument {
  /** Positions by word, for searches in all fields. Such searches are by far the most frequent. */
  readonly #anywhere = new Map<string, Positions>();
  /** Positions by lexeme, for searches in one field. */
  readonly #apart = new Map<string, Positions>();
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
    for (const positionsOf of [this.#anywhere, this.#apart])
      for (const [lexeme, positions] of positionsOf) text += `'${lexeme}':${positions.text} `;
    return text;
  }

  #addToken({ words, wholes }: Token, weight: string, field: Field | null): void {
    for (const whole of wholes) {
      this.#put(this.#anywhere, whole, this.#position, weight);
      if (field) this.#put(this.#apart, plainLexeme(field, whole), this.#position, weight);
    }
    for (const { folded, exact } of words) {
      this.#put(this.#anywhere, folded, this.#position, weight);
      if (exact !== null)
        this.#put(this.#apart, plainLexeme(FIELD.exact, exact), this.#position, weight);
      if (field) this.#put(this.#apart, plainLexeme(field, folded), this.#position, weight);
      this.#position += 1;
    }
  }

  #put(positions: Map<string, Positions>, word: string, at: number, weight: string): void {
    const known = positions.get(word);
    if (!known) {
      positions.set(word, { text: at + weight, count: 1 });
      this.#bytes += Buffer.byteLength(word) + KEY_BYTES + WORD_BYTES + POSITION_BYTES;
    } else if (known.count < MOST_POSITIONS) {
      known.text += `,${at}${weight}`;
      known.count += 1;
      this.#bytes += POSITION_BYTES;
    }
  }
}
