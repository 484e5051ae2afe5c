import { ADDRESS_PARTS, type ContactFields } from '../providers/port/contact-content.ts';

/** Filters of the list that look at what a contact says; `group` at ids of groups. */
export const KEY_FIELDS = [
  'email', 'phone_number', 'street_address', 'postal_code', 'state', 'country', 'group',
] as const; // prettier-ignore
export type KeyField = (typeof KEY_FIELDS)[number];

/** Longer values are compared by their beginning, which fits an index. */
const MOST = 255;

/**
 * How a value is compared: without regard to case and outer space; telephone numbers by their digits alone, so that it
 * does not matter how they are spaced.
 */
export function filterKey(field: KeyField, value: string): string {
  const plain = value.normalize('NFC').trim().toLowerCase().slice(0, MOST).toWellFormed();
  return field === 'phone_number' ? plain.replaceAll(/\D/g, '') || plain : plain;
}

/** One value a contact is found by. */
export interface Key {
  field: KeyField;
  value: string;
}

/** What a contact is found by, groups apart; each once. */
export function keysOf(fields: ContactFields): Key[] {
  const found: [KeyField, string][] = [
    ...fields.emails.map(({ email }) => ['email', email] as [KeyField, string]),
    ...fields.phone_numbers.map(({ number }) => ['phone_number', number] as [KeyField, string]),
    ...fields.physical_addresses.flatMap((address) =>
      address.format === 'structured'
        ? ADDRESS_PARTS.filter((part) => part !== 'city').map((part) => [part, address[part]] as [KeyField, string])
        : [],
    ),
  ]; // prettier-ignore
  const keys = new Map<string, Key>();
  for (const [field, given] of found) {
    const value = filterKey(field, given);
    if (value) keys.set(`${field} ${value}`, { field, value });
  }
  return [...keys.values()];
}
