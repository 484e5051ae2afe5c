import {
  assertMatches,
  bodyOf,
  deltaPageSize,
  type GraphContext,
  type GraphRoute,
  reading,
  writing,
} from '../graph/context.ts';
import {
  type ExtendedProperties,
  extendedFilter,
  withExtended,
  writeExtended,
} from '../graph/extended-properties.ts';
import { assertId } from '../graph/item-ids.ts';
import { page, selected } from '../graph/odata.ts';
import { snapshotDelta } from '../graph/snapshot-delta.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import { etag, idIn } from '../mail/message-json.ts';
import { CONTACT_FIELDS, contactJson } from './contact-json.ts';
import type { ContactFolder, StoredContact } from './contact-store.ts';

type Handler = (context: GraphContext, values: PathValues) => StubAnswer;

const route = (method: string, path: string, handle: Handler): GraphRoute => ({
  method,
  path,
  handle,
  permissions: method === 'GET' ? reading('Contacts') : writing('Contacts'),
});

/** The same routes for `contacts/…` and `contactFolders/{id}/contacts/…`. */
const both = (method: string, path: string, handle: Handler): GraphRoute[] => [
  route(method, path, handle),
  route(method, `contactFolders/{folder}/${path}`, handle),
];

/** Routes of contacts and their folders. The default folder is in no list. */
export const contactRoutes: GraphRoute[] = [
  ...['contactFolders', 'contactFolders/{folder}/childFolders'].flatMap((path) => [
    route('GET', path, listFolders),
    route('POST', path, (context, values) => {
      const parent = folderIn(context, values);
      const folder = context.user.contacts.addFolder(nameIn(context), parent);
      return { status: 201, body: folderJson(folder) };
    }),
  ]),
  route('GET', 'contactFolders/{folder}', (context, values) => ({
    status: 200,
    body: folderJson(folderIn(context, values)),
  })),
  route('PATCH', 'contactFolders/{folder}', (context, values) => {
    const folder = folderIn(context, values);
    folder.displayName = nameIn(context);
    return { status: 200, body: folderJson(folder) };
  }),
  route('DELETE', 'contactFolders/{folder}', (context, values) => {
    context.user.contacts.removeFolder(folderIn(context, values));
    return { status: 204 };
  }),
  ...both('GET', 'contacts', list),
  ...both('POST', 'contacts', (context, values) => {
    const contact = context.user.contacts.add(folderIn(context, values).id, fieldsIn(context));
    contact.extended = writeExtended([], bodyOf(context));
    return shown(context, contact, 201);
  }),
  ...both('GET', 'contacts/delta', delta),
  ...both('GET', 'contacts/{id}', (context, values) =>
    shown(context, contactIn(context, values), 200),
  ),
  ...both('PATCH', 'contacts/{id}', (context, values) => {
    const contact = contactIn(context, values);
    assertMatches(context, etag(contact, contact.version));
    const fields = { ...contact.fields, ...fieldsIn(context) };
    const extended = writeExtended(contact.extended, bodyOf(context));
    context.user.contacts.update(contact, { fields, extended });
    return shown(context, contact, 200);
  }),
  ...both('DELETE', 'contacts/{id}', (context, values) => {
    context.user.contacts.remove(contactIn(context, values));
    return { status: 204 };
  }),
  ...both('GET', 'contacts/{id}/photo/$value', readPhoto),
  ...both('PUT', 'contacts/{id}/photo/$value', writePhoto),
];

const folderJson = ({ id, displayName, parentId }: ContactFolder): Json => ({
  id,
  displayName,
  parentFolderId: parentId,
});

function listFolders(context: GraphContext, values: PathValues): StubAnswer {
  const { url, user, request } = context;
  const folders = user.contacts.foldersIn(folderIn(context, values).id);
  return { status: 200, body: page({ items: folders.map(folderJson), url, query: request.query }) };
}

function nameIn(context: GraphContext): string {
  const { displayName } = bodyOf(context);
  if (typeof displayName === 'string' && displayName !== '') return displayName;
  throw graphErrors.invalidRequest("The property 'displayName' is required.");
}

function folderIn({ user }: GraphContext, { folder }: PathValues): ContactFolder {
  if (folder === undefined || folder === 'contacts') return user.contacts.defaultFolder;
  const found = user.contacts.folders.get(folder);
  if (found) return found;
  assertId(folder);
  throw graphErrors.itemNotFound();
}

function contactIn(context: GraphContext, values: PathValues): StoredContact {
  const { id = '' } = values;
  const contact = context.user.contacts.contact(id);
  const isElsewhere =
    values['folder'] !== undefined && contact?.folderId !== folderIn(context, values).id;
  if (contact && !isElsewhere) return contact;
  assertId(id);
  throw graphErrors.itemNotFound();
}

/** Exchange's own property for contacts with a picture, which Graph has no other one for. */
const HAS_PICTURE = 'Boolean {00062004-0000-0000-C000-000000000046} Id 0x8015';

const extendedOf = ({ extended, photo }: StoredContact): ExtendedProperties =>
  photo ? [...extended, { id: HAS_PICTURE, value: 'true' }] : extended;

function fieldsIn(context: GraphContext): Json {
  const body = bodyOf(context);
  return Object.fromEntries(Object.entries(body).filter(([name]) => CONTACT_FIELDS.has(name)));
}

function list(context: GraphContext, values: PathValues): StubAnswer {
  const { form, user, url } = context;
  const { query } = context.request;
  const matches = extendedFilter(query);
  const items = user.contacts
    .contactsIn(folderIn(context, values).id)
    .filter(({ extended }) => matches?.(extended) ?? true)
    .map((contact) => withExtended(contactJson(contact, form), extendedOf(contact), query));
  const rest = new URLSearchParams(query);
  if (matches) rest.delete('$filter');
  return { status: 200, body: page({ items, url, query: rest }) };
}

function delta(context: GraphContext, values: PathValues): StubAnswer {
  const { form, user, url, world } = context;
  const folder = folderIn(context, values);
  return {
    status: 200,
    body: snapshotDelta({
      tokens: world.deltas,
      list: `${user.email} ${folder.id}`,
      url,
      query: context.request.query,
      pageSize: deltaPageSize(context),
      type: '#microsoft.graph.contact',
      groups: (query) =>
        new Map(
          user.contacts.contactsIn(folder.id).map((contact) => [
            contact.immutableId,
            {
              fingerprint: String(contact.version),
              ids: [idIn(form, contact)],
              show: () => [
                {
                  '@odata.type': '#microsoft.graph.contact',
                  ...selected(contactJson(contact, form), query),
                },
              ],
            },
          ]),
        ),
    }),
  };
}

function shown(context: GraphContext, contact: StoredContact, status: number): StubAnswer {
  const { query } = context.request;
  const json = withExtended(contactJson(contact, context.form), extendedOf(contact), query);
  return { status, body: selected(json, query) };
}

function readPhoto(context: GraphContext, values: PathValues): StubAnswer {
  const { photo } = contactIn(context, values);
  if (!photo) {
    throw new GraphError(404, 'ImageNotFound', 'Exception of type ImageNotFoundException.');
  }
  return { status: 200, headers: { 'content-type': photo.contentType }, raw: photo.content };
}

function writePhoto(context: GraphContext, values: PathValues): StubAnswer {
  const { body, headers } = context.request;
  const contentType = headers['content-type'] ?? 'image/jpeg';
  context.user.contacts.update(contactIn(context, values), {
    photo: { content: body, contentType },
  });
  return { status: 200 };
}
