import { readAddresses } from './reading/address-list.ts';
import { decodeWords } from './reading/encoded-words.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** Longest field in UTF-16 units. A megabyte of groups or quotes would take seconds to parse. */
const LONGEST_FIELD = 2_000;
const QUOTED = /"(?:[^"\\]|\\.)*"/g;
/** A comment in which no reader finds an address. */
const COMMENT = /\([^<>@()"\\]*\)/g;
/** Encoded words; what they say is compared when it is decoded. */
const ENCODED = /=\?[^?\s]*\?[QqBb]\?[^?\s]*\?=/g;
const PLAIN_ADDRESS = /^(?!.*=\?)[^\s@<>()[\]",;:\\]+@[^\s@<>()[\]",;:\\]+$/;
/** What looks like an address within a name. */
const IN_NAME = /[^\s@<>()[\]"',;:]+@[^\s@<>()[\]"',;:]+/g;
/**
 * Characters that separate addresses, or stand in one, for some readers. A comma in a name without
 * quotes separates words in which nobody finds an address.
 */
const SEPARATOR = /[<>@;:()"\\\p{Cc}]/u;

/**
 * Lower case of ASCII letters only: some other letters have the same lower case as an ASCII letter.
 */
export const foldedAddress = (address: string): string =>
  address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * The address in a header field, in lower case, if every reader finds that address and no other
 * (RFC 5322 section 3.4). There is one mailbox, no group, and no other address in its name or
 * comments. A name may repeat the address. `null` for everything else. Never throws.
 * @param value value of the field, unfolded, with its encoded words
 */
export function onlyAddressOf(value: string): string | null {
  if (value.length > LONGEST_FIELD) return null;
  const found = readAddresses(value);
  const address = foldedAddress(found[0]?.address ?? '');
  if (found.length !== 1 || !PLAIN_ADDRESS.test(address)) return null;
  const shown = value
    .replaceAll('\t', ' ')
    .replace(QUOTED, '""')
    .replace(COMMENT, ' ')
    .replace(/[,\s]+$/, '')
    .trim();
  const bracketed = /^([^<>]*)<([^<>\s]+)>$/.exec(shown);
  const [name = '', written = ''] = bracketed ? bracketed.slice(1) : ['', shown];
  if (foldedAddress(written) !== address) return null;
  const named = bracketed ? decodeWords(value.slice(0, value.lastIndexOf('<'))) : '';
  const isSame = (one: string) => foldedAddress(one) === address;
  if (!(named.match(IN_NAME) ?? []).every(isSame)) return null;
  const rest = name.replaceAll('""', '').replace(ENCODED, '').replace(IN_NAME, '');
  return SEPARATOR.test(rest) ? null : address;
}
