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
 * decoded. Comments in comments are removed, and so are routes (section 4.4). A text without an
 * address belongs to the next name, because programs write names with commas without quotes. Never
 * throws.
 */
export function readAddresses(field: string): ListedAddress[] {
  const text = withoutOpenQuote(field.slice(0, LONGEST_FIELD));
  const entries = addressParser(inUtf8Words(withoutRoutes(flatComments(text)))).flatMap(
    (entry: Address) => entry.group ?? [entry],
  );
  let before: string[] = [];
  return entries.flatMap(({ name, address }) => {
    before.push(name);
    if (!address) return [];
    const whole = name === '' ? '' : before.filter(Boolean).join(', ');
    before = [];
    return [{ name: whole, address: plainAddress(address) }];
  });
}

/** An address without a scheme, and without blanks at its `@`. A quoted local part stays quoted. */
function plainAddress(address: string): string {
  const at = address.lastIndexOf('@');
  if (at === -1) return address;
  const local = address
    .slice(0, at)
    .trim()
    .replace(/^(?:mailto|smtp):/i, '');
  const host = address.slice(at + 1).trim();
  return /\s/.test(local) && !local.startsWith('"') ? `"${local}"@${host}` : `${local}@${host}`;
}

/** A quote that does not end is none. */
function withoutOpenQuote(text: string): string {
  let last = -1;
  let isOpen = false;
  for (let at = text.search(/["\\]/); at !== -1 && at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') {
      last = at;
      isOpen = !isOpen;
    }
  }
  return isOpen ? text.slice(0, last) + text.slice(last + 1) : text;
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
