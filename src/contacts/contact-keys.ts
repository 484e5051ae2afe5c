import { ADDRESS_PARTS, type ContactFields } from '../providers/port/contact-content.ts';

/** Filters of `GET /contacts` that match a contact's content. `group` matches ids of groups. */
export const KEY_FIELDS = [
  'email',
  'phone_number',
  'street_address',
  'postal_code',
  'state',
  'country',
  'group',
] as const;
export type KeyField = (typeof KEY_FIELDS)[number];

/** Longer values are compared by their first characters, so that they fit an index. */
const MOST = 255;

/**
 * Normalises a value for comparison: case and outer white space are ignored. Telephone numbers keep
 * only their digits, so that spacing does not matter.
 */
export function filterKey(field: KeyField, value: string): string {
  const plain = value.normalize('NFC').trim().toLowerCase().slice(0, MOST).toWellFormed();
  return field === 'phone_number' ? plain.replaceAll(/\D/g, '') || plain : plain;
}

/** One value of a contact that a filter can match. */
export interface Key {
  field: KeyField;
  value: string;
}

/** All filter keys of a contact except its groups, without duplicates. */
export function keysOf(fields: ContactFields): Key[] {
  const found: [KeyField, string][] = [
    ...fields.emails.map(({ email }) => ['email', email] as [KeyField, string]),
    ...fields.phone_numbers.map(({ number }) => ['phone_number', number] as [KeyField, string]),
    ...fields.physical_addresses.flatMap((address) =>
      address.format === 'structured'
        ? ADDRESS_PARTS.filter((part) => part !== 'city').map(
            (part) => [part, address[part]] as [KeyField, string],
          )
        : [],
    ),
  ];
  const keys = new Map<string, Key>();
  for (const [field, given] of found) {
    const value = filterKey(field, given);
    if (value) keys.set(`${field} ${value}`, { field, value });
  }
  return [...keys.values()];
}
