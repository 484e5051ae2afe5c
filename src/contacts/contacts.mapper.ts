import { KEY_FIELDS } from './contact-keys.ts';
import type { ContactFilter, ContactGroupRecord, ContactRecord } from './contacts.repository.ts';
import type {
  ContactGroupView,
  ContactView,
  ListContactsQuery,
  UpdateContact,
} from './contacts.schema.ts';
import type { ContactInput } from './contacts.service.ts';

/** Converts a query of `GET /contacts` to the service's filter. */
export function toContactFilter(query: ListContactsQuery): ContactFilter {
  const keys = Object.fromEntries(KEY_FIELDS.map((field) => [field, query[field]]));
  return { source: query.source, recurse: query.recurse, keys };
}

/** Converts a request body to the service's input. */
export function toContactInput({ groups, group, ...content }: UpdateContact): ContactInput {
  return { content, groups, group };
}

export function toGroupView(accountId: string, { id, path }: ContactGroupRecord): ContactGroupView {
  return {
    id,
    object: 'contact_group',
    account_id: accountId,
    name: path.slice(path.lastIndexOf('/') + 1),
    path,
  };
}

/**
 * Converts a contact to the response to a read.
 * @param view `expanded` adds `warnings`
 */
export function toReadContactView(
  contact: ContactRecord,
  baseUrl: string,
  view: string | undefined,
): ContactView {
  const shown = toContactView(contact, baseUrl);
  return view === 'expanded' ? { ...shown, warnings: contact.warnings } : shown;
}

/**
 * Converts a contact to its response.
 * @param baseUrl base URL of this server, used in `picture_url`
 * @param jobStatusId job that carries the change to the provider; only after a write
 */
export function toContactView(
  contact: ContactRecord,
  baseUrl: string,
  jobStatusId?: string,
): ContactView {
  const { id, accountId, source, fields, groups } = contact;
  return {
    id,
    object: 'contact',
    account_id: accountId,
    source,
    given_name: fields.given_name,
    middle_name: fields.middle_name,
    surname: fields.surname,
    suffix: fields.suffix,
    nickname: fields.nickname,
    birthday: fields.birthday,
    company_name: fields.company_name,
    job_title: fields.job_title,
    manager_name: fields.manager_name,
    office_location: fields.office_location,
    notes: fields.notes,
    picture_url: contact.picture === null ? null : `${baseUrl}/contacts/${id}/picture`,
    emails: fields.emails,
    im_addresses: fields.im_addresses,
    physical_addresses: fields.physical_addresses,
    phone_numbers: fields.phone_numbers,
    web_pages: fields.web_pages,
    groups: groups.map((group) => toGroupView(accountId, group)),
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
  };
}
