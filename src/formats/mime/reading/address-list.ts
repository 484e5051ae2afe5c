import { type Address, addressParser } from 'postal-mime';
import { inUtf8Words } from './encoded-words.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** An address of a message with its name, which may be empty. */
export interface ListedAddress {
  name: string;
  address: string;
}

/** The rest of a longer field is ignored. In UTF-16 units. */
const LONGEST_FIELD = 1024 * 1024;

/**
 * The addresses of a header field, those in groups included (RFC 5322 section 3.4). Names are
 * decoded. Comments in comments are removed, and so are routes (section 4.4). Entries without an
 * address are left out. Never throws.
 */
export function readAddresses(field: string): ListedAddress[] {
  const text = inUtf8Words(withoutRoutes(flatComments(field.slice(0, LONGEST_FIELD))));
  return addressParser(text)
    .flatMap((entry: Address) => entry.group ?? [entry])
    .flatMap(({ name, address }) => (address ? [{ name, address }] : []));
}

/** `<@first.example,@second.example:ada@example.com>` names a way to the address. */
function withoutRoutes(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*(?:"|\\?$)|<\s{0,20}@[^:<>"]*:/gs, (found) =>
    found.startsWith('<') ? '<' : found,
  );
}

/** Removes comments within comments, which the library takes for the end of the outer one. */
function flatComments(text: string): string {
  let depth = 0;
  let isQuoted = false;
  let flat = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\' && (isQuoted || depth > 0)) {
      if (depth === 0) flat += text.slice(at, at + 2);
      at += 1;
    } else if (char === '"' && depth === 0) {
      isQuoted = !isQuoted;
      flat += char;
    } else if (isQuoted) flat += char;
    else if (char === '(') {
      if (depth === 0) flat += char;
      depth += 1;
    } else if (char === ')' && depth > 0) {
      depth -= 1;
      if (depth === 0) flat += char;
    } else if (depth < 2) flat += char;
  }
  // A comment that does not end is none.
  return depth === 0 && !isQuoted ? flat : text;
}
