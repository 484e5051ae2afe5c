import type { InstanceId } from '../../formats/ical/instance-id.ts';
import type { Participant } from '../events/event-values.ts';
import type { ItipMessage } from '../../formats/ical/itip.ts';
import { type Meeting, type MeetingPart, storedText } from './meeting.ts';
import { describedInstance, instanceWithin } from './meeting-instances.ts';
import type {
  MailedEvent,
  NewInstance,
  NewMailedEvent,
  StoredEvent,
} from '../events/mailed/mailed-events.ts';
import type { StoredState } from './meeting-states.sql.ts';
import { meetingKey } from '../../formats/ical/revisions.ts';

const LONGEST_NAME = 998;

/**
 * The changes of events that a batch of mails leads to. `isNews` is true if subscribers are
 * notified of the change.
 */
export interface MeetingChanges {
  created: (NewMailedEvent & { isNews: boolean })[];
  changed: {
    event: MailedEvent;
    verb: 'updated' | 'deleted';
    calendarId: string;
    isNews: boolean;
  }[];
  /** Events that are only linked to another copy of the mail. */
  links: { id: string; messageId: string; calendarId: string }[];
  removed: { id: string; calendarId: string; isNews: boolean }[];
  /** Meetings that the account organizes and whose participants have answered. */
  answered: { event: StoredEvent | NewInstance; isNews: boolean }[];
}

/** An event that came with a message. */
export interface EventOfMail {
  messageId: string;
  eventId: string;
}

/**
 * Collects what a batch of mails changes in meetings. It starts from their stored events and
 * states, and returns the changes and the new states to store.
 */
export class MeetingBatch {
  readonly #account: string;
  readonly #isHosted: boolean;
  readonly #events: readonly StoredEvent[];
  readonly #byId: ReadonlyMap<string, StoredEvent>;
  readonly #known: Map<string, StoredState[]>;
  readonly #meetings = new Map<string, { meeting: Meeting; isNews: boolean }>();
  readonly #contained: { messageId: string; part: MeetingPart }[] = [];
  readonly #own = new Map<string, StoredState>();
  readonly #answered = new Map<string, { event: StoredEvent | NewInstance; isNews: boolean }>();

  /**
   * @param account address of the account in lower case
   * @param isHosted true if the provider puts invitations into the account's calendar. Mail then
   *   only links events to messages
   */
  constructor(
    account: string,
    events: readonly StoredEvent[],
    states: readonly StoredState[],
    isHosted: boolean,
  ) {
    this.#account = account;
    this.#isHosted = isHosted;
    this.#events = events;
    this.#byId = new Map(events.map((event) => [event.id, event]));
    this.#known = Map.groupBy(states, ({ key }) => key);
  }

  /**
   * Key of the meeting that a message may refer to. A reply refers to a meeting that the account
   * organizes.
   */
  static keysOf(account: string, { method, uid, events }: ItipMessage): string[] {
    const organizer =
      method === 'reply' ? account : events.find((one) => one.organizer)?.organizer?.email;
    return organizer === undefined ? [] : [meetingKey(uid, organizer)];
  }

  /**
   * The meeting that a message refers to. The list is empty if the account is the organizer, if no
   * organizer is named, or if a calendar of the provider has an event of another
   * organizer with the same UID.
   */
  meetingsOf(message: ItipMessage, isNews: boolean): Meeting[] {
    const organizer = message.events.find((one) => one.organizer)?.organizer;
    if (!organizer || organizer.email === this.#account) return [];
    const there = this.#events.filter(
      ({ emailed, icalUid }) => !emailed && icalUid === message.uid,
    );
    if (
      there.some(
        ({ organizerEmail }) => organizerEmail && organizerEmail.toLowerCase() !== organizer.email,
      )
    )
      return [];
    const key = meetingKey(message.uid, organizer.email);
    const known = this.#meetings.get(key);
    if (known) {
      known.isNews ||= isNews;
      return [known.meeting];
    }
    const meeting: Meeting = {
      key,
      uid: message.uid,
      organizer: { email: organizer.email, name: storedText(organizer.name, LONGEST_NAME) },
      parts: new Map(
        (this.#known.get(key) ?? []).map((state) => [state.instance, this.#part(state)]),
      ),
      elsewhere: this.#isHosted || there.length > 0,
    };
    for (const event of there) this.#addStored(meeting, event);
    this.#meetings.set(key, { meeting, isNews });
    return [meeting];
  }

  /**
   * Finds an event that the account organizes; `null` if it has none with this UID. An instance
   * that its series describes is returned too: it is stored if it is given to `answer`.
   */
  ownEvent(uid: string, instance: InstanceId | null): StoredEvent | NewInstance | null {
    const answered = [...this.#answered.values()].map(({ event }) => event);
    const own = [...answered, ...this.#events].filter(
      ({ id, emailed, icalUid, organizerEmail }) =>
        !emailed &&
        (icalUid === uid || id === uid) &&
        (organizerEmail === null || organizerEmail.toLowerCase() === this.#account),
    );
    const series = own.find(({ originalStart }) => originalStart === null);
    const named = instance && series ? instanceWithin(instance, series.fields) : instance;
    const start = named && named.seconds * 1000;
    const found = own.find(({ originalStart }) => (originalStart?.getTime() ?? null) === start);
    return found ?? (series && start !== null ? describedInstance(series, start) : null);
  }

  /** The state of an event that the account organizes, with the answers to it. */
  ownState(uid: string, instance: InstanceId | null, eventId: string): StoredState {
    const key = meetingKey(uid, this.#account);
    const name = instance?.key ?? '';
    const known =
      this.#own.get(`${key} ${name}`) ?? this.#known.get(key)?.find((one) => one.instance === name);
    const blank = {
      key,
      instance: name,
      sender: null,
      trusted: true,
      sequence: 0,
      stamp: null,
      cancelled: false,
      replies: {},
    };
    return { ...blank, ...known, eventId };
  }

  /** Sets the state of an event that is stored, or was given to `answer`. */
  setOwnState(state: StoredState): void {
    this.#own.set(`${state.key} ${state.instance}`, state);
  }

  answer(event: StoredEvent | NewInstance, participants: Participant[], isNews: boolean): void {
    event.fields = { ...event.fields, participants };
    this.#answered.set(event.id, {
      event,
      isNews: isNews || this.#answered.get(event.id)?.isNews === true,
    });
  }

  /** Notes the parts of a meeting that a mail contains. */
  addContained(messageId: string, parts: readonly MeetingPart[]): void {
    this.#contained.push(...parts.map((part) => ({ messageId, part })));
  }

  /** The events that exist after the batch and came with its mails. */
  eventsOfMails(): EventOfMail[] {
    return this.#contained.flatMap(({ messageId, part: { event, change } }) =>
      event && change !== 'removed' ? [{ messageId, eventId: event.id }] : [],
    );
  }

  changes(): MeetingChanges {
    const changes: MeetingChanges = {
      created: [],
      changed: [],
      links: [],
      removed: [],
      answered: [...this.#answered.values()],
    };
    for (const { meeting, isNews } of this.#meetings.values()) {
      for (const part of meeting.parts.values()) this.#addChange(changes, meeting, part, isNews);
    }
    return changes;
  }

  /** The state of all meetings to store after the batch. */
  states(): StoredState[] {
    const parts = [...this.#meetings.values()].flatMap(({ meeting }) =>
      [...meeting.parts.values()].flatMap(({ instance, state, event, change }) => {
        const eventId = change === 'removed' ? null : (event?.id ?? null);
        return state ? [{ ...state, key: meeting.key, instance, eventId }] : [];
      }),
    );
    return [...parts, ...this.#own.values()];
  }

  #part({
    instance,
    eventId,
    sender,
    trusted,
    sequence,
    stamp,
    cancelled,
    replies,
  }: StoredState): MeetingPart {
    const state = { sender, trusted, sequence, stamp, cancelled, replies };
    const event = eventId === null ? undefined : this.#byId.get(eventId);
    return { instance, state, event: event ? mailedEvent(event) : null, change: 'none' };
  }

  /** Adds an event of the provider's calendar that no mail has been linked to yet. */
  #addStored({ parts }: Meeting, event: StoredEvent): void {
    if ([...parts.values()].some((part) => part.event?.id === event.id)) return;
    const instance = instanceKeyOf(event);
    const part = parts.get(instance);
    if (part) part.event = mailedEvent(event);
    else parts.set(instance, { instance, state: null, event: mailedEvent(event), change: 'none' });
  }

  #addChange(changes: MeetingChanges, meeting: Meeting, part: MeetingPart, isNews: boolean): void {
    const { event } = part;
    if (!event || part.change === 'none') return;
    const { uid, organizer } = meeting;
    const calendarId = this.#byId.get(event.id)?.calendarId ?? '';
    if (part.change === 'created') {
      // A subscriber who does not know the event need not be notified that it was cancelled.
      changes.created.push({
        uid,
        organizer,
        event,
        isNews: isNews && event.fields.status !== 'cancelled',
      });
    } else if (part.change === 'removed')
      changes.removed.push({ id: event.id, calendarId, isNews });
    else if (part.change === 'linked')
      changes.links.push({ id: event.id, messageId: event.messageId ?? '', calendarId });
    else {
      const verb = part.change === 'cancelled' ? 'deleted' : 'updated';
      changes.changed.push({ event, verb, calendarId, isNews });
    }
  }
}

/**
 * Clears `messageId` if that message was deleted, so that the event can be linked to another copy
 * of the mail.
 */
function mailedEvent(event: StoredEvent): MailedEvent {
  const { id, fields, messageId, messageKept, masterEventId, originalStart } = event;
  return { id, fields, messageId: messageKept ? messageId : null, masterEventId, originalStart };
}

/** `MeetingPart.instance` of a stored event. */
export function instanceKeyOf({
  originalStart,
  fields,
}: Pick<StoredEvent, 'originalStart' | 'fields'>): string {
  const stamp = (originalStart?.toISOString() ?? '').replaceAll(/[-:]|\.\d+/g, '');
  return 'date' in fields.when || 'start_date' in fields.when ? stamp.slice(0, 8) : stamp;
}
