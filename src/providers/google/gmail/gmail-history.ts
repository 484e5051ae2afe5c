import type { HistoryRecord } from './gmail-api.ts';
import { CHAT } from './gmail-labels.ts';

/** What happened to the messages of some history records. */
export interface HistoryChanges {
  /** Ids of new messages. */
  added: string[];
  /** Ids of deleted messages. */
  removed: string[];
  /** All labels of messages whose labels have changed; `null` if Gmail does not say which. */
  relabelled: Map<string, readonly string[] | null>;
}

/**
 * Combines history records: each message is in one of the three results, by what happened to it
 * last. A message that came and went is only `removed`. Chats are left out.
 */
export function combine(records: readonly HistoryRecord[]): HistoryChanges {
  const added = new Set<string>();
  const removed = new Set<string>();
  const relabelled = new Map<string, readonly string[] | null>();
  for (const record of records) {
    for (const { message } of record.messagesAdded.filter(isMail)) {
      added.add(message.id);
      removed.delete(message.id);
      // Gmail may show the labels of a new message before the message.
      relabelled.delete(message.id);
    }
    for (const [id, labels] of labelsIn(record)) {
      if (!added.has(id)) relabelled.set(id, labels);
    }
    for (const { message } of record.messagesDeleted) {
      added.delete(message.id);
      relabelled.delete(message.id);
      removed.add(message.id);
    }
  }
  return { added: [...added], removed: [...removed], relabelled };
}

const isMail = ({ message }: { message: { labelIds?: string[] | undefined } }): boolean =>
  !message.labelIds?.includes(CHAT);

/**
 * All labels of the messages whose labels a record changes. A record may have several changes of
 * one message, and does not say which was the last one: `null` if they do not show the same labels.
 */
function labelsIn(record: HistoryRecord): Map<string, readonly string[] | null> {
  const found = new Map<string, readonly string[] | null>();
  for (const { message } of [...record.labelsAdded, ...record.labelsRemoved].filter(isMail)) {
    const { id, labelIds = null } = message;
    const isSame = !found.has(id) || keyOf(found.get(id)) === keyOf(labelIds);
    found.set(id, isSame ? labelIds : null);
  }
  return found;
}

const keyOf = (labels: readonly string[] | null | undefined): string | undefined =>
  labels?.toSorted().join('\n');
