import { z } from 'zod';
import { withBcc } from '../../../formats/mime/with-bcc.ts';
import type { MessageContent, RemoteMessageState, RemoteMessage } from '../../port/connector.ts';

/* Messages of Microsoft Graph, and what the mirror takes of them. */

/** Bytes of a message in which its header is looked for. */
const MOST_HEADER = 256 * 1024;

const address = z.object({
  emailAddress: z.object({ name: z.string().nullish(), address: z.string().nullish() }).nullish(),
});
type GraphAddress = z.infer<typeof address>;
const addresses = z.array(address).nullish();

export const graphMessage = z.object({
  id: z.string(),
  receivedDateTime: z.string().nullish(),
  createdDateTime: z.string().nullish(),
  sentDateTime: z.string().nullish(),
  isRead: z.boolean().nullish(),
  isDraft: z.boolean().nullish(),
  flag: z.object({ flagStatus: z.string().nullish() }).nullish(),
  parentFolderId: z.string().nullish(),
  conversationId: z.string().nullish(),
  internetMessageId: z.string().nullish(),
  subject: z.string().nullish(),
  from: address.nullish(),
  sender: address.nullish(),
  toRecipients: addresses,
  ccRecipients: addresses,
  bccRecipients: addresses,
  replyTo: addresses,
  bodyPreview: z.string().nullish(),
  hasAttachments: z.boolean().nullish(),
});
export type GraphMessage = z.infer<typeof graphMessage>;

/** The properties that place a message and show it in a list. */
export const LIST_FIELDS =
  'id,receivedDateTime,createdDateTime,sentDateTime,isRead,isDraft,flag,parentFolderId,conversationId,internetMessageId,subject,from,sender,toRecipients,ccRecipients,bccRecipients,replyTo,bodyPreview,hasAttachments';

/** The properties that place a message. */
export const PLACE_FIELDS =
  'id,receivedDateTime,createdDateTime,isRead,isDraft,flag,parentFolderId,conversationId';

/** When the message was received; drafts were created. */
export function receivedAt({ receivedDateTime, createdDateTime }: GraphMessage): Date {
  const at = Date.parse(receivedDateTime ?? createdDateTime ?? '');
  return new Date(Number.isNaN(at) ? 0 : at);
}

/** A message as the mirror takes it, without content. */
export function remoteOf(message: GraphMessage, folderId?: string): RemoteMessage {
  return { ...stateOf(message, folderId), content: null };
}

/** Where a message is, and its flags. */
export function stateOf(message: GraphMessage, folderId?: string): RemoteMessageState {
  const folder = message.parentFolderId ?? folderId;
  return {
    providerId: message.id,
    threadId: message.conversationId ?? null,
    folderIds: folder === undefined ? [] : [folder],
    receivedAt: receivedAt(message),
    unread: message.isRead === false,
    starred: message.flag?.flagStatus === 'flagged',
  };
}

/**
 * The content of a message with its hidden recipients. Graph names those of drafts, but the MIME
 * text may be without them.
 */
export function withBccOf(message: GraphMessage, content: MessageContent): MessageContent {
  if (content.kind !== 'mime') return content;
  const bcc = (message.bccRecipients ?? []).flatMap(({ emailAddress }) => {
    const email = emailAddress?.address;
    return email && !/[\s<>]/.test(email) ? [{ email }] : [];
  });
  const end = content.mime.indexOf('\r\n\r\n');
  const header = content.mime.subarray(0, end === -1 ? MOST_HEADER : Math.min(end, MOST_HEADER));
  if (/^bcc[ \t]*:/im.test(header.toString('latin1'))) return content;
  return { kind: 'mime', mime: withBcc(content.mime, bcc) };
}

/** A message of the history: its header is known, its text is fetched later. */
export function listedOf(message: GraphMessage, folderId: string): RemoteMessage {
  return {
    ...remoteOf(message, folderId),
    content: {
      kind: 'listed',
      headers: headerBlock(headersOf(message)),
      snippet: message.bodyPreview?.trim() || null,
      hasFiles: message.hasAttachments === true,
    },
  };
}

const addressOf = ({ emailAddress }: GraphAddress): string[] => {
  const { name, address: email } = emailAddress ?? {};
  if (!email || /[\s<>]/.test(email)) return [];
  return [name && name !== email ? `${quoted(name)} <${email}>` : `<${email}>`];
};

/** A name as a quoted string (RFC 5322 section 3.2.4), in UTF-8. */
const quoted = (name: string): string => `"${oneLine(name).replaceAll(/["\\]/g, '\\$&')}"`;
const oneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').trim();

/** A field of a header block. */
export interface HeaderField {
  name: string;
  value: string;
}

/** Header fields that the properties of `LIST_FIELDS` stand for, without empty ones. */
export function headersOf(message: GraphMessage): HeaderField[] {
  const lists: [string, readonly GraphAddress[]][] = [
    ['From', [message.from ?? message.sender ?? {}]],
    ['To', message.toRecipients ?? []],
    ['Cc', message.ccRecipients ?? []],
    ['Bcc', message.bccRecipients ?? []],
    ['Reply-To', message.replyTo ?? []],
  ];
  const sentAt = Date.parse(message.sentDateTime ?? '');
  const date = Number.isNaN(sentAt) ? '' : new Date(sentAt).toUTCString().replace('GMT', '+0000');
  return [
    ...lists.map(([name, list]) => ({ name, value: list.flatMap(addressOf).join(', ') })),
    { name: 'Subject', value: oneLine(message.subject ?? '') },
    { name: 'Message-ID', value: (message.internetMessageId ?? '').replaceAll(/\s+/g, '') },
    { name: 'Date', value: date },
  ].filter(({ value }) => value !== '');
}

/** A header block in UTF-8 (RFC 6532). */
export function headerBlock(fields: readonly HeaderField[]): Buffer {
  const lines = fields.map(
    ({ name, value }) => `${name}: ${value.replaceAll(/[\r\n]+/g, ' ')}\r\n`,
  );
  return Buffer.from(`${lines.join('')}\r\n`);
}
