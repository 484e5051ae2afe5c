import { DeltaTokens } from '../graph/delta-tokens.ts';
import type { ItemIds } from '../graph/item-ids.ts';
import { filtered, selected } from '../graph/odata.ts';
import { GraphError, type Json } from '../http/types.ts';
import type { MailFolder } from './folders.ts';
import type { LogEntry, Mailbox } from './mailbox.ts';
import { folderJson, idIn, type JsonForm, MESSAGE_ON_DEMAND, messageJson } from './message-json.ts';

/** What a delta query of Graph is asked with. */
export interface DeltaAsk {
  tokens: DeltaTokens;
  mailbox: Mailbox;
  url: string;
  query: URLSearchParams;
  form: JsonForm;
  pageSize: number;
  /** Ids of messages on which pages fail (`StubSettings.brokenMessages`). */
  broken?: ReadonlySet<string>;
}

/** Most messages that a filtered delta query reports in its first round, as documented. */
const MOST_FILTERED = 5_000;

/** One page of changes to the messages of a folder. */
export function messageDelta(ask: DeltaAsk, folder: MailFolder): Json {
  const { mailbox, query, form } = ask;
  return ask.tokens.answer<LogEntry, number>({
    list: `${mailbox.email} ${folder.id}`,
    url: ask.url,
    query,
    pageSize: ask.pageSize,
    first: () => ({ entries: firstRound(ask, folder), mark: mailbox.seq }),
    since: (seq, first) => ({
      entries: latest(mailbox.logOf(folder.id), seq).filter((entry) => isReported(entry, first)),
      mark: mailbox.seq,
    }),
    show: (entry, first) => {
      const isThere = mailbox.message(entry.immutableId)?.folderId === folder.id;
      if (isThere && ask.broken?.has(entry.immutableId))
        throw new GraphError(504, 'UnknownError', '');
      return showMessage(mailbox, folder, form, entry, first);
    },
  });
}

/** One page of changes to the folders of a mailbox. */
export function folderDelta(ask: DeltaAsk): Json {
  const { mailbox, query } = ask;
  const shown = ({ isHidden, parentId }: MailFolder) => !isHidden && parentId !== '';
  return ask.tokens.answer<string, number>({
    list: `${mailbox.email} folders`,
    url: ask.url,
    query,
    pageSize: ask.pageSize,
    first: () => ({
      entries: [...mailbox.folders.values()].filter(shown).map(({ id }) => id),
      mark: mailbox.seq,
    }),
    since: (seq) => ({
      entries: latest(mailbox.folderLog, seq).map(({ immutableId }) => immutableId),
      mark: mailbox.seq,
    }),
    show: (id, first) => {
      const folder = mailbox.folders.get(id);
      if (!folder) return { id, '@removed': { reason: 'deleted' } };
      return selected(folderJson(mailbox, folder), first);
    },
  });
}

function firstRound({ mailbox, query, form }: DeltaAsk, folder: MailFolder): LogEntry[] {
  const ids = [...mailbox.messagesIn(folder.id).values()];
  const entry = ({ immutableId, restId }: ItemIds): LogEntry => ({
    immutableId,
    restId,
    seq: 0,
    kind: 'created',
  });
  if (query.get('changeType') && !kinds(query).has('created')) return [];
  const filter = query.get('$filter');
  const matching =
    filter === null
      ? ids
      : ids
          .filter((message) => filtered([messageJson(message, form)], query).length > 0)
          .slice(-MOST_FILTERED);
  const descending = /^receivedDateTime\s+desc$/i.test(query.get('$orderby') ?? '');
  const sorted = descending
    ? matching.toSorted((a, b) => b.received.getTime() - a.received.getTime())
    : matching;
  const top = Number(query.get('$top') ?? Infinity);
  return sorted.slice(0, top).map(entry);
}

/** The newest entry of each item after `seq`, oldest first. */
export function latest(log: readonly LogEntry[], seq: number): LogEntry[] {
  let start = log.length;
  while (start > 0 && (log[start - 1]?.seq ?? 0) > seq) start -= 1;
  const newest = new Map<string, LogEntry>();
  for (const entry of log.slice(start)) {
    const earlier = newest.get(entry.immutableId);
    newest.delete(entry.immutableId);
    // A change of the read state keeps the rest of an earlier change in the report.
    const keepsKind = entry.kind === 'read' && earlier && earlier.kind !== 'removed';
    newest.set(entry.immutableId, keepsKind ? { ...entry, kind: earlier.kind } : entry);
  }
  return [...newest.values()];
}

const kinds = (query: URLSearchParams): Set<string> =>
  new Set((query.get('changeType') ?? 'created,updated,deleted').split(','));

/** Read states are reported only to rounds that select `isRead`, or select nothing. */
function isReported(entry: LogEntry, query: URLSearchParams): boolean {
  const wanted = kinds(query);
  if (entry.kind === 'removed') return wanted.has('deleted');
  if (entry.kind === 'created') return wanted.has('created');
  const select = query.get('$select');
  const isShown = entry.kind !== 'read' || select === null || select.split(',').includes('isRead');
  return wanted.has('updated') && isShown;
}

function showMessage(
  mailbox: Mailbox,
  folder: MailFolder,
  form: JsonForm,
  entry: LogEntry,
  query: URLSearchParams,
): Json | null {
  const message = mailbox.message(entry.immutableId);
  if (!message || message.folderId !== folder.id) {
    // A message that left after the first round had begun: nothing is known of it yet.
    if (entry.kind !== 'removed') return null;
    return {
      '@odata.type': '#microsoft.graph.message',
      id: idIn(form, entry),
      '@removed': { reason: 'deleted' },
    };
  }
  if (entry.kind === 'removed') return null;
  const json = messageJson(message, form);
  if (entry.kind === 'read') {
    const { id, isRead, parentFolderId } = json;
    return {
      '@odata.type': '#microsoft.graph.message',
      '@odata.etag': json['@odata.etag'],
      id,
      isRead,
      parentFolderId,
    };
  }
  return { '@odata.type': '#microsoft.graph.message', ...selected(json, query, MESSAGE_ON_DEMAND) };
}
