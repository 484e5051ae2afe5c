import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { copyEvent, type EventCopy } from './event-copies.ts';
import type { TestAccount } from './factories.ts';
import { call } from './fault-load.ts';
import type { FaultWorld } from './fault-world.ts';
import type { Fleet } from './fleet.ts';
import { type ArrivedReminder, HOOKS, PEOPLE, type EventState } from './reminder-record.ts';

/** Minutes between a reminder and its event. This is longer than any recovery takes. */
const LEAD_MINUTES = 15;
const CALLERS = 8;
/** Events are moved at least this far ahead, so that the response comes before the new time. */
const MOVE_AHEAD_MS = 5_000;
/** Time before the storm begins. */
const AHEAD_SECONDS = 6;
const COPIED_PER_SECOND = 150;

/** Size and duration of a storm. */
export interface StormOptions {
  /** Events with ten reminders each. */
  events: number;
  /** Duration of the storm. Reminders are spread evenly over it, each due at a whole second. */
  seconds: number;
  /** Changes of events a second. */
  changesPerSecond: number;
}

interface StormEvent {
  id: string;
  account: TestAccount;
  calendarId: string;
  history: EventState[];
  busy: boolean;
}

type Change = 'move' | 'cancel' | 'text' | 'remove' | 'decline';
const CHANGES: readonly Change[] = [
  'move',
  'move',
  'move',
  'move',
  'cancel',
  'cancel',
  'text',
  'text',
  'remove',
  'decline',
];

/**
 * Events with reminders of every type. They are created by API calls, and moved, cancelled and
 * edited while the reminders are sent. The storm remembers what the API answered. `firesOf` and the
 * receiver show what has arrived.
 */
export class ReminderStorm {
  readonly #events: StormEvent[] = [];
  readonly #calendars = new Map<string, string>();
  readonly fires: ArrivedReminder[] = [];
  /**
   * Due time of the first reminder, and the time after which none is due, in milliseconds since
   * 1970. Set by `seed`.
   */
  dueFrom = 0;
  dueUntil = 0;
  readonly changes: Record<Change, number> = { move: 0, cancel: 0, text: 0, remove: 0, decline: 0 };

  constructor(
    private readonly world: FaultWorld,
    private readonly fleet: Fleet,
    private readonly options: StormOptions,
  ) {
    world.receiver.onRequest = ({ url, headers, body }) => {
      const at = Date.now();
      const said = body.toString();
      const isText = url === '/texts';
      const { to, text = '' } = isText
        ? (JSON.parse(said) as { to: string; text: string })
        : { to: '' };
      const slot = isText ? `sms ${to.at(-1)}` : `webhook ${url.at(-1)}`;
      this.#note(
        isText ? text : said,
        slot,
        at,
        String(headers[isText ? 'idempotency-key' : 'webhook-id']),
      );
      return Promise.resolve();
    };
  }

  get histories(): EventState[][] {
    return this.#events.map(({ history }) => history);
  }

  /** Creates the first event through the API, copies it, and sets the time of the storm. */
  async seed(): Promise<void> {
    for (const account of this.world.accounts) {
      const { body } = await this.#ask(account, 'POST', '/calendars', { name: 'Storm' });
      this.#calendars.set(account.id, String(body['id']));
    }
    const account = this.world.accounts[0] as TestAccount;
    const due = Math.ceil(Date.now() / 1000 + 86_400) * 1000;
    const body = {
      calendar_id: this.#calendars.get(account.id),
      participants: people(0),
      ...this.#content(0, due, 0),
    };
    const original = String((await this.#ask(account, 'POST', '/events', body)).body['id']);
    const { events, seconds } = this.options;
    const begun = Date.now();
    // The start of the storm is known only now. Copying takes no longer than this.
    this.dueFrom = Math.ceil(begun / 1000 + AHEAD_SECONDS + events / COPIED_PER_SECOND) * 1000;
    this.dueUntil = this.dueFrom + seconds * 1000;
    const copies = Array.from({ length: events }, (_, n) => this.#copy(n, due));
    await copyEvent(this.world.sql, original, copies);
    const until = Date.now();
    for (const { id, accountId, calendarId, dueAt } of copies) {
      const owner = this.world.accounts.find((each) => each.id === accountId) as TestAccount;
      const state = { from: begun, until, due: dueAt, lastStays: true, version: 0 };
      this.#events.push({ id, account: owner, calendarId, history: [state], busy: false });
    }
    await this.#ask(account, 'DELETE', `/events/${original}`);
  }

  /** Changes events until the last reminder is due. */
  async change(): Promise<void> {
    const { dueUntil } = this;
    const { changesPerSecond } = this.options;
    const caller = async () => {
      while (Date.now() < dueUntil) {
        const begun = Date.now();
        await this.#changeOne();
        await delay(Math.max(0, (1000 * CALLERS) / changesPerSecond - (Date.now() - begun)));
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
  }

  /** Adds the emails that the mail server has accepted. */
  async collectMail(): Promise<void> {
    for (const { subject, recipients, at, messageId } of await this.world.sink.accepted()) {
      this.#note(subject, `email ${recipients[0]?.split('@')[0]?.at(-1)}`, at, messageId);
    }
  }

  #note(text: string, slot: string, at: number, key: string): void {
    const [, event = 0, due = 0, version = 0] = text.split(' ').map(Number);
    this.fires.push({ event, slot, due: due * 1000, version, at, key });
  }

  #copy(n: number, originalDue: number): EventCopy {
    const { events } = this.options;
    const account = this.world.accounts[n % this.world.accounts.length] as TestAccount;
    const dueAt =
      Math.round((this.dueFrom + ((this.dueUntil - this.dueFrom) * n) / events) / 1000) * 1000;
    return {
      id: newId(),
      accountId: account.id,
      calendarId: this.#calendars.get(account.id) ?? '',
      startsAt: dueAt + LEAD_MINUTES * 60_000,
      dueAt,
      texts: [
        [`storm 0 ${originalDue / 1000} `, `storm ${n} ${dueAt / 1000} `],
        ['guest-0-', `guest-${n}-`],
        [phoneOf(0), phoneOf(n)],
      ],
    };
  }

  /** Changes one event. Half of the changes are of events whose reminders are due now. */
  async #changeOne(): Promise<void> {
    const { dueFrom, dueUntil } = this;
    const { events } = this.options;
    const share = (Date.now() - dueFrom) / (dueUntil - dueFrom);
    const at =
      Math.random() < 0.5
        ? share * events + (Math.random() - 0.5) * 0.01 * events
        : Math.random() * events;
    const n = Math.max(0, Math.min(events - 1, Math.floor(at)));
    const event = this.#events[n] as StormEvent;
    const last = event.history.at(-1) as EventState;
    if (event.busy || last.due === null) return;
    const kind = CHANGES[Math.floor(Math.random() * CHANGES.length)] as Change;
    const room = dueUntil - Date.now() - MOVE_AHEAD_MS;
    if (kind === 'move' && room < 1000) return;
    if ((kind === 'remove' || kind === 'decline') && !last.lastStays) return;
    event.busy = true;
    await this.#apply(
      n,
      event,
      last,
      kind,
      Math.floor((Date.now() + MOVE_AHEAD_MS + Math.random() * room) / 1000) * 1000,
    );
    this.changes[kind] += 1;
    event.busy = false;
  }

  async #apply(
    n: number,
    event: StormEvent,
    last: EventState,
    kind: Change,
    moveTo: number,
  ): Promise<void> {
    const { id, account, history } = event;
    // Reminders are told apart by their due time, so an event must not return to an earlier one.
    if (kind === 'move' && history.some(({ due }) => due === moveTo)) return;
    const from = Date.now();
    const state: EventState = { ...last, from, until: 0 };
    if (kind === 'cancel') {
      state.due = null;
      await this.#ask(account, 'DELETE', `/events/${id}`);
    } else {
      if (kind === 'move') state.due = moveTo;
      if (kind === 'move' || kind === 'text') state.version += 1;
      if (kind === 'remove' || kind === 'decline') state.lastStays = false;
      const all = people(n);
      const changed =
        kind === 'remove'
          ? { participants: all.slice(0, -1) }
          : kind === 'decline'
            ? {
                participants: all.map((person, index) =>
                  index < PEOPLE - 1 ? person : { ...person, status: 'no' },
                ),
              }
            : this.#content(n, state.due ?? 0, state.version);
      await this.#ask(account, 'PUT', `/events/${id}`, changed);
    }
    state.until = Date.now();
    history.push(state);
  }

  #content(n: number, due: number, version: number): Record<string, unknown> {
    const said = `storm ${n} ${due / 1000} ${version}`;
    const before = { minutes_before_event: LEAD_MINUTES };
    return {
      title: said,
      when: { time: due / 1000 + LEAD_MINUTES * 60 },
      notifications: [
        { ...before, type: 'email', subject: said, body: '<b>Soon</b>' },
        { ...before, type: 'sms', message: said },
        ...Array.from({ length: HOOKS }, (_, index) => ({
          ...before,
          type: 'webhook',
          url: `${this.world.receiver.origin}/hook/${index}`,
          payload: said,
        })),
      ],
    };
  }

  /**
   * Repeats a request until there is a response. If the server was killed, the next server gets the
   * same request.
   */
  async #ask(
    account: TestAccount,
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<{ body: Record<string, unknown> }> {
    for (;;) {
      const server = this.fleet.next();
      const answer = server && (await call(server, account, method, path, body ? { body } : {}));
      if (answer?.status === 200) return answer;
      if (answer && answer.status !== 503 && answer.status !== 409) {
        throw new Error(
          `${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`,
        );
      }
      await delay(20);
    }
  }
}

function people(
  n: number,
): { email: string; name: string; phone_number: string; status?: string }[] {
  return Array.from({ length: PEOPLE }, (_, index) => ({
    email: `guest-${n}-${index}@sink.test`,
    name: `Guest ${index}`,
    phone_number: `${phoneOf(n)}${index}`,
  }));
}

const phoneOf = (n: number) => `+1${1_000_000 + n}`;
