import { isId } from '../../../platform/base/ids/ids.ts';
import { Conditions } from '../../../platform/database/conditions.ts';
import { addMetadataCondition } from '../../../platform/database/metadata-filter.ts';
import type { FilterFolders, FoundFolder } from '../../folders/find-folders.ts';
import type { MessageFilter, Span } from './message-filter.ts';
import { PEOPLE_HEADERS, personAnywhere, personIn } from './people.ts';

/** The `from`, `where` and `order by` of a statement about messages. */
export interface MessageSelection {
  /** Table with the alias `m`, or the table of the folder the messages are listed from. */
  from: string;
  /** Column with the message id. */
  id: string;
  orderBy: string;
  conditions: Conditions;
}

/** Table the messages are read from. */
type Source = Omit<MessageSelection, 'conditions'>;

const FOLDER_ORDER = { id: 'mf.message_id', orderBy: 'mf.date desc, mf.message_id desc' };
const MESSAGES: Source = { from: 'message m', id: 'm.id', orderBy: 'm.date desc, m.id desc' };

const ANY_FOLDER = 'select 1 from message_folder o where o.message_id = m.id and o.folder_id = any';

/**
 * Selects the messages of an account that match a filter. Values that decide how many messages
 * match are parameters of the statement itself and not of subqueries. So the planner knows which
 * values are rare and which are frequent.
 */
export function selectMessages(
  accountId: string,
  filter: MessageFilter,
  folders: FilterFolders,
): MessageSelection {
  const conditions = new Conditions();
  const account = conditions.value(accountId);
  // Drafts are listed as messages only if the filter asks for the folder `drafts`.
  const anyDrafts = filter.drafts || folders.in?.some(({ name }) => name === 'drafts') === true;
  const drafts = filter.drafts
    ? 'm.draft and not m.deleting'
    : anyDrafts
      ? 'not m.deleting'
      : 'not m.draft';
  const [folder, another] = folders.in ?? [];
  const byFolder = folder && !another && !isSelective(filter) ? folder : undefined;
  if (byFolder && !asksForMore(filter))
    return selectInFolder(conditions, { account, folder: byFolder, anyDrafts }, filter);
  // With an equation the planner would multiply the selectivities of account and folder, and
  // estimate that the folder is almost empty.
  conditions.add(
    byFolder
      ? `case m.account_id when ${account} then ${drafts} else false end`
      : `m.account_id = ${account} and ${drafts}`,
  );
  addFolderConditions(conditions, folders, byFolder);
  for (const people of peopleAskedFor(filter))
    conditions.add(
      `m.participants ${people.length === 1 ? '@>' : '&&'} ${conditions.value(people)}::text[]`,
    );
  addOwnConditions(conditions, account, filter, anyDrafts);
  addSpan(conditions, byFolder ? 'mf.date' : 'm.date', filter.received);
  const request = { account, filter, anyDrafts };
  if (filter.metadata) addMetadataCondition(conditions, 'm.metadata', filter.metadata);
  const source = byFolder ? sourceOfFolder(conditions.value(byFolder.id)) : MESSAGES;
  return { ...addThreadConditions(conditions, request, source), conditions };
}

/**
 * True if the filter may match few messages. Then finding those by an index is faster than reading
 * through a folder.
 */
function isSelective(filter: MessageFilter): boolean {
  const { unread, starred, hasAttachment, subject, filename, threadId, metadata, anyEmail } =
    filter;
  if (unread === true || starred === true || hasAttachment === true) return true;
  const named = [
    subject,
    filename,
    threadId,
    metadata,
    anyEmail,
    ...PEOPLE_HEADERS.map((header) => filter[header]),
  ];
  return named.some((value) => value !== undefined);
}

/**
 * Messages of a folder in the folder's order. `message_folder` has a copy of each message's date.
 */
const sourceOfFolder = (folder: string): Source => ({
  from: `message_folder mf join message m on m.id = mf.message_id and mf.folder_id = ${folder}`,
  ...FOLDER_ORDER,
});

/**
 * True if the filter needs more than the folder and the date, so that the message rows must be
 * read.
 */
function asksForMore({
  drafts,
  unread,
  starred,
  hasAttachment,
  notIn,
  threadStarted,
  threadLastMessage,
}: MessageFilter) {
  const spans = [...spansOf(threadStarted), ...spansOf(threadLastMessage)];
  return (
    drafts ||
    notIn !== undefined ||
    spans.length > 0 ||
    [unread, starred, hasAttachment].includes(false)
  );
}

/**
 * Lists one folder, optionally limited by dates, from `message_folder` alone. Only drafts are
 * looked up in `message`.
 */
function selectInFolder(
  conditions: Conditions,
  { account, folder, anyDrafts }: { account: string; folder: FoundFolder; anyDrafts: boolean },
  { received }: MessageFilter,
): MessageSelection {
  const left = anyDrafts ? 'd.draft and d.deleting' : 'd.draft';
  conditions.add(`mf.folder_id = ${conditions.value(folder.id)}`);
  conditions.add(
    `mf.message_id not in (select d.id from message d where d.account_id = ${account} and ${left})`,
  );
  addSpan(conditions, 'mf.date', received);
  return { from: 'message_folder mf', ...FOLDER_ORDER, conditions };
}

/** @param listed the folder that the messages are read from */
function addFolderConditions(
  conditions: Conditions,
  { in: wanted, notIn: unwanted }: FilterFolders,
  listed: FoundFolder | undefined,
): void {
  const idsOf = (folders: readonly FoundFolder[]) =>
    `(${conditions.value(folders.map(({ id }) => id))}::uuid[])`;
  if (unwanted && unwanted.length > 0)
    conditions.add(`not exists (${ANY_FOLDER}${idsOf(unwanted)})`);
  if (wanted?.length === 0) conditions.add('false');
  else if (wanted && !listed) conditions.add(`exists (${ANY_FOLDER}${idsOf(wanted)})`);
}

export type AddressFilter = Pick<MessageFilter, 'from' | 'to' | 'cc' | 'bcc' | 'anyEmail'>;

/**
 * People that a message or thread must have: one list per address filter. One person of each list
 * must be present.
 */
export function peopleAskedFor(filter: AddressFilter): string[][] {
  const people = PEOPLE_HEADERS.flatMap((header) => {
    const address = filter[header];
    return address === undefined ? [] : [[personIn(header, address)]];
  });
  return filter.anyEmail ? [...people, filter.anyEmail.flatMap(personAnywhere)] : people;
}

/** Conditions on columns of the message itself. */
function addOwnConditions(
  conditions: Conditions,
  account: string,
  filter: MessageFilter,
  anyDrafts: boolean,
): void {
  if (filter.subject !== undefined) {
    const subject = `${conditions.value(filter.subject)}::text`;
    conditions.add(`md5(m.subject) = md5(${subject}) and m.subject = ${subject}`);
  }
  // Constants instead of parameters, because each of these conditions has a partial index.
  if (filter.unread !== undefined) conditions.add(filter.unread ? 'm.unread' : 'not m.unread');
  if (filter.starred !== undefined) conditions.add(filter.starred ? 'm.starred' : 'not m.starred');
  if (filter.hasAttachment !== undefined)
    conditions.add(filter.hasAttachment ? 'm.has_attachments' : 'not m.has_attachments');
  if (filter.filename !== undefined)
    conditions.add(
      `m.id in (${messagesWithFile(conditions, account, filter.filename, anyDrafts)})`,
    );
  if (filter.threadId !== undefined) {
    // An id in another format belongs to no thread.
    conditions.add(
      isId(filter.threadId) ? `m.thread_id = ${conditions.value(filter.threadId)}` : 'false',
    );
  }
}

/**
 * Ids of messages with a file of that name. Drafts written through the API list their files in
 * `draft_file`.
 */
function messagesWithFile(
  conditions: Conditions,
  account: string,
  filename: string,
  anyDrafts: boolean,
): string {
  const received = `select f.message_id from file f where ${filenameCondition(conditions, account, filename)}`;
  if (!anyDrafts) return received;
  return `${received} union all
    select d.message_id from draft_file d join message o on o.id = d.message_id and o.account_id = ${account} and o.draft
    where d.filename = ${conditions.value(filename)}`;
}

/**
 * Condition on a file `f` of an account: it has the given name.
 * @param account placeholder of the account's id
 */
export function filenameCondition(
  conditions: Conditions,
  account: string,
  filename: string,
): string {
  const name = `${conditions.value(filename)}::text`;
  // The planner would treat two equations of the same name as independent facts, and estimate a
  // frequent name as rare. The `case` hides the second one.
  return `f.account_id = ${account} and md5(f.filename) = md5(${name})
    and case f.filename when ${name} then true else false end`;
}

/** Adds conditions for a time span. An open end adds none. */
export function addSpan(conditions: Conditions, column: string, span: Span | undefined): void {
  for (const text of spanTexts(conditions, column, span)) conditions.add(text);
}

function spanTexts(conditions: Conditions, column: string, span: Span | undefined): string[] {
  return [
    ...(span?.from ? [`${column} >= ${conditions.value(span.from)}`] : []),
    ...(span?.before ? [`${column} < ${conditions.value(span.before)}`] : []),
  ];
}

interface ThreadRequest {
  /** Placeholder of the account's id. */
  account: string;
  filter: MessageFilter;
  anyDrafts: boolean;
}

/**
 * Adds conditions on the first and last date of a message's thread. A message is never older than
 * the first message of its thread nor newer than the last.
 * @returns the source to read messages from
 */
function addThreadConditions(
  conditions: Conditions,
  { account, filter: { threadStarted, threadLastMessage }, anyDrafts }: ThreadRequest,
  source: Source,
): Source {
  const { from, before } = threadStarted ?? {};
  const spans = [...spansOf(threadStarted), ...spansOf(threadLastMessage)];
  if (spans.length === 0) return source;
  const byDate = source === MESSAGES && !anyDrafts;
  if (byDate && before && spans.length === 1) return beganBefore(account, conditions.value(before));
  if (!anyDrafts)
    addSpan(conditions, source === MESSAGES ? 'm.date' : 'mf.date', {
      from,
      before: threadLastMessage?.before,
    });
  const texts = [
    ...spanTexts(conditions, 't.first_message_at', threadStarted),
    ...spanTexts(conditions, 't.last_message_at', threadLastMessage),
  ];
  conditions.add(
    `m.thread_id in (select t.id from thread t where t.account_id = ${account} and ${texts.join(' and ')})`,
  );
  return source;
}

const spansOf = (span: Span | undefined) =>
  [span?.from, span?.before].filter((end) => end !== undefined);

/**
 * Messages of threads that began before an instant: all older messages, and newer messages of the
 * few threads that continued after it. Checking newer messages one by one would reject almost all
 * of them. Both parts are in list order, so PostgreSQL merges them and reads only one page. It
 * expects thousands of such threads, and would read the messages of all accounts to find theirs:
 * `offset 0` makes it look them up by thread.
 */
const beganBefore = (account: string, before: string): Source => ({
  ...MESSAGES,
  from: `(
    (select * from message o where o.account_id = ${account} and o.date < ${before} order by o.date desc, o.id desc)
    union all
    (select o.* from thread t cross join lateral (
       select * from message where thread_id = t.id and date >= ${before} offset 0) o
     where t.account_id = ${account} and t.message_count > 0 and t.first_message_at < ${before}
       and t.last_message_at >= ${before}
     order by o.date desc, o.id desc)) m`,
});
