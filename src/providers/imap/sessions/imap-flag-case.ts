/** Flags and attributes of IMAP (RFC 9051 2.3.2, 7.3.1; RFC 6154), as the library compares them. */
const USUAL = new Map(
  [
    'Seen', 'Answered', 'Flagged', 'Deleted', 'Draft', 'Recent', 'Noinferiors', 'Noselect', 'NonExistent', 'HasChildren',
    'HasNoChildren', 'Marked', 'Unmarked', 'Subscribed', 'Remote', 'All', 'Archive', 'Drafts', 'Junk', 'Sent', 'Trash',
    'Important', 'Inbox', 'AllMail', 'Spam', 'Starred',
  ].map((name) => [name.toLowerCase(), name]),
); // oxfmt-ignore

const HAS_FLAGS = /^\* (?:\d+ FETCH|FLAGS|X?LIST|LSUB|OK \[PERMANENTFLAGS)\b/i;
const START_BYTES = 32;
/** A quoted text, closed or not, which is passed over, or a flag. */
const QUOTED_OR_FLAG = /"(?:[^"\\]|\\.)*"?|\\[a-z]+/gi;
const BACKSLASH = 0x5c;

/**
 * Writes the flags and attributes of a response in their usual case, because the library compares
 * them exactly and a server may answer `\SEEN` (RFC 9051 section 9).
 * @param payload the response without its literals
 * @returns `payload` itself if nothing is to be changed
 */
export function withUsualFlags(payload: Buffer): Buffer {
  if (!payload.includes(BACKSLASH)) return payload;
  if (!HAS_FLAGS.test(payload.toString('latin1', 0, START_BYTES))) return payload;
  const text = payload.toString('latin1');
  const usual = text.replace(QUOTED_OR_FLAG, (found) => {
    const name = found.startsWith('\\') ? USUAL.get(found.slice(1).toLowerCase()) : undefined;
    return name === undefined ? found : `\\${name}`;
  });
  return usual === text ? payload : Buffer.from(usual, 'latin1');
}
