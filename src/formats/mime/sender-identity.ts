import { foldedAddress, onlyAddressOf } from './only-address.ts';

/**
 * True if an address is the account's own. The mailing service has confirmed only that address. It
 * may accept mail from all users of its application, so without this check one user could write in
 * the name of another.
 */
export function isFromItself(from: string, { email }: { email: string }): boolean {
  return foldedAddress(from) === foldedAddress(email);
}

/**
 * True if every reader finds the account's own address, and only that address, in a field of
 * authors (RFC 5322 3.6.2): one author, no group, and no second address that another parser might
 * use.
 * @param value value of the field, unfolded
 */
export function namesOnlyItself(value: string, { email }: { email: string }): boolean {
  return onlyAddressOf(value) === foldedAddress(email);
}
