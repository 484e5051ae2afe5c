import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleRouter, NO_CONTENT, ok, page, pageSize } from '../call.ts';
import { GoogleError, invalid, notFound } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import type { HistoryRecord } from './history.ts';
import type { Label } from './labels.ts';
import type { Mailbox } from './mailbox.ts';
import { gmail } from './message-methods.ts';

const USER = '/gmail/v1/users/{userId}';
const WATCH_DAYS = 7;

/** Adds the methods of the mailbox itself: profile, labels, history, watches, send-as. */
export function addMailboxMethods(router: GoogleRouter): void {
  router.add('GET', `${USER}/profile`, gmail(1, NEEDS.profile, profile));
  router.add('GET', `${USER}/labels`, gmail(1, NEEDS.labelsRead, listLabels));
  router.add('POST', `${USER}/labels`, gmail(5, NEEDS.labelsWrite, createLabel));
  router.add('GET', `${USER}/labels/{id}`, gmail(1, NEEDS.labelsRead, getLabel));
  router.add('PATCH', `${USER}/labels/{id}`, gmail(5, NEEDS.labelsWrite, changeLabel));
  router.add('PUT', `${USER}/labels/{id}`, gmail(5, NEEDS.labelsWrite, changeLabel));
  router.add('DELETE', `${USER}/labels/{id}`, gmail(5, NEEDS.labelsWrite, removeLabel));
  router.add('GET', `${USER}/history`, gmail(2, NEEDS.mailMetadata, history));
  router.add('POST', `${USER}/watch`, gmail(100, NEEDS.mailMetadata, watch));
  router.add('POST', `${USER}/stop`, gmail(50, NEEDS.mailMetadata, stop));
  router.add('GET', `${USER}/settings/sendAs`, gmail(1, NEEDS.sendAs, listSendAs));
  router.add('GET', `${USER}/settings/sendAs/{email}`, gmail(1, NEEDS.sendAs, getSendAs));
}

function profile({ user }: GoogleCall): StubAnswer {
  const messages = user.mailbox.messages();
  return ok({
    emailAddress: user.email,
    messagesTotal: messages.length,
    threadsTotal: new Set(messages.map(({ threadId }) => threadId)).size,
    historyId: String(user.mailbox.history.lastId),
  });
}

function listLabels({ user }: GoogleCall): StubAnswer {
  return ok({ labels: user.mailbox.labels.all() });
}

function withNumbers(mailbox: Mailbox, label: Label): object {
  const messages = mailbox.messages().filter(({ labels }) => labels.has(label.id));
  const unread = messages.filter(({ labels }) => labels.has('UNREAD'));
  const threads = (list: typeof messages) => new Set(list.map(({ threadId }) => threadId)).size;
  return {
    ...label,
    messagesTotal: messages.length,
    messagesUnread: unread.length,
    threadsTotal: threads(messages),
    threadsUnread: threads(unread),
  };
}

function getLabel({ user, params }: GoogleCall): StubAnswer {
  return ok(withNumbers(user.mailbox, user.mailbox.labels.get(params['id'] ?? '')));
}

function createLabel({ user, body }: GoogleCall): StubAnswer {
  return ok(user.mailbox.labels.create(body));
}

function changeLabel({ user, params, body }: GoogleCall): StubAnswer {
  return ok(user.mailbox.labels.change(params['id'] ?? '', body));
}

function removeLabel({ user, params }: GoogleCall): StubAnswer {
  user.mailbox.removeLabel(params['id'] ?? '');
  return NO_CONTENT;
}

const FIELDS = {
  messageAdded: 'messagesAdded',
  messageDeleted: 'messagesDeleted',
  labelAdded: 'labelsAdded',
  labelRemoved: 'labelsRemoved',
} as const;

/** The labels of a message may be missing. */
type ShownRecord = Pick<HistoryRecord, 'id' | 'type' | 'labelIds'> & {
  message: Omit<HistoryRecord['message'], 'labelIds'>;
};

function history({ user, query, world }: GoogleCall): StubAnswer {
  const start = query.get('startHistoryId') ?? '';
  if (!/^\d+$/.test(start)) throw invalid('Invalid startHistoryId');
  const { history: known } = user.mailbox;
  if (Number(start) > known.lastId) throw invalid('Invalid startHistoryId');
  const records = known.since(Number(start));
  if (!records) throw notFound();
  const types = query.getAll('historyTypes');
  const labelId = query.get('labelId');
  const wanted = records.filter(
    ({ type, message, labelIds }) =>
      (types.length === 0 || types.includes(type)) &&
      (labelId === null || [...message.labelIds, ...labelIds].includes(labelId)),
  );
  const size = pageSize(query, 'maxResults', 100, 500);
  const found = page(
    wanted,
    ({ id }) => String(id),
    size,
    query.get('pageToken'),
    world.habits.pages,
  );
  return ok({
    ...(found.items.length > 0 && { history: recordsOf(found.items, world.habits.mixedHistory) }),
    ...(found.nextPageToken && { nextPageToken: found.nextPageToken }),
    historyId: String(known.lastId),
  });
}

/** A record as Gmail shows it. */
type HistoryView = { id: string; messages: object[] } & Partial<
  Record<(typeof FIELDS)[HistoryRecord['type']], object[]>
>;

function historyView({ id, type, message, labelIds }: ShownRecord): HistoryView {
  const { id: messageId, threadId } = message;
  const isLabel = type === 'labelAdded' || type === 'labelRemoved';
  return {
    id: String(id),
    messages: [{ id: messageId, threadId }],
    [FIELDS[type]]: [{ message, ...(isLabel && { labelIds }) }],
  };
}

/** @param mixed see `GoogleHabits.mixedHistory` */
function recordsOf(records: readonly HistoryRecord[], mixed: boolean): object[] {
  const views = records.map(historyView);
  if (!mixed) return views;
  return records.flatMap((first, at) => {
    if (at % 2 === 1) return [];
    const second = records[at + 1];
    return second ? [mixedView(first, second)] : [historyView(first)];
  });
}

/** One record with the changes of two. */
function mixedView(first: HistoryRecord, second: HistoryRecord): object {
  const { labelIds: _labels, ...message } = second.message;
  const [one, other] = [historyView(first), historyView({ ...second, message })];
  const changes = Object.values(FIELDS).flatMap((name) => {
    const list = [one, other].flatMap((view) => view[name] ?? []);
    return list.length > 0 ? [[name, list] as const] : [];
  });
  const messages = [one, other].flatMap((view) => view.messages);
  return { id: other.id, messages, ...Object.fromEntries(changes) };
}

function watch({ world, user, body }: GoogleCall): StubAnswer {
  const { topicName, labelIds, labelFilterBehavior, labelFilterAction } = body;
  if (typeof topicName !== 'string' || !/^projects\/[^/]+\/topics\/[^/]+$/.test(topicName))
    throw invalid(`Invalid topicName does not match projects/{project}/topics/*`);
  const expiresAt = world.now() + WATCH_DAYS * 86_400_000;
  const behaviour = String(labelFilterBehavior ?? labelFilterAction ?? 'include').toLowerCase();
  if (user.watch && user.watch.expiresAt > world.now() && user.watch.topicName !== topicName)
    throw new GoogleError(
      400,
      'failedPrecondition',
      'Only one user push notification client allowed per developer (call /stop then try again)',
    );
  user.watch = {
    topicName,
    labelIds: ((labelIds ?? []) as unknown[]).map(String),
    isInclude: behaviour === 'include',
    expiresAt,
  };
  const { lastId } = user.mailbox.history;
  world.announceMail(user, lastId, new Set(user.watch.labelIds));
  return ok({ historyId: String(lastId), expiration: String(expiresAt) });
}

function stop({ user }: GoogleCall): StubAnswer {
  user.watch = null;
  return NO_CONTENT;
}

function listSendAs({ user }: GoogleCall): StubAnswer {
  return ok({ sendAs: user.sendAs });
}

function getSendAs({ user, params }: GoogleCall): StubAnswer {
  const found = user.sendAs.find(({ sendAsEmail }) => sendAsEmail === params['email']);
  if (!found) throw notFound();
  return ok(found);
}
