import { randomUUID } from 'node:crypto';
import type { StubUser } from '../directory/directory.ts';
import type { World } from '../world.ts';
import { bodyOf, type GraphContext, type GraphRoute, property, reading } from '../graph/context.ts';
import type { PathValues } from '../http/routes.ts';
import { graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import { assertRoom, messageIn } from './mail-access.ts';
import { newContent, readMessage } from './message-input.ts';
import { mimeBody, send } from './sending.ts';
import type { MessageContent, StoredMessage } from './message.ts';

const SEND = ['Mail.Send'];

/** Routes that send messages. */
export const sendRoutes: GraphRoute[] = [
  { method: 'POST', path: 'sendMail', permissions: SEND, handle: sendMail },
  { method: 'POST', path: 'messages/{id}/send', permissions: SEND, handle: sendDraft },
  {
    method: 'POST',
    path: 'mailFolders/{folder}/messages/{id}/send',
    permissions: SEND,
    handle: sendDraft,
  },
  {
    method: 'POST',
    path: 'messages/{id}/createReply',
    permissions: reading('Mail').slice(1),
    handle: createReply,
  },
];

/** An application that acts by itself needs no permission of its own for this. */
const maySendAsOthers = ({ token, world }: GraphContext): boolean =>
  world.settings.sendsAsOthersWithMailSend ||
  token.grant.user === null ||
  [...token.permissions].some((name) => name.toLowerCase() === 'mail.send.shared');

async function sendMail(context: GraphContext): Promise<StubAnswer> {
  assertRoom(context);
  const { world, user, request } = context;
  const now = user.mailbox.now();
  const isMime = request.headers['content-type']?.startsWith('text/plain') === true;
  const body = isMime ? {} : bodyOf(context);
  const content = isMime ? await mimeBody(request.body, now) : jsonMessage(body, now);
  const keep = property(body, 'saveToSentItems') !== false;
  const mayBeOthers = maySendAsOthers(context);
  await send(world, user, content, {
    mayBeOthers,
    ...(keep ? { file: toSentItems(context) } : {}),
  });
  return { status: 202 };
}

function jsonMessage(body: Json, now: Date): MessageContent {
  const message = property(body, 'message');
  if (typeof message !== 'object' || message === null) {
    throw graphErrors.invalidRequest("The parameter 'Message' is required.");
  }
  return newContent(readMessage(message as Json, now), now);
}

const toSentItems =
  ({ user: { mailbox } }: GraphContext) =>
  (content: MessageContent) => {
    mailbox.add(content, { folderId: mailbox.folderId('sentitems'), isRead: true, isOwn: true });
  };

/** Sends a draft. Exchange moves it to Sent Items: its immutable id stays. */
async function sendDraft(context: GraphContext, values: PathValues): Promise<StubAnswer> {
  const { world, user } = context;
  const draft = messageIn(context, values);
  if (!draft.isDraft) {
    throw graphErrors.invalidRequest('The message is not a draft and cannot be sent.');
  }
  const file = (content: MessageContent) => moveToSent(user, draft, content);
  await send(world, user, draft, { mayBeOthers: maySendAsOthers(context), file });
  return { status: 202 };
}

function moveToSent({ mailbox }: StubUser, draft: StoredMessage, content: MessageContent): void {
  // Deleted in the meantime.
  if (!mailbox.message(draft.immutableId)) return;
  const { from, sender, sent, internetMessageId, headers } = content;
  const kept = { internetMessageId, headers, received: sent };
  mailbox.update(draft, { isDraft: false, isRead: true, from, sender, sent, ...kept });
  mailbox.move(draft, mailbox.folderId('sentitems'));
}

/**
 * Sends a draft as a person does in Outlook. Classic Outlook removes the draft and files another
 * message, with another immutable id and Message-ID (office-js#5566, #6066).
 */
export async function sendInOutlook(
  world: World,
  user: StubUser,
  draft: StoredMessage,
  isClassic: boolean,
): Promise<void> {
  const { mailbox } = user;
  const content = isClassic
    ? { ...draft, internetMessageId: `<${randomUUID()}@outlook.test>`, mime: null }
    : draft;
  await send(world, user, content, {
    mayBeOthers: true,
    file: (sent) => {
      if (!isClassic) return moveToSent(user, draft, sent);
      mailbox.remove(draft);
      mailbox.add(sent, { folderId: mailbox.folderId('sentitems'), isRead: true, isOwn: true });
    },
  });
}

/** Makes a draft that replies to a message, in the same conversation. */
function createReply(context: GraphContext, values: PathValues): StubAnswer {
  const { world, user } = context;
  const { mailbox } = user;
  const original = messageIn(context, values);
  const now = mailbox.now();
  const content = newContent(
    {
      subject: /^re:/i.test(original.subject) ? original.subject : `RE: ${original.subject}`,
      from: world.personOf(user),
      sender: world.personOf(user),
      to: original.replyTo.length > 0 ? original.replyTo : original.from ? [original.from] : [],
      headers: [
        { name: 'In-Reply-To', value: original.internetMessageId },
        { name: 'References', value: referencesOf(original) },
      ],
      ...readMessage((property(bodyOf(context), 'message') ?? {}) as Json, now),
    },
    now,
  );
  const draft = mailbox.add(content, {
    folderId: mailbox.folderId('drafts'),
    isDraft: true,
    isRead: true,
    isOwn: true,
  });
  const id = context.form.immutable ? draft.immutableId : draft.restId;
  return {
    status: 201,
    body: {
      '@odata.type': '#microsoft.graph.message',
      id,
      subject: draft.subject,
      isDraft: true,
      conversationId: draft.conversationId,
    },
  };
}

function referencesOf({ headers, internetMessageId }: MessageContent): string {
  const earlier = headers.find(({ name }) => name.toLowerCase() === 'references')?.value ?? '';
  return `${earlier} ${internetMessageId}`.trim();
}
