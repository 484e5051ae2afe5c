import { z } from 'zod';
import {
  CONTACT_FIELDS,
  type ContactFields,
  contactFields,
  type PhysicalAddress,
  sameField,
} from '../../port/contact-content.ts';
import type { ContactContent } from '../../port/connector.ts';
import { extended, extraOf } from '../graph-extension.ts';

/* Contacts of Microsoft Graph, and the fields of the API that they stand for. */

const text = z.string().nullish();
const texts = z.array(z.string().nullable()).nullish();
const address = z
  .object({ street: text, city: text, state: text, postalCode: text, countryOrRegion: text })
  .nullish();

/** The properties of a contact that Carillon reads. */
export const graphContact = z.object({
  id: z.string(),
  '@odata.etag': text,
  givenName: text,
  middleName: text,
  surname: text,
  generation: text,
  nickName: text,
  birthday: text,
  companyName: text,
  jobTitle: text,
  manager: text,
  officeLocation: text,
  personalNotes: text,
  emailAddresses: z.array(z.object({ name: text, address: text })).nullish(),
  businessPhones: texts,
  homePhones: texts,
  mobilePhone: text,
  imAddresses: texts,
  businessHomePage: text,
  businessAddress: address,
  homeAddress: address,
  otherAddress: address,
  categories: texts,
  singleValueExtendedProperties: extended,
});
export type GraphContact = z.infer<typeof graphContact>;

/** `$select` of these properties. */
export const CONTACT_PROPERTIES = Object.keys(graphContact.shape)
  .filter((name) => !name.startsWith('@') && name !== 'singleValueExtendedProperties')
  .join(',');

/** Most entries that Exchange keeps of each. */
const MOST_EMAILS = 3;
const MOST_PHONES = 2;

const filled = (values: z.infer<typeof texts>): string[] =>
  (values ?? []).filter((value): value is string => typeof value === 'string' && value !== '');

function readAddress(type: string, value: z.infer<typeof address>): ContactContent[] {
  const { street, city, state, postalCode, countryOrRegion } = value ?? {};
  const parts = {
    street_address: street ?? '',
    city: city ?? '',
    state: state ?? '',
    postal_code: postalCode ?? '',
    country: countryOrRegion ?? '',
  };
  const isEmpty = Object.values(parts).every((part) => part === '');
  return isEmpty ? [] : [{ type, format: 'structured', ...parts }];
}

/** What the properties of Graph alone say. */
function readNative(contact: GraphContact): ContactFields {
  const numbers = (type: string, values: readonly string[]) =>
    values.map((number) => ({ type, number }));
  return contactFields({
    given_name: contact.givenName,
    middle_name: contact.middleName,
    surname: contact.surname,
    suffix: contact.generation,
    nickname: contact.nickName,
    birthday: contact.birthday?.slice(0, 10),
    company_name: contact.companyName,
    job_title: contact.jobTitle,
    manager_name: contact.manager,
    office_location: contact.officeLocation,
    notes: contact.personalNotes,
    emails: (contact.emailAddresses ?? []).map((one) => ({ type: null, email: one.address })),
    phone_numbers: [
      ...numbers('work', filled(contact.businessPhones)),
      ...numbers('home', filled(contact.homePhones)),
      ...numbers('mobile', filled([contact.mobilePhone ?? null])),
    ],
    im_addresses: filled(contact.imAddresses).map((im_address) => ({ type: null, im_address })),
    web_pages: filled([contact.businessHomePage ?? null]).map((url) => ({ type: 'work', url })),
    physical_addresses: [
      ...readAddress('work', contact.businessAddress),
      ...readAddress('home', contact.homeAddress),
      ...readAddress('other', contact.otherAddress),
    ],
    groups: filled(contact.categories),
  });
}

const extra = z.record(z.string(), z.unknown());

/**
 * The fields of a contact. Where Graph keeps less than a field had, such as the kinds of email
 * addresses, the whole value is in the extension. It counts as long as Graph's properties are still
 * those that were written with it.
 */
export function readContact(contact: GraphContact): ContactFields {
  const native = readNative(contact);
  const kept = extraOf(contact.singleValueExtendedProperties, extra, {});
  const whole = contactFields({ ...native, ...kept });
  const stored = readNative(graphContact.parse({ id: 'x', ...writeNative(whole) }));
  const names = CONTACT_FIELDS.filter(
    (name) => kept[name] !== undefined && sameField(stored[name], native[name]),
  );
  return { ...native, ...Object.fromEntries(names.map((name) => [name, whole[name]])) };
}

function writeAddress(addresses: readonly PhysicalAddress[], type: string) {
  const found = addresses.find((one) => (one.type ?? 'other') === type);
  if (found?.format !== 'structured') return found ? { street: found.address } : {};
  return {
    street: found.street_address,
    city: found.city,
    state: found.state,
    postalCode: found.postal_code,
    countryOrRegion: found.country,
  };
}

const HOME_PAGE = 'work';

function writeNative(contact: ContactFields) {
  const { phone_numbers: phones, web_pages: pages, physical_addresses: addresses } = contact;
  const numbers = (type: string) =>
    phones.filter((one) => (one.type ?? 'work') === type).map(({ number }) => number);
  const page = pages.find(({ type }) => type === HOME_PAGE) ?? pages[0];
  return {
    givenName: contact.given_name,
    middleName: contact.middle_name,
    surname: contact.surname,
    generation: contact.suffix,
    nickName: contact.nickname,
    birthday: contact.birthday === null ? null : `${contact.birthday}T11:59:00Z`,
    companyName: contact.company_name,
    jobTitle: contact.job_title,
    manager: contact.manager_name,
    officeLocation: contact.office_location,
    personalNotes: contact.notes ?? '',
    emailAddresses: contact.emails
      .slice(0, MOST_EMAILS)
      .map(({ email }) => ({ address: email, name: email })),
    businessPhones: numbers('work').slice(0, MOST_PHONES),
    homePhones: numbers('home').slice(0, MOST_PHONES),
    mobilePhone: numbers('mobile')[0] ?? null,
    imAddresses: contact.im_addresses.map(({ im_address: address }) => address),
    businessHomePage: page?.url ?? null,
    businessAddress: writeAddress(addresses, 'work'),
    homeAddress: writeAddress(addresses, 'home'),
    otherAddress: writeAddress(addresses, 'other'),
    categories: contact.groups,
  };
}

/** Properties of Graph that a field of the API is kept in. */
const PROPERTIES: Readonly<Record<keyof ContactFields, readonly string[]>> = {
  given_name: ['givenName'],
  middle_name: ['middleName'],
  surname: ['surname'],
  suffix: ['generation'],
  nickname: ['nickName'],
  birthday: ['birthday'],
  company_name: ['companyName'],
  job_title: ['jobTitle'],
  manager_name: ['manager'],
  office_location: ['officeLocation'],
  notes: ['personalNotes'],
  emails: ['emailAddresses'],
  phone_numbers: ['businessPhones', 'homePhones', 'mobilePhone'],
  im_addresses: ['imAddresses'],
  web_pages: ['businessHomePage'],
  physical_addresses: ['businessAddress', 'homeAddress', 'otherAddress'],
  groups: ['categories'],
};

/**
 * The properties for a change. Those of other fields are left out, so that a PATCH keeps them.
 * @param changed names of the fields that change
 * @param contact the whole contact after the change
 */
export function writeContact(
  changed: readonly (keyof ContactFields)[],
  contact: ContactFields,
): { properties: Record<string, unknown>; extra: Record<string, unknown> } {
  const native: Record<string, unknown> = writeNative(contact);
  const names = new Set(changed.flatMap((field) => PROPERTIES[field]));
  const stored = readNative(graphContact.parse({ id: 'x', ...native }));
  const lacking = CONTACT_FIELDS.filter((name) => !sameField(stored[name], contact[name]));
  return {
    properties: Object.fromEntries(Object.entries(native).filter(([name]) => names.has(name))),
    extra: Object.fromEntries(lacking.map((name) => [name, contact[name]])),
  };
}
