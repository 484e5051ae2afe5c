import { onlyAddressOf } from './only-address.ts';
import { type HeaderField, valueOf, valuesOf } from './reading/header-fields.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** Who wrote a message, as far as its header says. */
export interface Authorship {
  /** Address in lower case; `null` if the author is not known for certain. */
  author: string | null;
  /** Whether a program wrote the message without a person, as an automatic reply does. */
  isAutomatic: boolean;
}

/** A longer header may have been cut off in front of a second author. Bytes. */
const LONGEST_HEADER = 256 * 1024;
/** Also behind a lone CR, which some readers take for the end of a line. */
const FROM = /^from[ \t]*:/gim;
const DMARC_FAIL = /\bdmarc\s*=\s*fail\b/i;

/**
 * Says who wrote a message. All code that decides by an author uses it (ADR 0118).
 *
 * The author is the one address in From. The author is unknown if
 *
 * - From has several addresses, a group, or something that another reader may take for another
 *   address (RFC 5322 section 3.6.2, RFC 6854), even if all addresses are the same;
 * - there is no From field, or there are several (RFC 7489 section 6.6.1);
 * - somebody else has sent the message again (Resent-From, Resent-Sender; RFC 5322 section 3.6.6);
 * - a receiving server has recorded that DMARC failed (RFC 8601). A sender who adds such a field
 *   only invalidates his own message;
 * - the header is longer than 256 KB.
 *
 * Sender and Reply-To name no author: calendar services, mailing lists and assistants put
 * themselves into Sender, and a forger leaves it out.
 *
 * A program wrote the message if Auto-Submitted (RFC 3834) or an older field says so, or if its
 * Return-Path is empty (RFC 5321 section 4.5.5). That does not make the author unknown: calendars
 * answer automatically. Never throws.
 * @param header bytes of the header that contains the fields
 */
export function authorshipOf(fields: readonly HeaderField[], header: Buffer): Authorship {
  return { author: certainAuthor(fields, header), isAutomatic: isAutomatic(fields) };
}

function certainAuthor(fields: readonly HeaderField[], header: Buffer): string | null {
  if (header.length >= LONGEST_HEADER) return null;
  // Counted in the bytes: a reader may find a field where another one finds none.
  if (header.toString('latin1').match(FROM)?.length !== 1) return null;
  const author = onlyAddressOf(valueOf(fields, 'from'));
  const resent = [...valuesOf(fields, 'resent-from'), ...valuesOf(fields, 'resent-sender')];
  if (!resent.every((value) => onlyAddressOf(value) === author)) return null;
  const results = valuesOf(fields, 'authentication-results');
  return results.some((result) => DMARC_FAIL.test(result)) ? null : author;
}

/** Fields that only programs write which answer by themselves. */
const AUTOMATIC_REPLIES = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-mail-autoreply'];

function isAutomatic(fields: readonly HeaderField[]): boolean {
  const has = (name: string, pattern: RegExp) =>
    valuesOf(fields, name).some((value) => pattern.test(value.replace(/\([^()]*\)/g, '').trim()));
  return (
    has('auto-submitted', /^(?!no\s*(?:;|$))./i) ||
    has('return-path', /^<\s*>$/) ||
    AUTOMATIC_REPLIES.some((name) => has(name, /^(?!no$)/i)) ||
    has('precedence', /^auto[_-]?reply$/i) ||
    // Posts of a mailing list have it too, although people wrote them.
    (has('precedence', /^(?:bulk|junk)$/i) && !isListPost(fields)) ||
    // Other values only say which automatic answers the message must not get.
    has('x-auto-response-suppress', /^all$/i)
  );
}

/** Whether people can write to the list that sent the message (RFC 2369 section 3.4). */
const isListPost = (fields: readonly HeaderField[]): boolean =>
  valuesOf(fields, 'list-post').some((value) => value.startsWith('<'));
