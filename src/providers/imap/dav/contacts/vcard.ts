import { isDeepStrictEqual } from 'node:util';
import ICAL from 'ical.js';
import { dropKept, fileText } from '../../../../formats/ical/kept-lines.ts';
import {
  libraryLine,
  readObjectTree,
  TreeLimitError,
  unreadableLine,
} from '../../../../formats/ical/object-tree.ts';
import { joinSoftBreaks, libraryForm } from './vcard-lines.ts';
import { firstValue, part, scalar, text, valuesOf } from './vcard-values.ts';
import { groupName } from '../../../port/contact-content.ts';
import type { ContactContent } from '../../../port/connector.ts';

/*
 * Converts vCard 3 (RFC 2426) and 4 (RFC 6350) to contacts of the API and back, and reads version
 * 2.1. Properties without a field in the API stay in the card.
 */

/** The card is malformed; it is skipped. */
export class UnreadableCardError extends Error {
  override name = 'UnreadableCardError';
}

/**
 * Parses a card. Lines that cannot be read are left out: `warningsOf` reports them, and `cardText`
 * writes them back as they were.
 * @throws {UnreadableCardError} if the text is no card, or has too many components
 */
export function parseCard(text: string): ICAL.Component {
  const card = readTree(text);
  if (!card) throw new UnreadableCardError('it has no BEGIN:VCARD');
  return card;
}

function readTree(text: string): ICAL.Component | null {
  const isVersion4 = /^VERSION\s*:\s*4/im.test(text);
  const design = isVersion4 ? ICAL.design.vcard : ICAL.design.vcard3;
  try {
    return readObjectTree(joinSoftBreaks(text), 'vcard', (line) => {
      const property = libraryLine(libraryForm(line.text), design);
      if (property) return { properties: [property], unreadable: [] };
      return unreadableLine(line, 'its parameters or its value are malformed');
    });
  } catch (error) {
    if (error instanceof TreeLimitError)
      throw new UnreadableCardError(error.message, { cause: error });
    throw error;
  }
}

/** An empty card. Version 3, because every server and program reads it. */
export function newCard(uid: string): ICAL.Component {
  return parseCard(
    `BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:-//Carillon//Carillon//EN\r\nUID:${uid}\r\nEND:VCARD\r\n`,
  );
}

/** Divides the names of NICKNAME in the API. */
const NAME_SEPARATOR = ', ';

/** All names of NICKNAME, which is a list (RFC 2426 section 3.1.3, RFC 6350 section 6.2.3). */
function nicknamesOf(card: ICAL.Component): string[] {
  return card.getAllProperties('nickname').flatMap(valuesOf).map(scalar).filter(Boolean);
}

/** Values of TYPE that are no kind of number or address, such as `pref`. */
const NO_TYPES = ['pref', 'internet', 'voice', 'x400'];

function typeOf(property: ICAL.Property): string | null {
  const given: unknown = property.getParameter('type');
  const types = (Array.isArray(given) ? given : [given]).filter((one) => typeof one === 'string');
  return (
    types.map((one: string) => one.toLowerCase()).find((one) => one && !NO_TYPES.includes(one)) ??
    null
  );
}

const SCALAR_NAMES = {
  job_title: 'title',
  notes: 'note',
  manager_name: 'x-manager',
  office_location: 'x-office',
} as const;
const NAME_PARTS = { surname: 0, given_name: 1, middle_name: 2, suffix: 4 } as const;

/**
 * A list field of the API: its vCard property, and the conversion of entries in both directions.
 */
interface ListField {
  property: string;
  read(property: ICAL.Property): Record<string, unknown> | null;
  /** The value of an entry, or `null` if the entry is empty. */
  value(entry: Record<string, unknown>): string | string[] | null;
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Only values of the type text can contain line breaks, because only there are they escaped. In any
 * other value a line break would start another property.
 */
const oneLine = (value: string): string => value.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/** A list whose entries have one text besides their type. */
function simple(property: string, key: string, prefix = ''): ListField {
  return {
    property,
    read: (one) => {
      const value = scalar(valuesOf(one)[0]);
      const bare =
        prefix && value.toLowerCase().startsWith(prefix) ? value.slice(prefix.length) : value;
      return bare ? { type: typeOf(one), [key]: bare } : null;
    },
    value: (entry) => oneLine(asText(entry[key])) || null,
  };
}

const ADDRESS_PARTS = ['street_address', 'city', 'state', 'postal_code', 'country'] as const;
/** Position of the first of these parts among the seven of ADR. */
const FIRST_PART = 2;

const addresses: ListField = {
  property: 'adr',
  read(one) {
    const [value] = valuesOf(one);
    const parts = ADDRESS_PARTS.map(
      (name, index) => [name, part(value, FIRST_PART + index) ?? ''] as const,
    );
    if (parts.every(([, content]) => content === '')) return null;
    return { type: typeOf(one), format: 'structured', ...Object.fromEntries(parts) };
  },
  value(entry) {
    // An unstructured address goes into the street, where programs show it.
    const parts =
      entry['format'] === 'unstructured' || (entry['address'] && !entry['street_address'])
        ? [asText(entry['address']), '', '', '', '']
        : ADDRESS_PARTS.map((name) => asText(entry[name]));
    return parts.some((one) => one !== '') ? ['', '', ...parts] : null;
  },
};

const LISTS: Record<string, ListField> = {
  emails: simple('email', 'email', 'mailto:'),
  phone_numbers: simple('tel', 'number', 'tel:'),
  web_pages: simple('url', 'url'),
  im_addresses: simple('impp', 'im_address'),
  physical_addresses: addresses,
};

const DATE = /^\d{4}-\d{2}-\d{2}/;

/** A contact with the field names of the API. */
export function readCard(card: ICAL.Component): ContactContent {
  const name = firstValue(card, 'n');
  const names = Object.entries(NAME_PARTS).map(
    ([field, index]) => [field, part(name, index)] as const,
  );
  const full = text(card, 'fn');
  const organisation = firstValue(card, 'org');
  const company = part(organisation, 0);
  // A card without N still has its full name.
  const named = names.some(([, value]) => value !== null) || full === company;
  return {
    ...Object.fromEntries(names),
    ...(named ? {} : { given_name: full }),
    ...Object.fromEntries(
      Object.entries(SCALAR_NAMES).map(([field, property]) => [field, text(card, property)]),
    ),
    nickname: nicknamesOf(card).join(NAME_SEPARATOR) || null,
    birthday: birthdayOf(card),
    company_name: company,
    groups: groupsOf(card),
    ...Object.fromEntries(
      Object.entries(LISTS).map(([field, list]) => [
        field,
        card
          .getAllProperties(list.property)
          .map((property) => list.read(property))
          .filter((entry) => entry !== null),
      ]),
    ),
  };
}

/** A day with its year. Apple writes a year that stands for an unknown one, and names it. */
function birthdayOf(card: ICAL.Component): string | null {
  const omitted = card.getFirstProperty('bday')?.getFirstParameter('x-apple-omit-year');
  const [day = null] = DATE.exec(text(card, 'bday') ?? '') ?? [];
  return day !== null && omitted !== undefined && day.startsWith(omitted) ? null : day;
}

/** Names of the groups of a contact (RFC 2426 section 3.7.1, RFC 6350 section 6.7.1). */
function groupsOf(card: ICAL.Component): string[] {
  const values = card.getAllProperties('categories').flatMap(valuesOf);
  return [...new Set(values.map(groupName).filter(Boolean))].toSorted();
}

/**
 * Whether a card describes a group and its members rather than a contact (RFC 6350 section 6.1.4,
 * and Apple's property in vCard 3).
 */
export function isGroupCard(card: ICAL.Component): boolean {
  return ['kind', 'x-addressbookserver-kind'].some(
    (name) => text(card, name)?.toLowerCase() === 'group',
  );
}

/** The card's UID, or `null` if it has none. */
export function uidOf(card: ICAL.Component): string | null {
  return text(card, 'uid')?.replace(/^urn:uuid:/i, '') ?? null;
}

/** Uses one kind of line end. A bare CR is not escaped, and some servers treat it as a line end. */
function withPlainLines(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\r\n?/g, '\n');
  if (Array.isArray(value)) return value.map(withPlainLines);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withPlainLines(one)]),
  );
}

/**
 * Writes the given fields into a card. Absent fields stay unchanged; `null` and empty texts remove
 * a field.
 */
export function writeCard(card: ICAL.Component, given: ContactContent): void {
  const contact = withPlainLines(given) as ContactContent;
  const before = readCard(card);
  const changed = (field: string) =>
    contact[field] !== undefined &&
    !isDeepStrictEqual(contact[field] || null, before[field] || null);
  if (Object.keys(NAME_PARTS).some(changed)) writeName(card, contact, before);
  for (const [field, property] of Object.entries(SCALAR_NAMES)) {
    if (changed(field))
      setText(
        card,
        property,
        property.startsWith('x-') ? oneLine(asText(contact[field])) : contact[field],
      );
  }
  if (changed('nickname')) writeNicknames(card, asText(contact['nickname']));
  if (changed('birthday')) setText(card, 'bday', contact['birthday']);
  if (changed('company_name')) writeCompany(card, asText(contact['company_name']));
  for (const [field, list] of Object.entries(LISTS)) {
    const entries = contact[field];
    if (Array.isArray(entries)) writeList(card, list, entries as Record<string, unknown>[]);
  }
  if (changed('groups')) writeGroups(card, contact['groups']);
  // Every card must have these (RFC 2426 section 3.1).
  if (!card.hasProperty('fn')) setText(card, 'fn', displayName(readCard(card)));
  if (!card.hasProperty('n')) setStructured(card, 'n', ['', '', '', '', '']);
}

export function cardText(card: ICAL.Component): string {
  const lines = fileText(card)
    .slice(0, -2)
    .split(/\r\n(?![ \t])/);
  // The library escapes the comma of `data:` URLs, and other programs cannot read that.
  const plain = lines.map((line) => {
    const unfolded = line.replaceAll(/\r\n[ \t]/g, '');
    if (!DATA_ADDRESS.test(unfolded)) return line;
    return ICAL.helpers.foldline(unfolded.replace('\\,', ','));
  });
  return `${plain.join('\r\n')}\r\n`;
}

const DATA_ADDRESS = /^[\w.-]+(?:;[^:\r\n]*)?:data:[^,]*\\,/i;

/**
 * Sets the revision time of a card. A card of version 2.1 becomes one of version 3: its lines are
 * written so.
 */
export function stampCard(card: ICAL.Component, now: Date): void {
  if (text(card, 'version')?.startsWith('2')) card.getFirstProperty('version')?.setValue('3.0');
  setText(card, 'rev', now.toISOString().replace(/\.\d+/, ''));
}

function setText(card: ICAL.Component, name: string, value: unknown): void {
  dropKept(card, [name]);
  card.removeAllProperties(name);
  if (typeof value === 'string' && value !== '') card.addPropertyWithValue(name, value);
}

function setStructured(card: ICAL.Component, name: string, value: string[]): void {
  const property = card.getFirstProperty(name) ?? card.addProperty(new ICAL.Property(name, card));
  property.setValue(value);
}

function writeName(card: ICAL.Component, contact: ContactContent, before: ContactContent): void {
  const value = firstValue(card, 'n');
  const parts = [0, 1, 2, 3, 4].map((index) => part(value, index) ?? '');
  for (const [field, index] of Object.entries(NAME_PARTS))
    parts[index] = asText(contact[field] === undefined ? before[field] : contact[field]);
  setStructured(card, 'n', parts);
  setText(card, 'fn', displayName({ ...before, ...contact }));
}

function displayName(contact: ContactContent): string {
  const name = ['given_name', 'middle_name', 'surname', 'suffix'].map((field) =>
    asText(contact[field]).trim(),
  );
  const emails = contact['emails'];
  const email = Array.isArray(emails)
    ? asText((emails[0] as Record<string, unknown> | undefined)?.['email'])
    : '';
  return name.filter(Boolean).join(' ') || asText(contact['company_name']) || email || 'Unnamed';
}

/** A group that is already there keeps its spelling. */
function writeGroups(card: ICAL.Component, groups: unknown): void {
  const wanted = Array.isArray(groups) ? groups.filter((one) => typeof one === 'string') : [];
  const present = card.getAllProperties('categories').flatMap(valuesOf).map(String);
  const kept = present.filter((one) => wanted.includes(groupName(one)));
  const added = wanted.filter((one) => !kept.some((name) => groupName(name) === one));
  card.removeAllProperties('categories');
  if (kept.length + added.length === 0) return;
  const property = new ICAL.Property('categories', card);
  property.setValues([...kept, ...added]);
  card.addProperty(property);
}

/** A list of names stays a list. A comma in a single name is part of the name. */
function writeNicknames(card: ICAL.Component, names: string): void {
  const isList = nicknamesOf(card).length > 1;
  setText(card, 'nickname', names);
  if (isList) card.getFirstProperty('nickname')?.setValues(names.split(NAME_SEPARATOR));
}

/** Departments after the company name are kept. */
function writeCompany(card: ICAL.Component, company: string): void {
  const value = firstValue(card, 'org');
  const departments = Array.isArray(value) ? (value as string[]).slice(1) : [];
  if (company === '' && departments.length === 0) card.removeAllProperties('org');
  else setStructured(card, 'org', [company, ...departments]);
}

/** An existing entry keeps its property and all of its parameters. */
function writeList(
  card: ICAL.Component,
  list: ListField,
  entries: readonly Record<string, unknown>[],
): void {
  const present = card.getAllProperties(list.property);
  const keyOf = (property: ICAL.Property) => {
    const entry = list.read(property);
    return entry && JSON.stringify(list.value(entry));
  };
  const left = new Map(present.map((property) => [property, keyOf(property)]));
  for (const entry of entries) {
    const value = list.value(entry);
    if (value === null) continue;
    const type = asText(entry['type']).trim().toLowerCase();
    const [kept] = [...left].find(([, key]) => key === JSON.stringify(value)) ?? [];
    const property = kept ?? card.addProperty(new ICAL.Property(list.property, card));
    if (!kept) property.setValue(value);
    else left.delete(kept);
    if ((typeOf(property) ?? '') !== type) setType(property, type);
  }
  // Properties that cannot be read as entries are not removed.
  for (const [property, key] of left) if (key !== null) removeWithLabel(card, property);
}

function setType(property: ICAL.Property, type: string): void {
  const safe = type.replaceAll(/[^a-z0-9_-]/g, '');
  if (safe) property.setParameter('type', safe);
  else property.removeParameter('type');
}

/** Removes a property together with its label, which is a property of the same group. */
function removeWithLabel(card: ICAL.Component, property: ICAL.Property): void {
  const group = property.getFirstParameter('group');
  card.removeProperty(property);
  if (!group) return;
  const others = card.getAllProperties().filter((one) => one.getFirstParameter('group') === group);
  if (others.every(({ name }) => name === 'x-ablabel' || name === 'x-abadr'))
    for (const one of others) card.removeProperty(one);
}
