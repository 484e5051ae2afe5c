import { onOneLine } from './plain-text.ts';

const MOST_CHARACTERS = 300;
/** More would only cost time: nothing behind it is shown. */
const MOST_READ = 4_000;
const ADDRESS = /[^\s@<>(),;:"']+@[^\s@<>(),;:"']+/gu;
/** What a server quotes may be a part of the message. */
const QUOTED = /"[^"]*"|“[^”]*”/gu;
/** Passwords and tokens that a server repeats are long, or base64 with its padding. */
const TOKEN = /[A-Za-z0-9+/_-]{40,}={0,2}|[A-Za-z0-9+/]{8,}={1,2}(?![A-Za-z0-9])/gu;

/**
 * Returns words of a provider or a receiver for log lines and spans: one line of at most 300
 * characters. Email addresses, quoted text, and what may be a token are replaced by `…`. The
 * timeline of a job has the words unchanged.
 */
export function forLog(text: string): string {
  const shown = onOneLine(text.slice(0, MOST_READ))
    .replaceAll(QUOTED, '"…"')
    .replaceAll(ADDRESS, '…@…')
    .replaceAll(TOKEN, '…');
  return shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}…` : shown;
}
