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
  /** When it happened, in milliseconds. */
  at: number;
}

/** Changes of a mailbox. Ids grow and have gaps, as Gmail's do. */
export class MailHistory {
  #last = 1000;
  /** Changes up to this id are no longer known. */
  #expired = 0;
  #records: HistoryRecord[] = [];

  /** @param now milliseconds of the stub's clock @param lag how late changes are shown, in ms */
  constructor(
    private readonly now: () => number,
    private readonly lag: () => number,
  ) {}

  /** The id of the last change that is shown. */
  get lastId(): number {
    const hidden = this.#records.find((record) => !this.#isShown(record));
    return hidden ? hidden.id - 1 : this.#last;
  }

  /** Adds a change. @returns its id */
  add(type: HistoryType, message: HistoryMessage, labelIds: string[] = []): number {
    this.#last += 7;
    this.#records.push({ id: this.#last, type, message, labelIds, at: this.now() });
    return this.#last;
  }

  /** Forgets all changes until now, as Gmail does after a week or so. */
  expire(): void {
    this.#last += 7;
    this.#expired = this.#last;
    this.#records = [];
  }

  /** Changes after an id that are shown; null if some of them are no longer known. */
  since(id: number): HistoryRecord[] | null {
    if (id < this.#expired) return null;
    const shown = this.#records.findIndex((record) => !this.#isShown(record));
    const records = shown < 0 ? this.#records : this.#records.slice(0, shown);
    return records.filter((record) => record.id > id);
  }

  #isShown({ at }: HistoryRecord): boolean {
    return at + this.lag() <= this.now();
  }
}
