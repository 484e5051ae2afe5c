import type ICAL from 'ical.js';
import type { RemoteEvent } from '../../../port/connector.ts';
import type { DavObject } from '../dav-session.ts';
import { parseCalendar, UnreadableCalendarError } from '../../../../formats/ical/ical-parse.ts';
import { readFields, readOrganizer } from '../../../../formats/ical/ical-read.ts';
import { readSequence } from '../../../../formats/ical/ical-sequence.ts';
import { eventsIn, instanceIdOf, seriesIn } from '../../../../formats/ical/instance-id.ts';
import { warningsOf } from '../../../../formats/ical/kept-lines.ts';

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

/** What could be read of an object. */
export interface ReadEvents {
  events: RemoteEvent[];
  /** What is left out of the object, in plain words; empty if nothing is. */
  problems: string[];
}

/**
 * The events of an object: a series and its changed instances, or one event. Empty if the object
 * contains something else. An event without a time that can be read is left out; the others are
 * still read.
 * @throws {UnreadableCalendarError} if nothing can be read
 */
export function readObject({ path, text }: Pick<DavObject, 'path' | 'text'>): ReadEvents {
  const root = parseCalendar(text);
  const problems: string[] = [];
  const series = seriesIn(root);
  const events = [...eventsIn(root, (problem) => problems.push(problem)).values()].flatMap(
    (event) => {
      try {
        return [readEvent(path, event, root, series)];
      } catch (error) {
        // The library parses values lazily and throws plain errors for invalid ones.
        const reason = error instanceof Error ? error.message.slice(0, 200) : 'not iCalendar';
        problems.push(`an event is left out: ${reason}`, ...warningsOf(event, root));
        return [];
      }
    },
  );
  if (events.length === 0 && problems.length > 0)
    throw new UnreadableCalendarError(problems.join('. '));
  return { events, problems: [...problems, ...events.flatMap(({ warnings = [] }) => warnings)] };
}

function readEvent(
  path: string,
  event: ICAL.Component,
  root: ICAL.Component,
  series: ICAL.Component | undefined,
): RemoteEvent {
  const instance = instanceIdOf(event, root, series);
  const uid = event.getFirstPropertyValue('uid');
  const content = { ...readFields(event, root) };
  return {
    providerId: instance ? `${path}#${instance.key}` : path,
    icalUid: typeof uid === 'string' && uid ? uid : path,
    content,
    masterProviderId: instance ? path : null,
    originalStartTime: instance?.seconds ?? null,
    organizer: readOrganizer(event),
    sequence: readSequence(event),
    warnings: warningsOf(event, root),
  };
}
