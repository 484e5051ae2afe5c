import { isDeepStrictEqual } from 'node:util';
import { storable } from '../../platform/base/text/storable.ts';
import type { ContactContent } from './connector.ts';

/*
 * What a contact is made of (api facts 8), by the wire's own names. Pure. Pictures apart: they stay at the provider.
 */

/** The texts of a contact; null: none. */
export const CONTACT_TEXTS = [
  'given_name', 'middle_name', 'surname', 'suffix', 'nickname', 'birthday', 'company_name', 'job_title', 'manager_name',
  'office_location', 'notes',
] as const; // prettier-ignore

/** The lists of a contact, and the one text their entries have besides `type`. Addresses have several. */
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

/** A whole contact. All text is storable and within bounds. */
export type ContactFields = Record<(typeof CONTACT_TEXTS)[number], string | null> & {
  emails: { type: string | null; email: string }[];
  phone_numbers: { type: string | null; number: string }[];
  im_addresses: { type: string | null; im_address: string }[];
  web_pages: { type: string | null; url: string }[];
  physical_addresses: PhysicalAddress[];
  /** Names of its groups, each once, sorted; levels are separated by `/`. */
  groups: string[];
};

/** Every field of a contact. */
export const CONTACT_FIELDS = [
  ...CONTACT_TEXTS, ...(Object.keys(CONTACT_LISTS) as (keyof typeof CONTACT_LISTS)[]), 'physical_addresses', 'groups',
] as const satisfies readonly (keyof ContactFields)[]; // prettier-ignore

/** The API takes less; what providers have is cut here. In UTF-16 units, and entries. */
const MOST_TEXT = 2_048;
const MOST_NOTES = 65_536;
const MOST_ENTRIES = 200;
const MOST_GROUPS = 100;
/** Of the name of a group. */
export const MOST_GROUP_NAME = 255;

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Whether a text is a day of the calendar, YYYY-MM-DD. */
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

/** The name of a group without empty levels; empty: it is none. */
export function groupName(value: unknown): string {
  const levels = clean(value, MOST_GROUP_NAME).split('/').map((level) => level.trim()); // prettier-ignore
  return levels.filter(Boolean).join('/');
}

/** A contact of whatever a provider or a caller has given: complete, clean and bounded. What is no field is left out. */
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

/** Whether two values of a field are the same; the order of a list is none. */
export function sameField(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(sorted(one), sorted(other));
}

/** What a write of a contact comes to when somebody else may have changed it too. */
export interface MergedContact {
  /** The fields that have to be written, as they are to be. */
  write: Partial<ContactFields>;
  /** Texts that were changed on both sides, and to something else. */
  conflicts: string[];
}

/**
 * Merges in three ways: what is the same in `base` and `ours` stays as it is in `theirs`; entries of lists are added and
 * removed one by one.
 * @param base what `ours` was made from; null: not known, then ours is written as a whole
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
