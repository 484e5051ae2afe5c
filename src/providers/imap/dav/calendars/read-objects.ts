import { UnreadableCalendarError } from '../../../../formats/ical/ical-parse.ts';
import { type ReadEvents, readObject } from './dav-event-object.ts';

/*
 * Runs in worker threads (`DavCalendars`). Node loads this file directly, in tests too, so it may
 * import only files whose types Node itself can strip.
 */

/** The events of an object, or the reason why it cannot be read. */
export type ReadObject = ReadEvents | { unreadable: string };

export function readCalendarObject(object: { path: string; text: string }): ReadObject {
  try {
    return readObject(object);
  } catch (error) {
    if (!(error instanceof UnreadableCalendarError)) throw error;
    return { unreadable: error.message };
  }
}
