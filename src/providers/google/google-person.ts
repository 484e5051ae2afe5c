import { z } from 'zod';
import {
  type ContactFields,
  contactFields,
  type PhysicalAddress,
} from '../port/contact-content.ts';
import type { ContactContent } from '../port/connector.ts';

/* Contacts of Google's People API, and the fields of the API that they stand for. */

const text = z.string().optional();
const typed = z.looseObject({ value: text, type: text });
const list = <T extends z.ZodType>(shape: T) => z.array(shape).default([]);

export const googlePerson = z.object({
  resourceName: z.string(),
  etag: text,
  metadata: z
    .object({
      deleted: z.boolean().default(false),
      sources: list(z.looseObject({ type: text, id: text, etag: text })),
    })
    .default({ deleted: false, sources: [] }),
  names: list(
    z.looseObject({ givenName: text, middleName: text, familyName: text, honorificSuffix: text }),
  ),
  nicknames: list(z.object({ value: text })),
  birthdays: list(
    z.object({
      date: z
        .object({
          year: z.number().optional(),
          month: z.number().optional(),
          day: z.number().optional(),
        })
        .optional(),
    }),
  ),
  organizations: list(z.looseObject({ name: text, title: text, location: text })),
  relations: list(z.looseObject({ person: text, type: text })),
  biographies: list(z.object({ value: text })),
  emailAddresses: list(typed),
  phoneNumbers: list(typed),
  imClients: list(z.looseObject({ username: text, type: text })),
  urls: list(typed),
  addresses: list(
    z.looseObject({
      type: text,
      formattedValue: text,
      streetAddress: text,
      city: text,
      region: text,
      postalCode: text,
      country: text,
    }),
  ),
  memberships: list(
    z.object({
      contactGroupMembership: z.object({ contactGroupResourceName: text }).optional(),
    }),
  ),
  clientData: list(z.object({ key: text, value: text })),
  photos: list(z.object({ url: text, default: z.boolean().default(false) })),
});
export type GooglePerson = z.infer<typeof googlePerson>;

/** The fields that Carillon reads. */
export const PERSON_FIELDS =
  'metadata,names,nicknames,birthdays,organizations,relations,biographies,emailAddresses,phoneNumbers,imClients,urls,addresses,memberships,clientData,photos';

/** Key of the client data that holds the key of a contact that Carillon created. */
const KEY = 'carillon';
const MANAGER = 'manager';

/** The key with which Carillon created the contact; `null` if it did not. */
export function keyOf({ clientData }: GooglePerson): string | null {
  return clientData.find(({ key }) => key === KEY)?.value ?? null;
}

/** The address of the contact's own picture; `null` if it has none. */
export function pictureUrlOf({ photos }: GooglePerson): string | null {
  return photos.find((photo) => !photo.default)?.url ?? null;
}

/** Resource names of the groups of a contact. */
export function groupsOf({ memberships }: GooglePerson): string[] {
  return memberships.flatMap((one) => one.contactGroupMembership?.contactGroupResourceName ?? []);
}

const typedEntries = (
  entries: readonly { value?: string | undefined; type?: string | undefined }[],
  key: string,
) => entries.map(({ value, type }) => ({ type: type ?? null, [key]: value }));

function birthdayOf({ birthdays }: GooglePerson): string | null {
  const { year, month, day } = birthdays[0]?.date ?? {};
  if (!year || !month || !day) return null;
  const digits = (value: number, length: number) => String(value).padStart(length, '0');
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
}

function addressOf(entry: GooglePerson['addresses'][number]): ContactContent {
  const parts = {
    street_address: entry.streetAddress ?? '',
    city: entry.city ?? '',
    state: entry.region ?? '',
    postal_code: entry.postalCode ?? '',
    country: entry.country ?? '',
  };
  const type = entry.type ?? null;
  return Object.values(parts).some((part) => part !== '')
    ? { type, format: 'structured', ...parts }
    : { type, format: 'unstructured', address: entry.formattedValue ?? '' };
}

/** @param groupNames names of the groups by resource name; other groups are left out */
export function readPerson(
  person: GooglePerson,
  groupNames: ReadonlyMap<string, string>,
): ContactFields {
  const [name] = person.names;
  const [organization] = person.organizations;
  return contactFields({
    given_name: name?.givenName,
    middle_name: name?.middleName,
    surname: name?.familyName,
    suffix: name?.honorificSuffix,
    nickname: person.nicknames[0]?.value,
    birthday: birthdayOf(person),
    company_name: organization?.name,
    job_title: organization?.title,
    office_location: organization?.location,
    manager_name: person.relations.find(({ type }) => type === MANAGER)?.person,
    notes: person.biographies[0]?.value,
    emails: typedEntries(person.emailAddresses, 'email'),
    phone_numbers: typedEntries(person.phoneNumbers, 'number'),
    im_addresses: person.imClients.map(({ username, type }) => ({
      type: type ?? null,
      im_address: username,
    })),
    web_pages: typedEntries(person.urls, 'url'),
    physical_addresses: person.addresses.map(addressOf),
    groups: groupsOf(person).flatMap((group) => groupNames.get(group) ?? []),
  });
}

type Entry = Record<string, unknown>;

/** Properties that Google makes from others. */
const MADE: readonly string[] = ['metadata', 'formattedType', 'canonicalForm'];
/** Further ones of a name. They would contradict its changed parts. */
const MADE_OF_NAMES = { displayName: null, displayNameLastFirst: null, unstructuredName: null };

/** What an entry has that Google does not make itself. */
function ownOf(entry: Readonly<Entry> = {}): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !MADE.includes(name)));
}

/** An entry with values for some of its properties; none if it has no value at all. */
function one(values: Entry, before?: Readonly<Entry>): Entry[] {
  const all = Object.entries({ ...ownOf(before), ...values });
  const set = all.filter(([, value]) => value !== null && value !== undefined);
  return set.length === 0 ? [] : [Object.fromEntries(set)];
}

/** Entries that keep the other properties of the entry with the same value. */
function entriesOf(
  entries: readonly { type: string | null; value: string }[],
  key: string,
  before: readonly Readonly<Entry>[] = [],
): Entry[] {
  return entries.map(({ type, value }) => {
    const { type: _type, ...kept } = ownOf(before.find((there) => there[key] === value));
    return { ...kept, [key]: value, ...withType(type) };
  });
}

const withType = (type: string | null) => (type === null ? {} : { type });

function writeBirthday(birthday: string | null): unknown[] {
  const [year, month, day] = (birthday ?? '').split('-').map(Number);
  return year && month && day ? [{ date: { year, month, day } }] : [];
}

function writeAddress(address: PhysicalAddress): Record<string, unknown> {
  if (address.format === 'unstructured')
    return { ...withType(address.type), formattedValue: address.address };
  return {
    ...withType(address.type),
    streetAddress: address.street_address,
    city: address.city,
    region: address.state,
    postalCode: address.postal_code,
    country: address.country,
  };
}

/** Person fields that several fields of the API share: all of them are written together. */
const NAMES = ['given_name', 'middle_name', 'surname', 'suffix'] as const;
const ORGANIZATION = ['company_name', 'job_title', 'office_location'] as const;

/**
 * The person fields for a change.
 * @param changed the fields that change
 * @param contact the whole contact after the change
 * @param before the person as it is; `null` for a new one. Values that the API lacks stay
 */
export function writePerson(
  changed: Partial<ContactFields>,
  contact: ContactFields,
  before: GooglePerson | null,
): Record<string, unknown[]> {
  const has = (...names: readonly (keyof ContactFields)[]) =>
    names.some((name) => changed[name] !== undefined);
  const relations = before?.relations.filter(({ type }) => type !== MANAGER).map(ownOf) ?? [];
  const manager = contact.manager_name;
  return {
    ...(has(...NAMES)
      ? {
          names: one(
            {
              ...MADE_OF_NAMES,
              givenName: contact.given_name,
              middleName: contact.middle_name,
              familyName: contact.surname,
              honorificSuffix: contact.suffix,
            },
            before?.names[0],
          ),
        }
      : {}),
    ...(has('nickname') ? { nicknames: one({ value: contact.nickname }) } : {}),
    ...(has('birthday') ? { birthdays: writeBirthday(contact.birthday) } : {}),
    ...(has(...ORGANIZATION)
      ? { organizations: writeOrganizations(contact, before?.organizations ?? []) }
      : {}),
    ...(has('manager_name')
      ? { relations: manager ? [...relations, { person: manager, type: MANAGER }] : relations }
      : {}),
    ...(has('notes') ? { biographies: one({ value: contact.notes }) } : {}),
    ...writeLists(has, contact, before),
    ...(has('physical_addresses')
      ? { addresses: contact.physical_addresses.map(writeAddress) }
      : {}),
  };
}

function writeLists(
  has: (name: keyof ContactFields) => boolean,
  contact: ContactFields,
  before: GooglePerson | null,
): Record<string, unknown[]> {
  const emails = contact.emails.map(({ type, email: value }) => ({ type, value }));
  const numbers = contact.phone_numbers.map(({ type, number: value }) => ({ type, value }));
  const names = contact.im_addresses.map(({ type, im_address: value }) => ({ type, value }));
  const urls = contact.web_pages.map(({ type, url: value }) => ({ type, value }));
  return {
    ...(has('emails')
      ? { emailAddresses: entriesOf(emails, 'value', before?.emailAddresses) }
      : {}),
    ...(has('phone_numbers')
      ? { phoneNumbers: entriesOf(numbers, 'value', before?.phoneNumbers) }
      : {}),
    ...(has('im_addresses') ? { imClients: entriesOf(names, 'username', before?.imClients) } : {}),
    ...(has('web_pages') ? { urls: entriesOf(urls, 'value', before?.urls) } : {}),
  };
}

function writeOrganizations(
  { company_name: name, job_title: title, office_location: location }: ContactFields,
  [first, ...others]: GooglePerson['organizations'],
): unknown[] {
  return [...one({ name, title, location }, first), ...others.map(ownOf)];
}

/** The client data of a new contact. */
export function keyData(key: string): { clientData: { key: string; value: string }[] } {
  return { clientData: [{ key: KEY, value: key }] };
}
