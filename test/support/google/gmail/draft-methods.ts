import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleRouter, NO_CONTENT, ok, page, pageSize } from '../call.ts';
import { notFound } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import type { MailMessage } from './mailbox.ts';
import { formatOf, gmail } from './message-methods.ts';
import { matchingMessages } from './search.ts';
import { sendMail, storedForm } from './sending.ts';
import { hasMessage, sentMessage } from './upload.ts';
import { messageView } from './view.ts';

const DRAFTS = '/gmail/v1/users/{userId}/drafts';

/** Adds the methods of drafts. A draft keeps its id; its message gets a new one at every change. */
export function addDraftMethods(router: GoogleRouter): void {
  router.add('GET', DRAFTS, gmail(5, NEEDS.draftsRead, list));
  router.add('GET', `${DRAFTS}/{id}`, gmail(20, NEEDS.draftsRead, get, 5));
  router.add('DELETE', `${DRAFTS}/{id}`, gmail(10, NEEDS.mailCompose, remove));
  for (const prefix of ['', '/upload']) {
    router.add('POST', `${prefix}${DRAFTS}`, gmail(10, NEEDS.mailCompose, create));
    router.add('PUT', `${prefix}${DRAFTS}/{id}`, gmail(15, NEEDS.mailCompose, update));
    router.add('POST', `${prefix}${DRAFTS}/send`, gmail(100, NEEDS.mailCompose, send));
  }
}

function messageOf({ user }: GoogleCall, draftId: string): MailMessage {
  const id = user.mailbox.drafts.get(draftId);
  if (id === undefined) throw notFound();
  return user.mailbox.get(id);
}

function shortView(id: string, { id: messageId, threadId, labels }: MailMessage): object {
  return { id, message: { id: messageId, threadId, labelIds: [...labels] } };
}

function list({ user, query, world }: GoogleCall): StubAnswer {
  const { mailbox } = user;
  const includeSpamTrash = query.get('includeSpamTrash') === 'true';
  const filter = { q: query.get('q') ?? '', labelIds: ['DRAFT'], includeSpamTrash };
  const byMessage = new Map([...mailbox.drafts].map(([draft, message]) => [message, draft]));
  const found = matchingMessages(mailbox, filter).filter(({ id }) => byMessage.has(id));
  const size = pageSize(query, 'maxResults', 100, 500);
  const { items, nextPageToken } = page(
    found,
    ({ id }) => id,
    size,
    query.get('pageToken'),
    world.habits.pages,
  );
  const drafts = items.map(({ id, threadId }) => ({
    id: byMessage.get(id),
    message: { id, threadId },
  }));
  return ok({
    ...(drafts.length > 0 && { drafts }),
    ...(nextPageToken && { nextPageToken }),
    resultSizeEstimate: found.length,
  });
}

function get(call: GoogleCall): StubAnswer {
  const id = call.params['id'] ?? '';
  return ok({ id, message: messageView(messageOf(call, id), formatOf(call)) });
}

function create(call: GoogleCall): StubAnswer {
  const { raw, threadId } = sentMessage(call, 'message');
  const { mailbox } = call.user;
  const stored = storedForm(call.world, raw);
  const message = mailbox.add({ raw: stored, labels: ['DRAFT'], ...(threadId && { threadId }) });
  return ok(shortView(mailbox.addDraft(message), message));
}

function update(call: GoogleCall): StubAnswer {
  const id = call.params['id'] ?? '';
  const { mailbox } = call.user;
  const old = messageOf(call, id);
  const { raw, threadId } = sentMessage(call, 'message');
  mailbox.remove(old);
  const isThread = mailbox.messages().some((other) => other.threadId === old.threadId);
  const thread = threadId ?? (isThread ? old.threadId : undefined);
  const stored = storedForm(call.world, raw);
  const message = mailbox.add({
    raw: stored,
    labels: ['DRAFT'],
    ...(thread && { threadId: thread }),
  });
  mailbox.drafts.set(id, message.id);
  return ok(shortView(id, message));
}

function remove(call: GoogleCall): StubAnswer {
  call.user.mailbox.remove(messageOf(call, call.params['id'] ?? ''));
  return NO_CONTENT;
}

function send(call: GoogleCall): StubAnswer {
  const { world, user, body } = call;
  const id = typeof body['id'] === 'string' ? body['id'] : null;
  const draft = id === null ? null : messageOf(call, id);
  const given = hasMessage(call) ? sentMessage(call, 'message') : null;
  if (!draft && !given) throw notFound();
  const raw = given?.raw ?? draft?.raw ?? Buffer.alloc(0);
  const others = user.mailbox.messages().filter((other) => other !== draft);
  const isThread = others.some(({ threadId }) => threadId === draft?.threadId);
  const threadId = given?.threadId ?? (isThread ? draft?.threadId : undefined);
  const message = sendMail(world, user, raw, threadId);
  if (draft) user.mailbox.remove(draft);
  return ok({ id: message.id, threadId: message.threadId, labelIds: [...message.labels] });
}
