import type { Json } from '../http/types.ts';
import { changeKey, etag, idIn, type JsonForm, stamp } from '../mail/message-json.ts';
import type { StoredContact } from './contact-store.ts';

const TEXTS = [
  'assistantName',
  'businessHomePage',
  'companyName',
  'department',
  'displayName',
  'fileAs',
  'generation',
  'givenName',
  'initials',
  'jobTitle',
  'manager',
  'middleName',
  'mobilePhone',
  'nickName',
  'officeLocation',
  'personalNotes',
  'profession',
  'spouseName',
  'surname',
  'title',
];
const LISTS = ['businessPhones', 'children', 'emailAddresses', 'homePhones', 'imAddresses'];
const ADDRESSES = ['businessAddress', 'homeAddress', 'otherAddress'];

const DEFAULTS: Json = Object.fromEntries([
  ...TEXTS.map((name) => [name, null]),
  ...LISTS.map((name) => [name, []]),
  ...ADDRESSES.map((name) => [name, {}]),
  ['birthday', null],
  ['categories', []],
]) as Json;

/** A contact as Graph shows it: fields that nobody set are empty. */
export function contactJson(contact: StoredContact, form: JsonForm): Json {
  const { fields } = contact;
  const names = [fields['givenName'], fields['surname']].filter(Boolean).join(' ');
  return {
    '@odata.etag': etag(contact, contact.version),
    id: idIn(form, contact),
    createdDateTime: stamp(contact.created),
    lastModifiedDateTime: stamp(contact.modified),
    changeKey: changeKey(contact, contact.version),
    parentFolderId: contact.folderId,
    ...DEFAULTS,
    displayName: names,
    ...fields,
  };
}

/** Fields of a contact that a request may set. */
export const CONTACT_FIELDS = new Set(Object.keys(DEFAULTS));
