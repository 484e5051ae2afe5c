import {
  bodyOf,
  deltaPageSize,
  type GraphContext,
  type GraphRoute,
  property,
  reading,
  writing,
} from '../graph/context.ts';
import { extendedFilter, withExtended } from '../graph/extended-properties.ts';
import { filtered, page, selected, withQuery } from '../graph/odata.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import { assertRoom, assertVersion, folderIn, messageIn } from './mail-access.ts';
import { messageDelta } from './mail-delta.ts';
import type { MessagePatch, StoredMessage } from './message.ts';
import { attachmentJson, etag, MESSAGE_ON_DEMAND, messageJson } from './message-json.ts';
import { isMarkedAsSent, newContent, readMessage } from './message-input.ts';
import { writeMime } from './mime.ts';
import { matchesSearch } from './search.ts';
import { mimeBody } from './sending.ts';

type Handler = GraphRoute['handle'];

const route = (
  method: string,
  path: string,
  handle: Handler,
  permissions = method === 'GET' ? reading('Mail') : writing('Mail'),
): GraphRoute => ({ method, path, handle, permissions });

/** The same routes for `messages/…` and `mailFolders/{id}/messages/…`. */
const both = (method: string, path: string, handle: Handler): GraphRoute[] => [
  route(method, path, handle),
  route(method, `mailFolders/{folder}/${path}`, handle),
];

/** Routes of messages. */
export const messageRoutes: GraphRoute[] = [
  ...both('GET', 'messages', list),
  ...both('POST', 'messages', create),
  ...both('GET', 'messages/$count', count),
  route('GET', 'messages/delta', () => {
    throw graphErrors.badRequest(
      "Unsupported request: Change tracking is not supported against 'microsoft.graph.message'.",
    );
  }),
  route('GET', 'mailFolders/{folder}/messages/delta', delta),
  ...both('GET', 'messages/{id}', (context, values) =>
    shown(context, messageIn(context, values), 200),
  ),
  ...both('GET', 'messages/{id}/$value', async (context, values) => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    raw: await writeMime(messageIn(context, values)),
  })),
  ...both('PATCH', 'messages/{id}', patch),
  ...both('DELETE', 'messages/{id}', (context, values) => {
    const { mailbox } = context.user;
    mailbox.move(messageIn(context, values), mailbox.folderId('recoverableitemsdeletions'));
    return { status: 204 };
  }),
  ...both('POST', 'messages/{id}/permanentDelete', (context, values) => {
    context.user.mailbox.remove(messageIn(context, values));
    return { status: 204 };
  }),
  ...both('POST', 'messages/{id}/move', (context, values) => {
    const message = messageIn(context, values);
    return shown(context, context.user.mailbox.move(message, destination(context)), 201);
  }),
  ...both('POST', 'messages/{id}/copy', (context, values) => {
    assertRoom(context);
    const message = messageIn(context, values);
    return shown(context, context.user.mailbox.copy(message, destination(context)), 201);
  }),
];

/** Number of messages in a folder or, without one, in the mailbox. */
function count(context: GraphContext, { folder }: PathValues): StubAnswer {
  const messages = messagesIn(context, folder).map((message) => messageJson(message, context.form));
  const number = filtered(messages, context.request.query).length;
  return { status: 200, headers: { 'content-type': 'text/plain' }, raw: String(number) };
}

/** Messages that lists show: those that can only be recovered are not part of the mailbox. */
function messagesIn(context: GraphContext, folder: string | undefined): StoredMessage[] {
  const { mailbox } = context.user;
  if (folder !== undefined) {
    return [...mailbox.messagesIn(folderIn(context, folder).id).values()];
  }
  const hidden = mailbox.folderId('recoverableitemsdeletions');
  return [...mailbox.messages()].filter(({ folderId }) => folderId !== hidden);
}

/** Header fields are properties, too (MS-OXPROPS, PS_INTERNET_HEADERS). */
const INTERNET_HEADER = 'String {00020386-0000-0000-C000-000000000046} Name ';
/** Header fields that have properties of their own (MS-OXPROPS). */
const PROPERTIES: Readonly<Record<string, string>> = {
  'in-reply-to': 'String 0x1042',
  references: 'String 0x1039',
};
const headerProperties = ({ headers }: StoredMessage) =>
  headers.map(({ name, value }) => {
    return { id: PROPERTIES[name.toLowerCase()] ?? INTERNET_HEADER + name, value };
  });

function list(context: GraphContext, { folder }: PathValues): StubAnswer {
  const { query } = context.request;
  const search = query.get('$search');
  if (search !== null) {
    if (query.has('$filter')) throw unsupported('SearchWithFilter', '$filter');
    if (query.has('$orderby')) throw unsupported('SearchWithOrderBy', '$orderby');
    if (query.has('$skip')) throw unsupported('SearchWithSkip', '$skip');
  }
  const isWanted = extendedFilter(query);
  if (isWanted) {
    const named = messagesIn(context, folder).filter((message) =>
      isWanted(headerProperties(message)),
    );
    query.delete('$filter');
    return { status: 200, body: pageOf(context, named) };
  }
  const sorted = messagesIn(context, folder)
    .filter((message) => search === null || matchesSearch(message, search))
    .toSorted((a, b) => b.received.getTime() - a.received.getTime());
  const body = pageOf(context, sorted);
  return { status: 200, body };
}

/** Sorting and paging of many messages is quick if only those of the page are written out. */
function pageOf(context: GraphContext, messages: StoredMessage[]): Json {
  const { query } = context.request;
  const plain = !query.has('$filter') && !query.has('$orderby');
  const maxTop = context.world.settings.messagesPerPage;
  const listing = { url: context.url, query, onDemand: MESSAGE_ON_DEMAND, strictOrder: true };
  const show = (message: StoredMessage) => expanded(context, message);
  if (!plain) return page({ ...listing, items: messages.map(show), maxTop });
  const skip = Number(query.get('$skip') ?? 0);
  const size = query.get('$top') ?? context.prefer.get('odata.maxpagesize') ?? 10;
  const top = Math.min(Number(size), 1_000);
  const shown = page({
    ...listing,
    query: new URLSearchParams([...query].filter(([name]) => name === '$select')),
    items: messages.slice(skip, skip + top).map(show),
    defaultTop: 1_000,
  });
  const next = { $skip: String(skip + top) };
  return {
    ...(query.get('$count') === 'true' ? { '@odata.count': messages.length } : {}),
    ...shown,
    ...(skip + top < messages.length
      ? { '@odata.nextLink': withQuery(context.url, query, next) }
      : {}),
  };
}

const unsupported = (code: string, option: string) =>
  new GraphError(400, code, `The query parameter '$search' is not supported with '${option}'.`);

/** Creates a draft from JSON or, with a body of text, from MIME. */
async function create(context: GraphContext, { folder }: PathValues): Promise<StubAnswer> {
  assertRoom(context);
  const { mailbox } = context.user;
  const target = folderIn(context, folder ?? 'drafts');
  const now = mailbox.now();
  const isMime = context.request.headers['content-type']?.startsWith('text/plain') === true;
  const content = isMime
    ? await mimeBody(context.request.body, now)
    : newContent(readMessage(bodyOf(context), now), now);
  const own = context.world.personOf(context.user);
  const from = content.from ?? own;
  const isDraft = isMime || !isMarkedAsSent(bodyOf(context));
  const message = mailbox.add(
    { ...content, from, sender: content.sender ?? own, sent: now },
    { folderId: target.id, isDraft, isRead: true, isOwn: true },
  );
  if (!isMime) mailbox.update(message, stateIn(bodyOf(context)));
  return shown(context, message, 201);
}

function patch(context: GraphContext, values: PathValues): StubAnswer {
  const message = messageIn(context, values);
  assertVersion(context, etag(message, message.version));
  const body = bodyOf(context);
  const { mailbox } = context.user;
  const content = readMessage(body, mailbox.now());
  const fields = Object.keys(content).filter((name) => name !== 'importance');
  if (fields.length > 0 && !message.isDraft) {
    throw new GraphError(
      400,
      'ErrorInvalidPropertySet',
      `The property '${fields[0]}' can be set only on draft messages.`,
    );
  }
  const change: MessagePatch = { ...content, ...stateIn(body) };
  if (fields.length > 0) change.mime = null;
  mailbox.update(message, change);
  return shown(context, message, 200);
}

/** What a body says about the state of a message, besides its content. */
function stateIn(body: Json): MessagePatch {
  const { isRead, flag, categories, inferenceClassification } = body;
  return {
    ...(typeof isRead === 'boolean' ? { isRead } : {}),
    ...(flag && typeof flag === 'object' ? { flag: flag as Json } : {}),
    ...(Array.isArray(categories) ? { categories: categories.map(String) } : {}),
    ...(inferenceClassification === 'other' || inferenceClassification === 'focused'
      ? { inferenceClassification }
      : {}),
  };
}

function delta(context: GraphContext, { folder = '' }: PathValues): StubAnswer {
  return {
    status: 200,
    body: messageDelta(
      {
        tokens: context.world.deltas,
        mailbox: context.user.mailbox,
        url: context.url,
        query: context.request.query,
        form: context.form,
        broken: context.world.settings.brokenMessages,
        pageSize: deltaPageSize(context),
      },
      folderIn(context, folder),
    ),
  };
}

const destination = (context: GraphContext): string => {
  const id = property(bodyOf(context), 'destinationId');
  if (typeof id !== 'string') throw graphErrors.invalidRequest("'DestinationId' is required.");
  return folderIn(context, id).id;
};

/** A message with what the request expands. */
function expanded({ form, request }: GraphContext, message: StoredMessage): Json {
  const json = messageJson(message, form);
  const expand = request.query.get('$expand');
  if (expand === null || !/^attachments\b/.test(expand))
    return withExtended(json, headerProperties(message), request.query);
  const names = /\$select=([^;)]*)/.exec(expand)?.[1];
  const query = new URLSearchParams(names === undefined ? [] : [['$select', names]]);
  return {
    ...json,
    attachments: message.attachments.map((file) => selected(attachmentJson(file), query)),
  };
}

/** Present only if they are expanded. */
const EXPANDED = ['attachments', 'singleValueExtendedProperties'];

function shown(context: GraphContext, message: StoredMessage, status: number): StubAnswer {
  const { query } = context.request;
  const json = expanded(context, message);
  const names = query.get('$select');
  const kept = new URLSearchParams(
    names === null ? [] : [['$select', [names, ...EXPANDED].join()]],
  );
  return { status, body: selected(json, kept, MESSAGE_ON_DEMAND) };
}
