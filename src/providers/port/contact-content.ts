import { isDeepStrictEqual } from 'node:util';
import { storable } from '../../platform/base/text/storable.ts';
import type { ContactContent } from './connector.ts';

/*
 * The fields of a contact, under the names of the API. Pure functions. Pictures are not included:
 * they stay at the provider.
 */

/** The text fields of a contact. `null` if not set. */
export const CONTACT_TEXTS = [
  'given_name',
  'middle_name',
  'surname',
  'suffix',
  'nickname',
  'birthday',
  'company_name',
  'job_title',
  'manager_name',
  'office_location',
  'notes',
] as const;

/**
 * The list fields of a contact, each with the name of the text that its entries have besides
 * `type`. Physical addresses have several texts and are not listed here.
 */
export const CONTACT_LISTS = {
  emails: 'email',
  phone_numbers: 'number',
  im_addresses: 'im_address',
  web_pages: 'url',
} as const;

/** Parts of a structured address. */
export const ADDRESS_PARTS = ['street_address', 'city', 'state', 'postal_code', 'country'] as const;

export type PhysicalAddress =
  | ({ type: string | null; format: 'structured' } & Record<(typeof ADDRESS_PARTS)[number], string>)
  | { type: string | null; format: 'unstructured'; address: string };

/** A complete contact. All text can be stored in PostgreSQL and is within the limits below. */
export type ContactFields = Record<(typeof CONTACT_TEXTS)[number], string | null> & {
  emails: { type: string | null; email: string }[];
  phone_numbers: { type: string | null; number: string }[];
  im_addresses: { type: string | null; im_address: string }[];
  web_pages: { type: string | null; url: string }[];
  physical_addresses: PhysicalAddress[];
  /** Names of its groups, without duplicates, sorted. Levels are separated by `/`. */
  groups: string[];
};

/** Every field of a contact. */
export const CONTACT_FIELDS = [
  ...CONTACT_TEXTS,
  ...(Object.keys(CONTACT_LISTS) as (keyof typeof CONTACT_LISTS)[]),
  'physical_addresses',
  'groups',
] as const satisfies readonly (keyof ContactFields)[];

/**
 * Limits in UTF-16 units or entries. Contacts from providers are cut to them; the limits of the API
 * are lower.
 */
const MOST_TEXT = 2_048;
const MOST_NOTES = 65_536;
const MOST_ENTRIES = 200;
const MOST_GROUPS = 100;
/** Longest name of a group, in UTF-16 units. */
export const MOST_GROUP_NAME = 255;

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Whether a text is an existing calendar day in the form YYYY-MM-DD. */
export function isDay(value: string): boolean {
  const date = new Date(`${value}T00:00:00Z`);
  return DATE.test(value) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}

const clean = (value: unknown, most = MOST_TEXT): string =>
  typeof value === 'string' ? storable(value, most).trim() : '';

type Entry = Readonly<Record<string, unknown>>;

function entries(value: unknown): Entry[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((one): one is Entry => typeof one === 'object' && one !== null)
    .slice(0, MOST_ENTRIES);
}

function address(entry: Entry): PhysicalAddress[] {
  const type = clean(entry['type']) || null;
  const whole = clean(entry['address']);
  if (entry['format'] === 'unstructured')
    return whole ? [{ type, format: 'unstructured', address: whole }] : [];
  const parts = ADDRESS_PARTS.map((name) => [name, clean(entry[name])] as const);
  if (parts.every(([, part]) => part === ''))
    return whole ? [{ type, format: 'unstructured', address: whole }] : [];
  return [{ type, format: 'structured', ...Object.fromEntries(parts) } as PhysicalAddress];
}

/** The name of a group without empty levels. Empty if `value` is not a usable name. */
export function groupName(value: unknown): string {
  const levels = clean(value, MOST_GROUP_NAME)
    .split('/')
    .map((level) => level.trim());
  return levels.filter(Boolean).join('/');
}

/**
 * Turns content from a provider or a caller into a complete, clean and bounded contact. Unknown
 * fields are dropped.
 */
export function contactFields(content: ContactContent): ContactFields {
  const texts = CONTACT_TEXTS.map((name) => {
    const text = clean(content[name], name === 'notes' ? MOST_NOTES : MOST_TEXT);
    return [name, name === 'birthday' && !isDay(text) ? null : text || null] as const;
  });
  const lists = Object.entries(CONTACT_LISTS).map(([name, key]) => {
    const list = entries(content[name]).map((entry) => ({
      type: clean(entry['type']) || null,
      [key]: clean(entry[key]),
    }));
    return [name, list.filter((entry) => entry[key] !== '')] as const;
  });
  const groups: unknown[] = Array.isArray(content['groups']) ? content['groups'] : [];
  const names = new Set(groups.map(groupName).filter(Boolean));
  return {
    ...Object.fromEntries(texts),
    ...Object.fromEntries(lists),
    physical_addresses: entries(content['physical_addresses']).flatMap(address),
    groups: [...names].slice(0, MOST_GROUPS).toSorted(),
  } as ContactFields;
}

const sorted = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((entry) => JSON.stringify(entry)).toSorted() : value;

/** Whether two values of a field are equal. The order of list entries does not matter. */
export function sameField(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(sorted(one), sorted(other));
}

/** The result of a three-way merge of a contact. */
export interface MergedContact {
  /** The fields to write to the provider, with their new values. */
  write: Partial<ContactFields>;
  /** Text fields that were changed to different values on both sides. */
  conflicts: string[];
}

/**
 * Three-way merge of a contact. Fields that are the same in `base` and `ours` keep the value they
 * have in `theirs`. Entries of lists are added and removed one by one.
 * @param base the version that `ours` was made from. `null` if unknown: then all of `ours` is
 *   written
 */
export function mergeContacts(
  base: ContactFields | null,
  ours: ContactFields,
  theirs: ContactFields,
): MergedContact {
  const merged: MergedContact = { write: {}, conflicts: [] };
  for (const field of CONTACT_FIELDS) {
    const [before, wanted, present] = [base?.[field], ours[field], theirs[field]];
    if (base && sameField(before, wanted)) continue;
    if (sameField(wanted, present)) continue;
    const isList = Array.isArray(wanted);
    if (base && !isList && !sameField(before, present)) merged.conflicts.push(field);
    const value = base && isList ? mergeLists(before, wanted, present) : wanted;
    if (!sameField(value, present)) Object.assign(merged.write, { [field]: value });
  }
  return merged;
}

function mergeLists(base: unknown, ours: unknown, theirs: unknown): unknown[] {
  const [before, wanted, present] = [base, ours, theirs].map((list) => list as unknown[]) as [
    unknown[],
    unknown[],
    unknown[],
  ];
  const has = (list: readonly unknown[], entry: unknown) =>
    list.some((one) => isDeepStrictEqual(one, entry));
  const kept = present.filter((entry) => !has(before, entry) || has(wanted, entry));
  return [...kept, ...wanted.filter((entry) => !has(before, entry) && !has(kept, entry))];
}
