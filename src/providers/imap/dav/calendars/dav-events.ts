import type ICAL from 'ical.js';
import {
  fieldsOf,
  type IcalFields,
  UnwritableEventError,
} from '../../../../formats/ical/ical-fields.ts';
import {
  addInstance,
  exclude,
  isExcluded,
  OtherTimesError,
  removeInstance,
  standsForFollowing,
} from '../../../../formats/ical/ical-instance.ts';
import { parseCalendar, UnreadableCalendarError } from '../../../../formats/ical/ical-parse.ts';
import { mergeFields } from '../../../../formats/ical/ical-merge.ts';
import { readFields } from '../../../../formats/ical/ical-read.ts';
import { readSequence } from '../../../../formats/ical/ical-sequence.ts';
import {
  isRevision,
  newEvent,
  stampEvent,
  throughIcal,
  type Writer,
  writeFields,
} from '../../../../formats/ical/ical-write.ts';
import { eventsIn } from '../../../../formats/ical/instance-id.ts';
import { fileText } from '../../../../formats/ical/kept-lines.ts';
import type { Clock } from '../../../../platform/base/time/clock.ts';
import type {
  EventContent,
  ProviderAccount,
  EventProviderIds,
  ProviderSequence,
} from '../../../port/connector.ts';
import { ProviderError } from '../../../../platform/base/errors/provider-error.ts';
import type { EventLocation } from './dav-event-object.ts';
import type { DavSession } from '../dav-session.ts';

/**
 * Limit of attempts, because other clients may keep changing the same object; the provider write is
 * then retried later.
 */
const MOST_ROUNDS = 5;

const gone = () => new ProviderError('not-found', 'The event does not exist');
const conflict = (what: string) =>
  new ProviderError(
    'conflict',
    `${what} at the provider in the meantime. Read the event and repeat the changes you still want`,
  );
const busy = () =>
  new ProviderError('temporary', 'Other clients keep changing the event; try again later');

/**
 * Result of a change to an object: unchanged, to be written, or to be deleted because nothing is
 * left in it.
 */
type Rewritten = 'same' | 'changed' | 'empty';

/** An instance of a series in a calendar object. */
export type InstanceInFile = EventLocation & { instance: string };

export interface WantedEvent {
  content: EventContent;
  /** See `CalendarPort.updateEvent`. */
  base: EventContent | null;
  /** Lowest SEQUENCE of the event afterwards. */
  sequence: number;
}

/** A wanted event as fields of a calendar file. */
interface FileChange {
  ours: IcalFields;
  before: IcalFields | null;
  writer: Writer;
  sequence: number;
}

/**
 * Writes events into the objects of a calendar. Properties that it does not know stay unchanged.
 */
export class DavEvents {
  constructor(private readonly clock: Clock) {}

  /**
   * Creates an event. The key determines path and UID, so a repeated creation finds the existing
   * event and updates it.
   */
  async create(
    session: DavSession,
    account: ProviderAccount,
    calendar: string,
    key: string,
    content: EventContent,
    sequence: number,
  ): Promise<EventProviderIds> {
    const path = `${calendar}${encodeURIComponent(key)}.ics`;
    const root = writable(() => newEvent(key, fieldsOf(content), this.#writer(account), sequence));
    const ids = { providerId: path, icalUid: key };
    if (await session.create(path, fileText(root))) return { ...ids, sequence };
    const target = { path, instance: null };
    return {
      ...ids,
      ...(await this.update(session, account, target, { content, base: null, sequence })),
    };
  }

  /** See `CalendarPort.asStored`. */
  asStored(account: Pick<ProviderAccount, 'email' | 'name'>, content: EventContent): EventContent {
    return { ...asStored(content, this.#writer(account)) };
  }

  /**
   * Updates an event by a three-way merge: fields that the change does not concern keep their
   * current value (`mergeFields`).
   */
  async update(
    session: DavSession,
    account: ProviderAccount,
    target: EventLocation,
    wanted: WantedEvent,
  ): Promise<ProviderSequence> {
    const change = asChange(wanted, this.#writer(account));
    let sequence = 0;
    await this.#rewrite(session, target.path, (root, events) => {
      const event = events.get(target.instance);
      if (!event) throw gone();
      const result = merge(root, event, change);
      sequence = readSequence(event);
      return result;
    });
    return { sequence };
  }

  async writeInstance(
    session: DavSession,
    account: ProviderAccount,
    { path, instance }: InstanceInFile,
    wanted: WantedEvent,
  ): Promise<EventProviderIds> {
    const change = asChange(wanted, this.#writer(account));
    let uid: unknown;
    let sequence = 0;
    await this.#rewrite(session, path, (root, events) => {
      const [series, there] = [events.get(null), events.get(instance)];
      if (!series) throw gone();
      uid = series.getFirstPropertyValue('uid');
      if (there) {
        const result = merge(root, there, change);
        sequence = readSequence(there);
        return result;
      }
      if (isExcluded(series, instance, root)) throw conflict('The instance was deleted');
      // The instance exists from now on, even if it does not differ from the series.
      const added = fitting(() => addInstance(series, instance, root));
      merge(root, added, change);
      sequence = readSequence(added);
      return 'changed';
    });
    return {
      providerId: `${path}#${instance}`,
      icalUid: typeof uid === 'string' && uid ? uid : path,
      sequence,
    };
  }

  /** See `CalendarPort.deleteInstance`. The series continues without the instance. */
  async deleteInstance(session: DavSession, { path, instance }: InstanceInFile): Promise<void> {
    const now = this.clock.now();
    await this.#rewrite(session, path, (root, events) => {
      const [series, there] = [events.get(null), events.get(instance)];
      if (there) assertSingle(there);
      const removed = removeInstance(root, instance);
      if (!series) return removed ? leftIn(root) : 'same';
      const excluded = isExcluded(series, instance, root);
      if (excluded && !removed) return 'same';
      if (!excluded) fitting(() => exclude(series, instance, root));
      stampEvent(series, now, true);
      return 'changed';
    });
  }

  async resetInstance(session: DavSession, { path, instance }: InstanceInFile): Promise<void> {
    await this.#rewrite(session, path, (root, events) => {
      const there = events.get(instance);
      if (there) assertSingle(there);
      return removeInstance(root, instance) ? leftIn(root) : 'same';
    });
  }

  /** Deletes a series or a single event. For a changed instance see `deleteInstance`. */
  async remove(session: DavSession, { path, instance }: EventLocation): Promise<void> {
    if (instance !== null) return this.deleteInstance(session, { path, instance });
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { etag } = await session.get(path);
      if (await session.remove(path, etag)) return;
    }
    throw busy();
  }

  /**
   * Reads, changes and writes an object, and repeats this if another client has changed it
   * meanwhile.
   */
  async #rewrite(
    session: DavSession,
    path: string,
    change: (root: ICAL.Component, events: Map<string | null, ICAL.Component>) => Rewritten,
  ): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { etag, text } = await session.get(path);
      const root = parsed(text);
      const result = change(root, eventsIn(root));
      if (result === 'same') return;
      const done =
        result === 'empty'
          ? await session.remove(path, etag)
          : await session.replace(path, fileText(root), etag);
      if (done) return;
    }
    throw busy();
  }

  #writer({ email, name }: Pick<ProviderAccount, 'email' | 'name'>): Writer {
    return { email, name, now: this.clock.now() };
  }
}

/** @throws {ProviderError} `rejected` if the event cannot be written as iCalendar */
function asStored(content: EventContent, writer: Writer): IcalFields {
  return writable(() => throughIcal(fieldsOf(content), writer));
}

/** @throws {ProviderError} see `asStored` */
function asChange({ content, base, sequence }: WantedEvent, writer: Writer): FileChange {
  return {
    ours: asStored(content, writer),
    before: base && asStored(base, writer),
    writer,
    sequence,
  };
}

function writable<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof UnwritableEventError)) throw cause;
    throw new ProviderError('rejected', cause.message, { cause });
  }
}

function parsed(text: string): ICAL.Component {
  try {
    return parseCalendar(text);
  } catch (error) {
    if (!(error instanceof UnreadableCalendarError)) throw error;
    throw new ProviderError('rejected', 'The event at the provider cannot be read', {
      cause: error,
    });
  }
}

const leftIn = (root: ICAL.Component): Rewritten =>
  root.getFirstSubcomponent('vevent') ? 'changed' : 'empty';

/**
 * Merges the change into the current event.
 * @throws {ProviderError} `conflict`
 */
function merge(
  root: ICAL.Component,
  event: ICAL.Component,
  { ours, before, writer, sequence }: FileChange,
): Rewritten {
  const { write, conflicts } = mergeFields(before, ours, readFields(event, root));
  if (conflicts.length > 0) throw conflict(`Changed: ${conflicts.join(', ')}`);
  const isOlder = readSequence(event) < sequence && !standsForFollowing(event);
  if (Object.keys(write).length === 0 && !isOlder) return 'same';
  assertSingle(event);
  writeFields(event, root, write, writer);
  stampEvent(event, writer.now, isRevision(write), sequence);
  return 'changed';
}

/** @throws {ProviderError} `rejected` if the instance also stands for all following ones */
function assertSingle(event: ICAL.Component): void {
  if (standsForFollowing(event))
    throw new ProviderError(
      'rejected',
      'This instance also stands for all following ones (RANGE=THISANDFUTURE): only the program that created it can change it',
    );
}

/** @throws {ProviderError} `conflict` if the times of the series have changed */
function fitting<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof OtherTimesError)) throw cause;
    throw conflict(cause.message);
  }
}
