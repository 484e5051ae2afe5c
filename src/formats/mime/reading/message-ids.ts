import { decodeWords } from './encoded-words.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** The rest of a longer field is ignored. In UTF-16 units. */
const LONGEST_FIELD = 1024 * 1024;

/**
 * Message-IDs in a header field, in order and with angle brackets. An id may be folded. If nothing
 * is in brackets, the field itself is the id, or its words with an `@` are.
 * @param longest longer ids are left out
 */
export function readMessageIds(field: string, longest: number): string[] {
  const text = decodeWords(field.slice(0, LONGEST_FIELD)).trim();
  return wordsOf(text).flatMap((word) => {
    const id = word.replaceAll(/[<>\s]/g, '');
    return id !== '' && id.length + 2 <= longest ? [`<${id}>`] : [];
  });
}

function wordsOf(text: string): string[] {
  const bracketed = text.match(/<[^<>]+>/g);
  if (bracketed) return bracketed;
  const words = text.split(/\s+/).flatMap(separated);
  return words.length === 1 ? words : words.filter((word) => BARE_ID.test(word));
}

const BARE_ID = /^[^@()"',;:]+@[^@()"',;]+$/;

/** The ids in a word if commas separate them; otherwise the word itself. */
function separated(word: string): string[] {
  const ids = word.split(/[,;]/).filter((id) => id !== '');
  return ids.length > 0 && ids.every((id) => BARE_ID.test(id)) ? ids : [word];
}
