/** Kinds of changes that history lists. */
export const HISTORY_TYPES = [
  'messageAdded',
  'messageDeleted',
  'labelAdded',
  'labelRemoved',
] as const;

export type HistoryType = (typeof HISTORY_TYPES)[number];

/** A message as history shows it. */
export interface HistoryMessage {
  id: string;
  threadId: string;
  labelIds: string[];
}

/** One change. */
export interface HistoryRecord {
  id: number;
  type: HistoryType;
  message: HistoryMessage;
  /** Labels that were added or removed; empty for other kinds. */
  labelIds: string[];
}

/** Changes of a mailbox. Ids grow and have gaps, as Gmail's do. */
export class MailHistory {
  #last = 1000;
  /** Changes up to this id are no longer known. */
  #expired = 0;
  #records: HistoryRecord[] = [];

  get lastId(): number {
    return this.#last;
  }

  /** Adds a change. @returns its id */
  add(type: HistoryType, message: HistoryMessage, labelIds: string[] = []): number {
    this.#last += 7;
    this.#records.push({ id: this.#last, type, message, labelIds });
    return this.#last;
  }

  /** Forgets all changes until now, as Gmail does after a week or so. */
  expire(): void {
    this.#last += 7;
    this.#expired = this.#last;
    this.#records = [];
  }

  /** Changes after an id; null if some of them are no longer known. */
  since(id: number): HistoryRecord[] | null {
    return id < this.#expired ? null : this.#records.filter((record) => record.id > id);
  }
}
