import { createHash, randomUUID } from 'node:crypto';
import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import PostalMime, { addressParser, type Address, type Attachment, type Email } from 'postal-mime';
import { newImmutableId } from '../graph/item-ids.ts';
import type { MessageContent, Recipient, StoredAttachment } from './message.ts';

/** Reads a message in MIME. Fields that it lacks get Exchange's defaults. */
export async function readMime(mime: Buffer, now: Date): Promise<MessageContent> {
  const email = await PostalMime.parse(mime, { forceRfc822Attachments: true });
  const from = recipients(email.from ? [email.from] : [])[0] ?? null;
  const sender = recipients(email.sender ? [email.sender] : [])[0] ?? from;
  const html = email.html ?? null;
  const sent = new Date(email.date ?? now);
  return {
    subject: email.subject ?? '',
    body:
      html === null
        ? { contentType: 'text', content: email.text ?? '' }
        : { contentType: 'html', content: html },
    from,
    sender,
    to: recipients(email.to),
    cc: recipients(email.cc),
    bcc: recipients(email.bcc),
    replyTo: recipients(email.replyTo),
    internetMessageId: email.messageId ?? newMessageId(),
    headers: email.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    attachments: email.attachments.map((attachment) => toAttachment(attachment, now)),
    importance: importanceOf(email),
    sent: Number.isNaN(sent.getTime()) ? now : sent,
    isReadReceiptRequested: has(email, 'disposition-notification-to'),
    isDeliveryReceiptRequested: has(email, 'return-receipt-to'),
    mime,
  };
}

/** A Message-ID of the form that Exchange gives. */
export const newMessageId = (): string =>
  `<${createHash('md5').update(randomUUID()).digest('hex').toUpperCase()}@STUB.PROD.OUTLOOK.COM>`;

/** The message as MIME: as it was written, or composed from its fields. */
export async function writeMime(message: MessageContent): Promise<Buffer> {
  if (message.mime) return message.mime;
  const { from, sender, body } = message;
  const custom = message.headers.filter(({ name }) => /^x-|^(in-reply-to|references)$/i.test(name));
  const composer = new MailComposer({
    ...(from ? { from } : {}),
    ...(sender && from && sender.address !== from.address ? { sender } : {}),
    to: message.to,
    cc: message.cc,
    bcc: message.bcc,
    replyTo: message.replyTo,
    subject: message.subject,
    ...(body.contentType === 'html' ? { html: body.content } : { text: body.content }),
    messageId: message.internetMessageId,
    date: message.sent,
    headers: custom.map(({ name, value }) => ({ key: name, value })),
    attachments: message.attachments.map((attachment) => ({
      filename: attachment.name,
      contentType: attachment.contentType,
      content: attachment.content,
      contentDisposition: attachment.isInline ? 'inline' : 'attachment',
      ...(attachment.contentId ? { cid: attachment.contentId } : {}),
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const root = composer.compile();
  root.keepBcc = true;
  return root.build();
}

/** MIME without its Bcc fields, which Exchange removes from the copies of recipients. */
export function withoutBcc(mime: Buffer): Buffer {
  const text = mime.toString('latin1');
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length;
  const head = text.slice(0, end).replace(/^bcc[ \t]*:.*(\r?\n[ \t].*)*(\r?\n|$)/gim, '');
  return Buffer.from(head.replace(/\r?\n$/, '') + text.slice(end), 'latin1');
}

/** First 255 characters of the text of a body, on one line. */
export function previewOf({ contentType, content }: MessageContent['body']): string {
  const text = contentType === 'html' ? htmlToText(content) : content;
  return text.replace(/\s+/g, ' ').trim().slice(0, 255);
}

/** Text of an HTML body, without markup. */
export function htmlToText(html: string): string {
  return html
    .replace(/<(style|script|title)[\s\S]*?<\/\1>/gi, '')
    .replace(/<(br|\/p|\/div)[^>]*>/gi, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&nbsp;/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&');
}

function recipients(list: readonly Address[] | undefined): Recipient[] {
  return (list ?? [])
    .flatMap((entry) => entry.group ?? [entry])
    .flatMap((entry) =>
      entry.address === undefined
        ? []
        : [{ name: entry.name || entry.address, address: entry.address }],
    );
}

/** Addresses of a header field's value. */
export const readAddresses = (value: string): Recipient[] => recipients(addressParser(value));

function toAttachment(attachment: Attachment, now: Date): StoredAttachment {
  const { content, contentId, mimeType, disposition } = attachment;
  const id = contentId?.replace(/^<|>$/g, '') ?? null;
  return {
    id: newImmutableId(),
    kind: mimeType === 'message/rfc822' ? 'item' : 'file',
    name: attachment.filename ?? '',
    contentType: mimeType,
    isInline: disposition === 'inline' || (attachment.related === true && id !== null),
    contentId: id,
    content:
      typeof content === 'string' ? Buffer.from(content) : Buffer.from(new Uint8Array(content)),
    modified: now,
  };
}

const has = (email: Email, name: string) => email.headers.some(({ key }) => key === name);

function importanceOf(email: Email): MessageContent['importance'] {
  const value = email.headers.find(({ key }) => key === 'importance')?.value.toLowerCase();
  return value === 'high' || value === 'low' ? value : 'normal';
}
