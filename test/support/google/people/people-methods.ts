import type { StubAnswer } from '../../remote-stub/messages.ts';
import {
  type GoogleCall,
  type GoogleMethod,
  type GoogleRouter,
  ok,
  page,
  pageSize,
} from '../call.ts';
import { GoogleError, invalid, notFound } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import type { Contact, Contacts } from './contacts.ts';

/** A method of People. Every call is one unit. */
export function peopleMethod(
  needs: readonly string[],
  handle: GoogleMethod['handle'],
): GoogleMethod {
  return { service: 'people', units: 1, needs, handle };
}

/** Adds the methods of contacts and of other contacts. */
export function addPeopleMethods(router: GoogleRouter): void {
  const { contactsRead, contactsWrite, otherContacts } = NEEDS;
  router.add('GET', '/v1/people/me/connections', peopleMethod(contactsRead, listConnections));
  router.add('GET', '/v1/people/me', peopleMethod(NEEDS.profileRead, getSelf));
  router.add('GET', '/v1/people/{id}', peopleMethod(contactsRead, get));
  router.add('POST', '/v1/people:createContact', peopleMethod(contactsWrite, create));
  router.add('PATCH', '/v1/people/{id}:updateContact', peopleMethod(contactsWrite, update));
  router.add('DELETE', '/v1/people/{id}:deleteContact', peopleMethod(contactsWrite, remove));
  router.add('PATCH', '/v1/people/{id}:updateContactPhoto', peopleMethod(contactsWrite, setPhoto));
  router.add(
    'DELETE',
    '/v1/people/{id}:deleteContactPhoto',
    peopleMethod(contactsWrite, dropPhoto),
  );
  router.add('GET', '/v1/otherContacts', peopleMethod(otherContacts, listOthers));
}

/** Version that a sync token names. Throws what Google answers for an expired one. */
export function syncedVersion(contacts: Contacts, token: string): number {
  const [, version] = /^people_(\d+)(?:_\d+)?$/.exec(token) ?? [];
  if (version === undefined) throw invalid('Sync token is invalid.');
  if (Number(version) >= contacts.oldestToken) return Number(version);
  throw new GoogleError(
    400,
    'failedPrecondition',
    'Sync token is expired. Clear local cache and retry call without the sync token.',
    {
      statusName: 'FAILED_PRECONDITION',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'EXPIRED_SYNC_TOKEN',
          domain: 'people.googleapis.com',
        },
      ],
    },
  );
}

/** A person with the fields of a mask; a deleted one with nothing but that. */
function personView(call: GoogleCall, contact: Contact, mask: string | null): object {
  const { resourceName, fields, isDeleted, version, photo } = contact;
  const base = { resourceName, etag: `%${version}` };
  if (isDeleted) return { ...base, metadata: { deleted: true, objectType: 'PERSON' } };
  if (!mask)
    throw invalid('personFields mask is required. Please specify one or more valid paths.');
  const wanted = mask.split(',').map((name) => name.trim());
  const id = resourceName.replace(/.*\//, '');
  const metadata = {
    objectType: 'PERSON',
    sources: [{ type: 'CONTACT', id, etag: `#${version}` }],
  };
  const url = `${call.world.origin()}/photos/${encodeURIComponent(call.user.email)}/${id}`;
  const shown = Object.entries(fields).filter(([name]) => wanted.includes(name));
  return {
    ...base,
    ...Object.fromEntries(shown),
    ...(wanted.includes('metadata') && { metadata }),
    ...(wanted.includes('photos') && {
      photos: [
        photo ? { url: `${url}?v=${photo.length}` } : { url: `${url}?default`, default: true },
      ],
    }),
  };
}

interface Listing {
  contacts: Map<string, Contact>;
  mask: string | null;
  key: 'connections' | 'otherContacts';
  most: number;
}

/** Throws if a token belongs to a list with another page size. */
function checkSize(size: number, syncToken: string | null, pageToken: string | null): void {
  const tokens = [/^people_\d+_(\d+)$/.exec(syncToken ?? ''), /^\d+~(\d+)~/.exec(pageToken ?? '')];
  for (const token of tokens)
    if (token && Number(token[1]) !== size)
      throw invalid('All request parameters must match those of the first call.');
}

function listed(call: GoogleCall, { contacts, mask, key, most }: Listing): StubAnswer {
  const { query, user } = call;
  const token = query.get('syncToken');
  const since = token === null ? null : syncedVersion(user.contacts, token);
  const size = pageSize(query, 'pageSize', 100, most);
  const { habits, now } = call.world;
  const until = now() - habits.contactsLagMs;
  if (habits.samePages) checkSize(size, token, query.get('pageToken'));
  const shown = user.contacts.versionAt(until);
  const all = [...contacts.values()].filter(({ isDeleted, version, createdAt }) =>
    since === null ? !isDeleted && createdAt <= until : version > since && version <= shown,
  );
  const [, version = shown, , last = null] =
    /^(\d+)~(\d+)~(.*)$/.exec(query.get('pageToken') ?? '') ?? [];
  const { items, nextPageToken } = page(
    all,
    ({ resourceName }) => resourceName,
    size,
    last,
    habits.pages,
  );
  const wantsToken = query.get('requestSyncToken') === 'true' || token !== null;
  const total = key === 'connections' ? 'totalItems' : 'totalSize';
  return ok({
    ...(items.length > 0 && { [key]: items.map((one) => personView(call, one, mask)) }),
    ...(nextPageToken !== undefined && { nextPageToken: `${version}~${size}~${nextPageToken}` }),
    ...(nextPageToken === undefined &&
      wantsToken && { nextSyncToken: `people_${version}_${size}` }),
    [total]: all.length,
    ...(key === 'connections' && { totalPeople: all.length }),
  });
}

function listConnections(call: GoogleCall): StubAnswer {
  const mask = call.query.get('personFields');
  if (!mask)
    throw invalid('personFields mask is required. Please specify one or more valid paths.');
  const { people: contacts } = call.user.contacts;
  const { query, user, world } = call;
  const isFull = query.get('requestSyncToken') === 'true' && !query.get('syncToken');
  if (isFull && !query.get('pageToken')) world.quotas.chargeFullList(user.email);
  return listed(call, { contacts, mask, key: 'connections', most: 1000 });
}

function listOthers(call: GoogleCall): StubAnswer {
  const mask = call.query.get('readMask');
  if (!mask) throw invalid('readMask is required.');
  const { others: contacts } = call.user.contacts;
  return listed(call, { contacts, mask, key: 'otherContacts', most: 1000 });
}

function contactOf({ user, params }: GoogleCall): Contact {
  const contact = user.contacts.people.get(`people/${params['id']}`);
  if (!contact || contact.isDeleted) throw notFound();
  return contact;
}

function getSelf(call: GoogleCall): StubAnswer {
  const { email, name, sub } = call.user;
  const fields = { names: [{ displayName: name }], emailAddresses: [{ value: email }] };
  const base = { resourceName: `people/${sub}`, fields, isDeleted: false };
  const self = { ...base, version: 1, createdAt: 0, photo: null };
  return ok(personView(call, self, call.query.get('personFields')));
}

function get(call: GoogleCall): StubAnswer {
  return ok(personView(call, contactOf(call), call.query.get('personFields')));
}

/** Everything that a contact has, for answers to writes without a mask. */
function maskOf({ query }: GoogleCall, { fields }: Contact): string {
  return query.get('personFields') ?? [...Object.keys(fields), 'metadata'].join(',');
}

/** Fields of a person that a client writes. */
function written(body: Record<string, unknown>): Record<string, unknown> {
  const {
    resourceName: _name,
    etag: _etag,
    metadata: _metadata,
    photos: _photos,
    ...fields
  } = body;
  for (const name of ['names', 'birthdays', 'genders', 'biographies'])
    if (Array.isArray(fields[name]) && fields[name].length > 1)
      throw invalid(`Only one ${name} entry is allowed.`);
  if (Array.isArray(fields['names'])) fields['names'] = fields['names'].map(namedPerson);
  return fields;
}

function namedPerson(name: Record<string, string>): object {
  const { givenName = '', middleName = '', familyName = '', unstructuredName } = name;
  const parts = [givenName, middleName, familyName].filter(Boolean).join(' ');
  const displayName = parts || unstructuredName || '';
  return { ...name, displayName, unstructuredName: unstructuredName ?? displayName };
}

function create(call: GoogleCall): StubAnswer {
  const contact = call.user.contacts.add(written(call.body));
  return ok(personView(call, contact, maskOf(call, contact)));
}

function update(call: GoogleCall): StubAnswer {
  const { user, query, body } = call;
  const contact = contactOf(call);
  const mask = query.get('updatePersonFields');
  if (!mask) throw invalid('updatePersonFields mask is required.');
  if (body['etag'] === undefined)
    throw invalid(
      'Request must set person.etag or person.metadata.sources.etag for the source that is being updated.',
    );
  if (body['etag'] !== `%${contact.version}`)
    throw new GoogleError(
      400,
      'failedPrecondition',
      'Request person.etag is different than the current person.etag. Clear local cache and get the latest person.',
      { statusName: 'FAILED_PRECONDITION' },
    );
  const fields = written(body);
  for (const name of mask.split(',').map((one) => one.trim())) {
    const value = fields[name] as unknown[] | undefined;
    if (value === undefined || value.length === 0) delete contact.fields[name];
    else contact.fields[name] = value;
  }
  user.contacts.touch(contact);
  return ok(personView(call, contact, maskOf(call, contact)));
}

function remove(call: GoogleCall): StubAnswer {
  const contact = contactOf(call);
  contact.isDeleted = true;
  call.user.contacts.touch(contact);
  return ok({});
}

function setPhoto(call: GoogleCall): StubAnswer {
  const contact = contactOf(call);
  const { photoBytes, personFields } = call.body as Record<string, string | undefined>;
  if (!photoBytes) throw invalid('photoBytes is required.');
  contact.photo = Buffer.from(photoBytes, 'base64');
  return withPerson(call, contact, personFields);
}

function dropPhoto(call: GoogleCall): StubAnswer {
  const contact = contactOf(call);
  contact.photo = null;
  return withPerson(call, contact, call.query.get('personFields') ?? undefined);
}

function withPerson(call: GoogleCall, contact: Contact, mask: string | undefined): StubAnswer {
  call.user.contacts.touch(contact);
  return ok(mask ? { person: personView(call, contact, mask) } : {});
}
