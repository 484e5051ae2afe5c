import type { ItemIds } from '../graph/item-ids.ts';
import { type Json } from '../http/types.ts';
import type { MailFolder } from './folders.ts';
import type { Mailbox } from './mailbox.ts';
import type { Recipient, StoredAttachment, StoredMessage } from './message.ts';
import { htmlToText, previewOf } from './mime.ts';

/** What a request asks for about the form of the answer. */
export interface JsonForm {
  /** With `Prefer: IdType="ImmutableId"`. */
  immutable: boolean;
  /** With `Prefer: outlook.body-content-type`. */
  bodyType?: 'text' | 'html';
  /** Setting `hidesOwnHeaders`. */
  hidesOwnHeaders?: boolean;
}

/** The id of an item in the form that the request asks for. */
export const idIn = (form: JsonForm, ids: ItemIds): string =>
  form.immutable ? ids.immutableId : ids.restId;

/** A time as Graph writes it: in seconds, UTC. */
export const stamp = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

/** Change key of a version of an item. */
export const changeKey = (ids: ItemIds, version: number): string =>
  Buffer.from(`${ids.immutableId.slice(8, 24)}:${version}`).toString('base64');

export const etag = (ids: ItemIds, version: number): string => `W/"${changeKey(ids, version)}"`;

const person = ({ name, address }: Recipient): Json => ({ emailAddress: { name, address } });

/** A message as Graph shows it. `internetMessageHeaders` is only shown if it is selected. */
export function messageJson(message: StoredMessage, form: JsonForm): Json {
  const { body } = message;
  const asText = form.bodyType === 'text' && body.contentType === 'html';
  return {
    '@odata.etag': etag(message, message.version),
    id: idIn(form, message),
    createdDateTime: stamp(message.created),
    lastModifiedDateTime: stamp(message.modified),
    changeKey: changeKey(message, message.version),
    categories: message.categories,
    receivedDateTime: stamp(message.received),
    sentDateTime: stamp(message.sent),
    hasAttachments: message.attachments.some(({ isInline }) => !isInline),
    internetMessageId: message.internetMessageId,
    subject: message.subject,
    bodyPreview: previewOf(body),
    importance: message.importance,
    parentFolderId: message.folderId,
    conversationId: message.conversationId,
    conversationIndex: message.conversationIndex,
    isDeliveryReceiptRequested: message.isDeliveryReceiptRequested,
    isReadReceiptRequested: message.isReadReceiptRequested,
    isRead: message.isRead,
    isDraft: message.isDraft,
    webLink: `https://outlook.office365.com/owa/?ItemID=${encodeURIComponent(message.restId)}&exvsurl=1&viewmodel=ReadMessageItem`,
    inferenceClassification: message.inferenceClassification,
    body: asText ? { contentType: 'text', content: htmlToText(body.content) } : { ...body },
    ...(message.sender ? { sender: person(message.sender) } : {}),
    ...(message.from ? { from: person(message.from) } : {}),
    toRecipients: message.to.map(person),
    ccRecipients: message.cc.map(person),
    bccRecipients: message.bcc.map(person),
    replyTo: message.replyTo.map(person),
    flag: message.flag,
    ...(form.hidesOwnHeaders && message.isOwn ? {} : { internetMessageHeaders: message.headers }),
  };
}

/** Properties of a message that an answer has only if `$select` names them. */
export const MESSAGE_ON_DEMAND = new Set(['internetMessageHeaders']);

const ODATA_TYPE = {
  file: '#microsoft.graph.fileAttachment',
  item: '#microsoft.graph.itemAttachment',
  reference: '#microsoft.graph.referenceAttachment',
};

/** An attachment as Graph shows it; a file with its bytes. */
export function attachmentJson(attachment: StoredAttachment): Json {
  const { kind, contentId, content } = attachment;
  return {
    '@odata.type': ODATA_TYPE[kind],
    '@odata.mediaContentType': attachment.contentType,
    id: attachment.id,
    lastModifiedDateTime: stamp(attachment.modified),
    name: attachment.name,
    contentType: attachment.contentType,
    size: content.length,
    isInline: attachment.isInline,
    ...(kind === 'file'
      ? { contentId, contentLocation: null, contentBytes: content.toString('base64') }
      : {}),
  };
}

/** A folder as Graph v1.0 shows it. Its well-known name is not part of v1.0. */
export function folderJson(mailbox: Mailbox, folder: MailFolder): Json {
  let unread = 0;
  const messages = mailbox.messagesIn(folder.id);
  for (const { isRead } of messages.values()) if (!isRead) unread += 1;
  return {
    id: folder.id,
    displayName: folder.displayName,
    parentFolderId: folder.parentId || folder.id,
    childFolderCount: mailbox.childFolders(folder.id).filter(({ isHidden }) => !isHidden).length,
    unreadItemCount: unread,
    totalItemCount: messages.size,
    isHidden: folder.isHidden,
  };
}
