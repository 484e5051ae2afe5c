import type ICAL from 'ical.js';
import type { RemoteEvent } from '../../port/connector.ts';
import type { DavObject } from './dav-session.ts';
import { parseCalendar, UnreadableCalendarError } from '../../../formats/ical/ical-parse.ts';
import {
  eventsIn,
  instanceIdOf,
  readFields,
  readOrganizer,
  readSequence,
} from '../../../formats/ical/ical-read.ts';

/** An event within a calendar object, as identified by a `providerId`. */
export interface EventLocation {
  path: string;
  /** `InstanceId.key`. `null` for the series or the only event. */
  instance: string | null;
}

/** The object and event that a `providerId` identifies. */
export function idOf(providerId: string): EventLocation {
  const hash = providerId.lastIndexOf('#');
  if (hash < 0) return { path: providerId, instance: null };
  return { path: providerId.slice(0, hash), instance: providerId.slice(hash + 1) };
}

/**
 * The events of an object: a series and its changed instances, or one event. Empty if the object
 * contains something else.
 * @throws {UnreadableCalendarError}
 */
export function readObject({ path, text }: Pick<DavObject, 'path' | 'text'>): RemoteEvent[] {
  const root = parseCalendar(text);
  try {
    return [...eventsIn(root).values()].map((event) => readEvent(path, event, root));
  } catch (cause) {
    // The library parses values lazily and throws plain errors for invalid ones.
    const message = cause instanceof Error ? cause.message.slice(0, 200) : 'not iCalendar';
    throw new UnreadableCalendarError(message, { cause });
  }
}

function readEvent(path: string, event: ICAL.Component, root: ICAL.Component): RemoteEvent {
  const instance = instanceIdOf(event, root);
  const uid = event.getFirstPropertyValue('uid');
  return {
    providerId: instance ? `${path}#${instance.key}` : path,
    icalUid: typeof uid === 'string' && uid ? uid : path,
    content: { ...readFields(event, root) },
    masterProviderId: instance ? path : null,
    originalStartTime: instance?.seconds ?? null,
    organizer: readOrganizer(event),
    sequence: readSequence(event),
  };
}
