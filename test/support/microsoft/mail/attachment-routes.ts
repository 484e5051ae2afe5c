import { bodyOf, type GraphContext, type GraphRoute, reading, writing } from '../graph/context.ts';
import { page, selected } from '../graph/odata.ts';
import type { PathValues } from '../http/routes.ts';
import { GraphError, graphErrors, type StubAnswer } from '../http/types.ts';
import { messageIn } from './mail-access.ts';
import type { StoredAttachment } from './message.ts';
import { attachmentJson } from './message-json.ts';
import { readAttachment } from './message-input.ts';

type Handler = (context: GraphContext, values: PathValues) => StubAnswer;

const both = (method: string, path: string, handle: Handler): GraphRoute[] =>
  ['messages/{id}', 'mailFolders/{folder}/messages/{id}'].map((root) => ({
    method,
    path: `${root}/${path}`,
    handle,
    permissions: method === 'GET' ? reading('Mail') : writing('Mail'),
  }));

/** Largest attachment that one request can add; larger ones need an upload session. */
const MOST_BYTES = 3 * 1024 * 1024;

/** Routes of the attachments of messages. */
export const attachmentRoutes: GraphRoute[] = [
  ...both('GET', 'attachments', (context, values) => ({
    status: 200,
    body: page({
      items: messageIn(context, values).attachments.map(attachmentJson),
      url: context.url,
      query: withCasts(context.request.query),
      defaultTop: 1_000,
    }),
  })),
  ...both('POST', 'attachments', add),
  ...both('GET', 'attachments/{attachment}', (context, values) => ({
    status: 200,
    body: selected(attachmentJson(attachmentIn(context, values)), context.request.query),
  })),
  ...both('GET', 'attachments/{attachment}/$value', (context, values) => {
    const { content, contentType } = attachmentIn(context, values);
    return { status: 200, headers: { 'content-type': contentType }, raw: content };
  }),
  ...both('DELETE', 'attachments/{attachment}', (context, values) => {
    const message = messageIn(context, values);
    const attachment = attachmentIn(context, values);
    const attachments = message.attachments.filter((other) => other !== attachment);
    context.user.mailbox.update(message, { attachments, mime: null });
    return { status: 204 };
  }),
];

const CAST = /^microsoft\.graph\.fileAttachment\//;
/** Properties that files have, and attachments in general have not. */
const OF_FILES = ['contentId', 'contentLocation', 'contentBytes'];

/** The query with the names of `$select` without their casts. @throws {GraphError} 400 */
function withCasts(query: URLSearchParams): URLSearchParams {
  const names = query.get('$select')?.split(',');
  const bare = names?.find((name) => OF_FILES.includes(name.trim()));
  if (bare !== undefined)
    throw graphErrors.badRequest(
      `Parsing OData Select and Expand failed: Could not find a property named '${bare}' on type 'microsoft.graph.attachment'.`,
    );
  const plain = new URLSearchParams(query);
  if (names) plain.set('$select', names.map((name) => name.trim().replace(CAST, '')).join(','));
  return plain;
}

function add(context: GraphContext, values: PathValues): StubAnswer {
  const message = messageIn(context, values);
  const attachment = readAttachment(bodyOf(context), context.user.mailbox.now());
  if (attachment.content.length > MOST_BYTES) {
    throw new GraphError(
      413,
      'ErrorAttachmentSizeLimitExceeded',
      'The size of the attachment exceeds the limit of one request. Use an upload session.',
    );
  }
  context.world.quotas.upload(context.user.email, attachment.content.length);
  const attachments = [...message.attachments, attachment];
  context.user.mailbox.update(message, { attachments, mime: null });
  return { status: 201, body: attachmentJson(attachment) };
}

function attachmentIn(context: GraphContext, values: PathValues): StoredAttachment {
  const { attachment: id } = values;
  const found = messageIn(context, values).attachments.find((attachment) => attachment.id === id);
  if (!found) throw graphErrors.itemNotFound();
  return found;
}
