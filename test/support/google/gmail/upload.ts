import { invalid } from '../errors.ts';
import type { GoogleCall } from '../call.ts';
import { pieces } from './mime.ts';

/** A message as a client sends it, with the fields of its JSON. */
export interface SentMessage {
  raw: Buffer;
  threadId?: string;
  labelIds: string[];
}

/**
 * Reads the message of a call: `raw` of the JSON, or MIME sent as media, with JSON or without.
 * @param path where the message is in the JSON: `message` for drafts
 */
export function sentMessage(call: GoogleCall, path?: 'message'): SentMessage {
  const { json, media } = call.request.path.includes('/upload/')
    ? uploaded(call)
    : { json: call.body, media: null };
  const fields = (path ? (json[path] ?? {}) : json) as Record<string, unknown>;
  const { raw, threadId, labelIds } = fields;
  if (!media && typeof raw !== 'string')
    throw invalid(
      "'raw' RFC822 payload message string or uploading message via /upload/* URL required",
    );
  const bytes = media ?? Buffer.from(String(raw), 'base64');
  if (bytes.length === 0) throw invalid('Invalid message');
  return {
    raw: bytes,
    ...(typeof threadId === 'string' && { threadId }),
    labelIds: Array.isArray(labelIds) ? labelIds.map(String) : [],
  };
}

/** True for a call that brings a message, not only the id of one. */
export function hasMessage({ request, body }: GoogleCall): boolean {
  return request.path.includes('/upload/') || body['message'] !== undefined;
}

function uploaded({ query, request }: GoogleCall): {
  json: Record<string, unknown>;
  media: Buffer;
} {
  const type = request.headers['content-type'] ?? '';
  if (query.get('uploadType') !== 'multipart') {
    if (!type.startsWith('message/')) throw invalid(`Media type '${type}' is not supported.`);
    return { json: {}, media: request.body };
  }
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/.exec(type) ?? [];
  const parts = pieces(request.body.toString('latin1'), quoted ?? plain ?? '');
  const [json = '', media = ''] = parts.map((part) => part.replace(/^[\s\S]*?\r?\n\r?\n/, ''));
  const text = Buffer.from(json, 'latin1').toString();
  return {
    json: JSON.parse(text) as Record<string, unknown>,
    media: Buffer.from(media, 'latin1'),
  };
}
