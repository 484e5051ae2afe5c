import { randomBytes } from 'node:crypto';
import { bodyOf, type GraphContext, type GraphRoute, property, writing } from '../graph/context.ts';
import { newImmutableId } from '../graph/item-ids.ts';
import type { PathValues } from '../http/routes.ts';
import {
  errorBody,
  GraphError,
  graphErrors,
  type Json,
  type StubAnswer,
  type StubRequest,
} from '../http/types.ts';
import type { World } from '../world.ts';
import { messageIn } from './mail-access.ts';
import type { StoredMessage } from './message.ts';
import type { Mailbox } from './mailbox.ts';

/** An attachment that arrives in pieces. */
export interface UploadSession {
  mailbox: Mailbox;
  message: StoredMessage;
  name: string;
  contentType: string;
  isInline: boolean;
  contentId: string | null;
  size: number;
  pieces: Buffer[];
  received: number;
  expires: Date;
}

const MEGABYTE = 1024 * 1024;
const LEAST_BYTES = 3 * MEGABYTE;
const MOST_BYTES = 150 * MEGABYTE;
/** Largest piece in bytes. */
const MOST_PIECE = 4 * MEGABYTE;
/** Path of the addresses that pieces are sent to. They need no token. */
export const UPLOADS = '/upload-sessions/';

/** The route that starts an upload session. */
export const uploadRoutes: GraphRoute[] = [
  {
    method: 'POST',
    path: 'messages/{id}/attachments/createUploadSession',
    permissions: writing('Mail'),
    handle: createSession,
  },
];

function createSession(context: GraphContext, values: PathValues): StubAnswer {
  const { world, user } = context;
  const message = messageIn(context, values);
  const item = property(bodyOf(context), 'attachmentItem') as Json | undefined;
  const { attachmentType, name, size, contentType, isInline, contentId } = item ?? {};
  if (attachmentType !== 'file' || typeof name !== 'string' || typeof size !== 'number') {
    throw graphErrors.invalidRequest('AttachmentItem needs attachmentType, name and size.');
  }
  if (size < LEAST_BYTES) {
    throw new GraphError(
      400,
      'ErrorAttachmentSizeShouldNotBeLessThanMinimumSize',
      'Attachment size must be greater than the minimum size.',
    );
  }
  if (size > MOST_BYTES) {
    throw new GraphError(413, 'ErrorAttachmentSizeLimitExceeded', 'The attachment is too large.');
  }
  const token = randomBytes(24).toString('base64url');
  const expires = new Date(world.now() + 7 * 86_400_000);
  world.uploads.set(token, {
    mailbox: user.mailbox,
    message,
    name,
    size,
    expires,
    contentType: typeof contentType === 'string' ? contentType : 'application/octet-stream',
    isInline: isInline === true,
    contentId: typeof contentId === 'string' ? contentId : null,
    pieces: [],
    received: 0,
  });
  return {
    status: 201,
    body: {
      '@odata.type': '#microsoft.graph.uploadSession',
      uploadUrl: `${world.origin}${UPLOADS}${token}?authtoken=${token}`,
      expirationDateTime: expires.toISOString(),
      nextExpectedRanges: ['0-'],
    },
  };
}

/** Answers requests to the address of an upload session: pieces in order, or its end. */
export function answerUpload(world: World, request: StubRequest): StubAnswer {
  const token = request.path.slice(UPLOADS.length);
  const session = world.uploads.get(token);
  if (request.headers.authorization !== undefined) {
    return failure(401, 'InvalidAudience', 'The address needs no token and refuses others.');
  }
  if (!session || session.expires.getTime() <= world.now()) {
    return failure(404, 'ErrorItemNotFound', 'The upload session was not found.');
  }
  if (request.method === 'DELETE') {
    world.uploads.delete(token);
    return { status: 204 };
  }
  if (request.method === 'GET') return progress(session);
  try {
    return addPiece(world, token, session, request);
  } catch (error) {
    if (error instanceof GraphError) return error.answer();
    throw error;
  }
}

function addPiece(
  world: World,
  token: string,
  session: UploadSession,
  request: StubRequest,
): StubAnswer {
  const { body, headers } = request;
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '');
  const [from, to, size] = (range ?? []).slice(1).map(Number);
  const fits = size === session.size && (to ?? 0) - (from ?? 0) + 1 === body.length;
  if (from === undefined || !fits || body.length > MOST_PIECE) {
    return failure(
      400,
      'ErrorInvalidRequest',
      'The Content-Range header or the length is invalid.',
    );
  }
  if (from !== session.received) {
    return failure(416, 'InvalidRange', `The next expected byte is ${session.received}.`);
  }
  world.quotas.upload(session.mailbox.email, body.length);
  session.pieces.push(body);
  session.received += body.length;
  if (session.received < session.size) return progress(session);
  world.uploads.delete(token);
  const id = finish(session);
  const { restId } = session.message;
  const location = `${world.origin}/v1.0/me/messages/${restId}/attachments/${id}`;
  return { status: 201, headers: { location } };
}

function finish({
  mailbox,
  message,
  pieces,
  name,
  contentType,
  isInline,
  contentId,
}: UploadSession): string {
  const id = newImmutableId();
  const content = Buffer.concat(pieces);
  const modified = mailbox.now();
  const file = {
    id,
    kind: 'file' as const,
    name,
    contentType,
    isInline,
    contentId,
    content,
    modified,
  };
  mailbox.update(message, { attachments: [...message.attachments, file], mime: null });
  return id;
}

/** The names differ from those of Graph, as Outlook's own service answers here. */
const progress = ({ expires, received }: UploadSession): StubAnswer => ({
  status: 200,
  body: {
    ExpirationDateTime: expires.toISOString(),
    NextExpectedRanges: [String(received)],
  },
});

const failure = (status: number, code: string, text: string): StubAnswer => ({
  status,
  body: errorBody(code, text),
});
