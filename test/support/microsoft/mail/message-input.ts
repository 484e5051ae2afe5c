import { newImmutableId } from '../graph/item-ids.ts';
import { graphErrors, type Json } from '../http/types.ts';
import type { MessageContent, Recipient, StoredAttachment } from './message.ts';
import { newMessageId } from './mime.ts';

/** Fields of a message that a JSON body sets; a field it does not name is absent. */
export function readMessage(body: Json, now: Date): Partial<MessageContent> {
  const fields: Partial<MessageContent> = {};
  if ('subject' in body) fields.subject = text(body['subject'], 'subject');
  if ('body' in body) fields.body = itemBody(body['body']);
  if ('from' in body) fields.from = person(body['from']);
  if ('sender' in body) fields.sender = person(body['sender']);
  if ('toRecipients' in body) fields.to = people(body['toRecipients']);
  if ('ccRecipients' in body) fields.cc = people(body['ccRecipients']);
  if ('bccRecipients' in body) fields.bcc = people(body['bccRecipients']);
  if ('replyTo' in body) fields.replyTo = people(body['replyTo']);
  if ('internetMessageId' in body) {
    fields.internetMessageId = text(body['internetMessageId'], 'internetMessageId');
  }
  if ('internetMessageHeaders' in body) fields.headers = headers(body['internetMessageHeaders']);
  const thread = threadHeaders(body);
  if (thread.length > 0) fields.headers = [...(fields.headers ?? []), ...thread];
  if ('attachments' in body) {
    fields.attachments = (body['attachments'] as Json[]).map((entry) => readAttachment(entry, now));
  }
  if ('importance' in body) {
    fields.importance = text(body['importance'], 'importance').toLowerCase() as 'normal';
  }
  return fields;
}

/** Properties of MAPI that a JSON body sets, by their ids. */
function mapiProperties(body: Json): ReadonlyMap<string, string> {
  const list = (body['singleValueExtendedProperties'] ?? []) as Json[];
  return new Map(list.map(({ id, value }) => [text(id, 'id').toLowerCase(), text(value, 'value')]));
}

/** Whether the body says that the message is no draft (PR_MESSAGE_FLAGS without MSGFLAG_UNSENT). */
export function isMarkedAsSent(body: Json): boolean {
  const flags = mapiProperties(body).get('integer 0x0e07');
  return flags !== undefined && (Number(flags) & 8) === 0;
}

/** Fields of the thread, which Graph takes as properties of MAPI only. */
function threadHeaders(body: Json): MessageContent['headers'] {
  const properties = mapiProperties(body);
  return [
    ['In-Reply-To', 'string 0x1042'],
    ['References', 'string 0x1039'],
  ].flatMap(([name = '', id = '']) => {
    const value = properties.get(id);
    return value === undefined ? [] : [{ name, value }];
  });
}

/** A new message from the fields that a JSON body sets. */
export function newContent(fields: Partial<MessageContent>, now: Date): MessageContent {
  return {
    subject: '',
    body: { contentType: 'text', content: '' },
    from: null,
    sender: null,
    to: [],
    cc: [],
    bcc: [],
    replyTo: [],
    internetMessageId: newMessageId(),
    headers: [],
    attachments: [],
    importance: 'normal',
    sent: now,
    isReadReceiptRequested: false,
    isDeliveryReceiptRequested: false,
    mime: null,
    ...fields,
  };
}

/** An attachment from JSON. @throws {GraphError} 400 if it has no type or content */
export function readAttachment(body: Json, now: Date): StoredAttachment {
  const type = body['@odata.type'];
  if (type !== '#microsoft.graph.fileAttachment' && type !== '#microsoft.graph.itemAttachment') {
    throw graphErrors.invalidRequest(
      "The property '@odata.type' of an attachment must name its type.",
    );
  }
  const bytes = body['contentBytes'];
  if (type === '#microsoft.graph.fileAttachment' && typeof bytes !== 'string') {
    throw graphErrors.invalidRequest("The property 'contentBytes' is required.");
  }
  const { contentId } = body;
  return {
    id: newImmutableId(),
    kind: type === '#microsoft.graph.fileAttachment' ? 'file' : 'item',
    name: text(body['name'] ?? '', 'name'),
    contentType: text(body['contentType'] ?? 'application/octet-stream', 'contentType'),
    isInline: body['isInline'] === true,
    contentId: typeof contentId === 'string' ? contentId : null,
    content: typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : Buffer.alloc(0),
    modified: now,
  };
}

/** Custom fields only: Graph refuses others. */
function headers(value: unknown): MessageContent['headers'] {
  const list = (value as Json[]).map((entry) => ({
    name: text(entry['name'], 'name'),
    value: text(entry['value'], 'value'),
  }));
  for (const { name } of list) {
    if (!/^x-/i.test(name)) {
      throw graphErrors.invalidRequest(
        `The internet message header name '${name}' should start with 'x-' or 'X-'.`,
      );
    }
  }
  return list;
}

function itemBody(value: unknown): MessageContent['body'] {
  const { contentType, content } = (value ?? {}) as Json;
  const isHtml = typeof contentType === 'string' && contentType.toLowerCase() === 'html';
  return { contentType: isHtml ? 'html' : 'text', content: text(content ?? '', 'content') };
}

function person(value: unknown): Recipient | null {
  if (value === null) return null;
  const { emailAddress } = value as Json;
  const { address, name } = (emailAddress ?? {}) as Json;
  if (typeof address !== 'string') {
    throw graphErrors.invalidRequest("The property 'emailAddress.address' is required.");
  }
  return { address, name: typeof name === 'string' ? name : address };
}

const people = (value: unknown): Recipient[] =>
  (value as unknown[]).map(person).filter((entry) => entry !== null);

function text(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw graphErrors.badRequest(
    `Cannot convert the value of property '${name}' to the expected type 'Edm.String'.`,
  );
}
