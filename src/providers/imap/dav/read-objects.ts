import { UnreadableCalendarError } from '../../../formats/ical/ical-read.ts';
import type { RemoteEvent } from '../../port/connector.ts';
import { readObject } from './dav-event-object.ts';

/*
 * What threads do with objects of calendars (`DavCalendars`). Node loads this file as it is, in tests too: it may import only
 * what Node itself can strip of types.
 */

/** The events of an object, or why it cannot be read. */
export type ReadObject = { events: RemoteEvent[] } | { unreadable: string };

export function readCalendarObject(object: { path: string; text: string }): ReadObject {
  try {
    return { events: readObject(object) };
  } catch (error) {
    if (!(error instanceof UnreadableCalendarError)) throw error;
    return { unreadable: error.message };
  }
}
