import { addressParser } from 'postal-mime';

/** UTF-16 units of a field that names one author; a megabyte of groups or quotes would take seconds to be read. */
const LONGEST_FIELD = 2_000;

/** Upper and lower case of ASCII only: other letters have look-alikes that become the same. */
const folded = (address: string): string =>
  address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * Whether an address is the account's own. The mailing service has confirmed that address and no other: it may well take
 * mail from all users of its application, and one would write in the name of another.
 */
export function isFromItself(from: string, { email }: { email: string }): boolean {
  return folded(from) === folded(email);
}

/**
 * Whether every reader finds the account's own address in a field of authors (RFC 5322, 3.6.2), and nobody else: one author, no
 * group, and no second address beside the first that another parser might take.
 * @param value of the field, unfolded
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
