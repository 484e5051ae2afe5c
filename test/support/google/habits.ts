/**
 * What Google does to its clients beside what its manuals say. A new stub has no such habit; a test
 * switches on single ones, or all of them with `worst`.
 */
export class GoogleHabits {
  /**
   * What Gmail does with the Message-ID of a message that a client sends, files or saves. People
   * have reported that Gmail replaces also well-formed ones.
   */
  messageIds: 'kept' | 'replaced' = 'kept';
  /** What it does with `X-` headers of such a message. */
  ownHeaders: 'kept' | 'dropped' = 'kept';

  /**
   * Every so many requests of each method of Gmail, one is answered with 400 "Precondition check
   * failed." and does nothing. `null`: none is.
   */
  refusesEvery: number | null = null;
  /** Whether that holds for requests that send, too. */
  refusesSending = true;
  /** Milliseconds after which the history shows a change. Pub/Sub reports it at once. */
  historyLagMs = 0;
  /** Whether the history shows the labels of a new message before the message itself. */
  labelsFirst = false;
  /** Milliseconds after which lists of contacts show what was written. */
  contactsLagMs = 0;
  /** Whether a page token is refused if the other parameters differ from the first page's. */
  samePages = false;
  /**
   * Pages of lists. `short`: of three entries at most. `empty first`: the first page has a token
   * and no entry.
   */
  pages: 'full' | 'short' | 'empty first' = 'full';
  /**
   * Whether one record of the history has the changes of two, of whichever kinds, and only the
   * first of them shows the labels of its message.
   */
  mixedHistory = false;
  /**
   * Whether Gmail composes what recipients get anew, also signed and encrypted messages: other
   * boundaries, and HTML without comments and doctype.
   */
  rewritesMime = false;
  /**
   * Writes of events that a person may make in an hour: further ones are refused by the general
   * limits of Calendar use, apart from the API's quota.
   */
  calendarWrites = Infinity;
  /** People whose administrator does not allow the application. */
  readonly blocked = new Set<string>();
  readonly #asked = new Map<object, number>();

  /** Counts a request of a method of Gmail. @returns whether it is to be refused */
  refuses(method: object, isSending: boolean): boolean {
    if (this.refusesEvery === null || (isSending && !this.refusesSending)) return false;
    const asked = (this.#asked.get(method) ?? 0) + 1;
    this.#asked.set(method, asked);
    return asked % this.refusesEvery === 0;
  }

  /** Switches on every habit at once, except `NOT_COMBINED`. */
  worst(): void {
    Object.assign(this, WORST);
  }
}

type HabitName = {
  [Name in keyof GoogleHabits]: GoogleHabits[Name] extends (...given: never[]) => unknown
    ? never
    : Name;
}[keyof GoogleHabits];

const WORST = {
  messageIds: 'replaced',
  refusesEvery: 7,
  labelsFirst: true,
  samePages: true,
  pages: 'empty first',
  mixedHistory: true,
  rewritesMime: true,
} as const satisfies Partial<Pick<GoogleHabits, HabitName>>;

/** Habits that `worst` leaves as they are, with the reason. It switches on every other one. */
export const NOT_COMBINED: Record<Exclude<HabitName, keyof typeof WORST>, string> = {
  ownHeaders:
    'nobody has reported it, and without Message-ID and mark nothing recognises a sent message; the contract of look-ups has it',
  refusesSending: 'tells what `refusesEvery` refuses',
  historyLagMs: 'suites look for a change at once',
  contactsLagMs: 'suites look for a change at once',
  calendarWrites: 'Google refuses writes for minutes, and suites would wait',
  blocked: 'a blocked application can do nothing',
};
