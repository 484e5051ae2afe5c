import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleRouter, NO_CONTENT, ok, page, pageSize } from '../call.ts';
import { NEEDS } from '../scopes.ts';
import type { MailMessage } from './mailbox.ts';
import { formatOf, gmail, labelChange, listedMessages } from './message-methods.ts';
import { messageView } from './view.ts';

const THREADS = '/gmail/v1/users/{userId}/threads';

/** Adds the methods of threads. */
export function addThreadMethods(router: GoogleRouter): void {
  router.add('GET', THREADS, gmail(10, NEEDS.mailMetadata, list));
  router.add('GET', `${THREADS}/{id}`, gmail(40, NEEDS.mailMetadata, get, 10));
  router.add('POST', `${THREADS}/{id}/modify`, gmail(10, NEEDS.mailModify, modify));
  router.add('POST', `${THREADS}/{id}/trash`, gmail(10, NEEDS.mailModify, trash));
  router.add('POST', `${THREADS}/{id}/untrash`, gmail(10, NEEDS.mailModify, untrash));
  router.add('DELETE', `${THREADS}/{id}`, gmail(20, NEEDS.mailAll, remove));
}

function list(call: GoogleCall): StubAnswer {
  const newest = new Map<string, MailMessage>();
  for (const message of listedMessages(call))
    if (!newest.has(message.threadId)) newest.set(message.threadId, message);
  const size = pageSize(call.query, 'maxResults', 100, 500);
  const token = call.query.get('pageToken');
  const found = page(
    [...newest.values()],
    ({ threadId }) => threadId,
    size,
    token,
    call.world.habits.pages,
  );
  const threads = found.items.map((message) => {
    const { snippet } = messageView(message, 'minimal') as { snippet: string };
    return { id: message.threadId, snippet, historyId: String(message.historyId) };
  });
  return ok({
    ...(threads.length > 0 && { threads }),
    ...(found.nextPageToken && { nextPageToken: found.nextPageToken }),
    resultSizeEstimate: newest.size,
  });
}

function thread({ user, params }: GoogleCall): MailMessage[] {
  return user.mailbox.thread(params['id'] ?? '');
}

function get(call: GoogleCall): StubAnswer {
  const format = formatOf(call);
  const messages = thread(call);
  const names = call.query.getAll('metadataHeaders');
  return ok({
    id: call.params['id'],
    historyId: String(Math.max(...messages.map(({ historyId }) => historyId))),
    messages: messages.map((message) => messageView(message, format, names)),
  });
}

function short(call: GoogleCall): StubAnswer {
  const messages = thread(call).map(({ id, threadId, labels }) => ({
    id,
    threadId,
    labelIds: [...labels],
  }));
  return ok({ id: call.params['id'], messages });
}

function modify(call: GoogleCall): StubAnswer {
  const { add, remove } = labelChange(call);
  for (const message of thread(call)) call.user.mailbox.relabel(message, add, remove);
  return short(call);
}

function trash(call: GoogleCall): StubAnswer {
  for (const message of thread(call)) call.user.mailbox.trash(message);
  return short(call);
}

function untrash(call: GoogleCall): StubAnswer {
  for (const message of thread(call)) call.user.mailbox.relabel(message, [], ['TRASH']);
  return short(call);
}

function remove(call: GoogleCall): StubAnswer {
  for (const message of thread(call)) call.user.mailbox.remove(message);
  return NO_CONTENT;
}
