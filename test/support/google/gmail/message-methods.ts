import {
  type GoogleCall,
  type GoogleMethod,
  type GoogleRouter,
  NO_CONTENT,
  ok,
  page,
  pageSize,
} from '../call.ts';
import { GoogleError, invalid, notFound } from '../errors.ts';
import { NEEDS, scope } from '../scopes.ts';
import type { StubAnswer } from '../../remote-stub/messages.ts';
import { checkedIds, type MailMessage } from './mailbox.ts';
import { matchingMessages } from './search.ts';
import { sendMail, storedForm } from './sending.ts';
import { sentMessage } from './upload.ts';
import { attachmentView, dateHeader, type Format, messageView } from './view.ts';

/** A method of Gmail. @param oldUnits in a project from before May 2026 */
export function gmail(
  units: number,
  needs: readonly string[],
  handle: GoogleMethod['handle'],
  oldUnits = units,
): GoogleMethod {
  return { service: 'gmail', units, oldUnits, needs, handle };
}

const MESSAGES = '/gmail/v1/users/{userId}/messages';

/** Adds the methods of messages. */
export function addMessageMethods(router: GoogleRouter): void {
  router.add('GET', MESSAGES, gmail(5, NEEDS.mailMetadata, list));
  router.add('GET', `${MESSAGES}/{id}`, gmail(20, NEEDS.mailMetadata, get, 5));
  router.add(
    'GET',
    `${MESSAGES}/{messageId}/attachments/{id}`,
    gmail(20, NEEDS.mailRead, attachment, 5),
  );
  for (const prefix of ['', '/upload']) {
    router.add('POST', `${prefix}${MESSAGES}/send`, gmail(100, NEEDS.mailSend, send));
    router.add('POST', `${prefix}${MESSAGES}/import`, gmail(25, NEEDS.mailInsert, imported));
    router.add('POST', `${prefix}${MESSAGES}`, gmail(25, NEEDS.mailInsert, insert));
  }
  router.add('POST', `${MESSAGES}/batchModify`, gmail(50, NEEDS.mailModify, batchModify));
  router.add('POST', `${MESSAGES}/batchDelete`, gmail(50, NEEDS.mailAll, batchDelete));
  router.add('POST', `${MESSAGES}/{id}/modify`, gmail(5, NEEDS.mailModify, modify));
  router.add('POST', `${MESSAGES}/{id}/trash`, gmail(5, NEEDS.mailModify, trash));
  router.add('POST', `${MESSAGES}/{id}/untrash`, gmail(5, NEEDS.mailModify, untrash));
  router.add('DELETE', `${MESSAGES}/{id}`, gmail(10, NEEDS.mailAll, remove));
}

/** The form in which a call reads messages. Clients without a scope for content get no content. */
export function formatOf({ query, scopes }: GoogleCall): Format {
  const format = (query.get('format') ?? 'full') as Format;
  const hasContent = NEEDS.mailRead.some((one) => scopes.has(one));
  if (!hasContent && (format === 'full' || format === 'raw'))
    throw new GoogleError(
      403,
      'forbidden',
      `Metadata scope doesn't allow format ${format.toUpperCase()}`,
    );
  return format;
}

/** The labels that a call adds and removes, checked. */
export function labelChange({ user, body }: GoogleCall): { add: string[]; remove: string[] } {
  const add = ((body['addLabelIds'] ?? []) as unknown[]).map(String);
  const remove = ((body['removeLabelIds'] ?? []) as unknown[]).map(String);
  user.mailbox.labels.checkChangeable([...add, ...remove]);
  return { add, remove };
}

/** Messages that a listing asks for, newest first. */
export function listedMessages({ user, query, scopes }: GoogleCall): MailMessage[] {
  const q = query.get('q') ?? '';
  const isMetadataOnly = !NEEDS.mailRead.some((one) => scopes.has(one));
  if (q !== '' && isMetadataOnly && scopes.has(scope('gmail.metadata')))
    throw new GoogleError(403, 'forbidden', "Metadata scope does not support 'q' parameter");
  const labelIds = query.getAll('labelIds');
  const known = new Set(user.mailbox.labels.all().map(({ id }) => id));
  for (const id of labelIds) if (!known.has(id)) throw invalid(`Invalid label: ${id}`);
  return matchingMessages(user.mailbox, {
    q,
    labelIds,
    includeSpamTrash: query.get('includeSpamTrash') === 'true',
  });
}

function list(call: GoogleCall): StubAnswer {
  const found = listedMessages(call);
  const { query, world } = call;
  const size = pageSize(query, 'maxResults', 100, 500);
  const { items, nextPageToken } = page(
    found,
    ({ id }) => id,
    size,
    query.get('pageToken'),
    world.habits.pages,
  );
  return ok({
    ...(items.length > 0 && { messages: items.map(({ id, threadId }) => ({ id, threadId })) }),
    ...(nextPageToken && { nextPageToken }),
    resultSizeEstimate: found.length,
  });
}

function get(call: GoogleCall): StubAnswer {
  const { user, params, query } = call;
  const format = formatOf(call);
  const message = user.mailbox.get(params['id'] ?? '');
  return ok(messageView(message, format, query.getAll('metadataHeaders')));
}

function attachment({ user, params }: GoogleCall): StubAnswer {
  const found = attachmentView(user.mailbox.get(params['messageId'] ?? ''), params['id'] ?? '');
  if (!found) throw new GoogleError(400, 'invalidArgument', 'Invalid attachment token');
  return ok(found);
}

function short({ id, threadId, labels }: MailMessage): StubAnswer {
  return ok({ id, threadId, labelIds: [...labels] });
}

function send(call: GoogleCall): StubAnswer {
  const { raw, threadId } = sentMessage(call);
  return short(sendMail(call.world, call.user, raw, threadId));
}

function insert(call: GoogleCall): StubAnswer {
  return added(call, 'receivedTime');
}

function imported(call: GoogleCall): StubAnswer {
  return added(call, 'dateHeader');
}

function added(call: GoogleCall, usual: string): StubAnswer {
  const { world, user, query } = call;
  const { raw, threadId, labelIds } = sentMessage(call);
  for (const id of labelIds)
    if (!user.mailbox.labels.has(id))
      throw new GoogleError(400, 'invalidArgument', `Invalid label: ${id}`);
  const message = user.mailbox.add({
    raw: storedForm(world, raw),
    labels: labelIds,
    ...(threadId && { threadId }),
  });
  const isDateHeader = (query.get('internalDateSource') ?? usual) === 'dateHeader';
  if (isDateHeader) message.date = dateHeader(message) ?? message.date;
  return short(message);
}

function modify(call: GoogleCall): StubAnswer {
  const { user, params } = call;
  const message = user.mailbox.get(params['id'] ?? '');
  const { add, remove } = labelChange(call);
  user.mailbox.relabel(message, add, remove);
  return short(message);
}

function batchModify(call: GoogleCall): StubAnswer {
  const { mailbox } = call.user;
  const { add, remove } = labelChange(call);
  for (const id of checkedIds(call.body['ids'])) {
    const message = mailbox.find(id);
    if (message) mailbox.relabel(message, add, remove);
  }
  return NO_CONTENT;
}

function batchDelete({ user, body }: GoogleCall): StubAnswer {
  for (const id of checkedIds(body['ids'])) {
    const message = user.mailbox.find(id);
    if (message) user.mailbox.remove(message);
  }
  return NO_CONTENT;
}

function trash({ user, params }: GoogleCall): StubAnswer {
  const message = user.mailbox.get(params['id'] ?? '');
  user.mailbox.trash(message);
  return short(message);
}

function untrash({ user, params }: GoogleCall): StubAnswer {
  const message = user.mailbox.get(params['id'] ?? '');
  user.mailbox.relabel(message, [], ['TRASH']);
  return short(message);
}

function remove({ user, params }: GoogleCall): StubAnswer {
  const message = user.mailbox.find(params['id'] ?? '');
  if (!message) throw notFound();
  user.mailbox.remove(message);
  return NO_CONTENT;
}
