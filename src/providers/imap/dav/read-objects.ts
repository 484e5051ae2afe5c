import { UnreadableCalendarError } from '../../../formats/ical/ical-parse.ts';
import type { RemoteEvent } from '../../port/connector.ts';
import { readObject } from './dav-event-object.ts';

/*
 * Runs in worker threads (`DavCalendars`). Node loads this file directly, in tests too, so it may
 * import only files whose types Node itself can strip.
 */

/** The events of an object, or the reason why it cannot be read. */
export type ReadObject = { events: RemoteEvent[] } | { unreadable: string };

export function readCalendarObject(object: { path: string; text: string }): ReadObject {
  try {
    return { events: readObject(object) };
  } catch (error) {
    if (!(error instanceof UnreadableCalendarError)) throw error;
    return { unreadable: error.message };
  }
}
