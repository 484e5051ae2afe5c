import { addressParser } from 'postal-mime';

/** Longest field in UTF-16 units. A megabyte of groups or quotes would take seconds to parse. */
const LONGEST_FIELD = 2_000;

/**
 * Folds the case of ASCII letters only: some other letters have the same lower case as an ASCII
 * letter.
 */
const folded = (address: string): string =>
  address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * True if an address is the account's own. The mailing service has confirmed only that address. It
 * may accept mail from all users of its application, so without this check one user could write in
 * the name of another.
 */
export function isFromItself(from: string, { email }: { email: string }): boolean {
  return folded(from) === folded(email);
}

/**
 * True if every reader finds the account's own address, and only that address, in a field of
 * authors (RFC 5322 3.6.2): one author, no group, and no second address that another parser might
 * use.
 * @param value value of the field, unfolded
 */
export function namesOnlyItself(value: string, account: { email: string }): boolean {
  if (value.length > LONGEST_FIELD) return false;
  const authors = addressParser(value, { flatten: true });
  const [author] = authors;
  if (authors.length !== 1 || author?.address === undefined) return false;
  const shown = value.replace(/"(?:[^"\\]|\\.)*"/g, '""').trim();
  const bracketed = /^([^<>]*)<([^<>\s]+)>$/.exec(shown);
  const [name, address] = bracketed ? [bracketed[1] ?? '', bracketed[2] ?? ''] : ['', shown];
  const isAlone = !/[<>;:,()@]/.test(name);
  return isAlone && isFromItself(address, account) && isFromItself(author.address, account);
}
