import { headerValue, type MimePart, parsedMime } from './mime.ts';
import type { MailMessage } from './mailbox.ts';

/** Forms in which a message is read. */
export type Format = 'full' | 'metadata' | 'minimal' | 'raw';

/** A message as the interface shows it. */
export function messageView(
  message: MailMessage,
  format: Format,
  metadataHeaders: readonly string[] = [],
): object {
  const { id, threadId, labels, raw, date, historyId } = message;
  const common = {
    id,
    threadId,
    ...(labels.size > 0 && { labelIds: [...labels] }),
    snippet: snippetOf(raw),
    historyId: String(historyId),
    internalDate: String(date),
    sizeEstimate: raw.length,
  };
  if (format === 'minimal') return common;
  if (format === 'raw') return { ...common, raw: base64(raw) };
  const root = parsedMime(raw);
  if (format === 'full') return { ...common, payload: partView(root, id) };
  const wanted = metadataHeaders.map((name) => name.toLowerCase());
  const headers = root.headers.filter(
    ({ name }) => wanted.length === 0 || wanted.includes(name.toLowerCase()),
  );
  return { ...common, payload: { partId: '', mimeType: root.mimeType, headers } };
}

/** The content of an attachment; null for an id of another message or part. */
export function attachmentView(message: MailMessage, attachmentId: string): object | null {
  const [messageId, partId] = Buffer.from(attachmentId, 'base64url').toString().split(':');
  const found = allParts(parsedMime(message.raw)).find((part) => part.partId === partId);
  if (messageId !== message.id || !found) return null;
  return { size: found.content.length, data: base64(found.content) };
}

/** True if a message has a part with a file name. */
export function hasAttachment({ raw }: MailMessage): boolean {
  return allParts(parsedMime(raw)).some(({ filename }) => filename !== '');
}

let reads = 0;

function partView(part: MimePart, messageId: string): object {
  const { partId, mimeType, filename, headers, content, parts } = part;
  return {
    partId,
    mimeType,
    filename,
    headers,
    body: bodyView(part, messageId),
    ...(parts.length > 0 && { parts: parts.map((child) => partView(child, messageId)) }),
    ...(mimeType === 'message/rfc822' &&
      content.length > 0 && { parts: [partView(parsedMime(content), messageId)] }),
  };
}

function bodyView({ partId, filename, mimeType, content }: MimePart, messageId: string): object {
  if (content.length === 0) return { size: 0 };
  if (filename === '' && /^(text|multipart)\//.test(mimeType))
    return { size: content.length, data: base64(content) };
  // Gmail gives another id at every reading, and all of them work.
  reads += 1;
  const attachmentId = Buffer.from(`${messageId}:${partId}:${reads}`).toString('base64url');
  return { attachmentId, size: content.length };
}

function allParts(part: MimePart): MimePart[] {
  return [part, ...part.parts.flatMap(allParts)];
}

function base64(bytes: Buffer): string {
  const text = bytes.toString('base64url');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

const snippets = new WeakMap<Buffer, string>();

function snippetOf(raw: Buffer): string {
  const known = snippets.get(raw);
  if (known !== undefined) return known;
  const parts = allParts(parsedMime(raw));
  const text = parts.find(({ mimeType }) => mimeType === 'text/plain') ?? parts[0];
  const isHtml = text?.mimeType === 'text/html';
  const plain = text?.content.toString().replace(isHtml ? /<[^>]*>/g : /^$/, ' ') ?? '';
  const snippet = plain
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 200)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll("'", '&#39;')
    .replaceAll('"', '&quot;');
  snippets.set(raw, snippet);
  return snippet;
}

/** The date in a message's header; null for none. */
export function dateHeader(message: Pick<MailMessage, 'headers'>): number | null {
  const time = Date.parse(headerValue(message.headers, 'date') ?? '');
  return Number.isNaN(time) ? null : time;
}
