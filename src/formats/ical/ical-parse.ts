import type ICAL from 'ical.js';
import { readCalendarLine } from './calendar-line.ts';
import { readObjectTree, TreeLimitError } from './object-tree.ts';

/** A calendar file that cannot be read. */
export class UnreadableCalendarError extends Error {
  override name = 'UnreadableCalendarError';
}

/** A calendar file that is too large to be read. */
export class CalendarLimitError extends UnreadableCalendarError {
  override name = 'CalendarLimitError';
}

/** Longest file in UTF-16 units. Events with large inline attachments are skipped. */
const MOST_TEXT = 1024 * 1024;
/** Most lines of a file, counting folded lines separately. */
const MOST_LINES = 20_000;
/**
 * Most semicolons in an unfolded line: the library's time grows with the square of a line's
 * parameters.
 */
const MOST_SEMICOLONS = 10_000;

/** @throws {CalendarLimitError} if the file is so large that reading it could delay other work */
function assertBounded(text: string): void {
  if (text.length > MOST_TEXT) throw new CalendarLimitError(`longer than ${MOST_TEXT} characters`);
  let lines = 0;
  for (let at = 0; at !== -1 && at < text.length; at = nextLine(text, at)) {
    lines += 1;
    if (lines > MOST_LINES) throw new CalendarLimitError(`more than ${MOST_LINES} lines`);
  }
  assertFewParameters(text);
}

/** @throws {CalendarLimitError} if a line has too many parameters */
function assertFewParameters(text: string): void {
  let count = 0;
  for (const [sign] of text.matchAll(/;|\n(?![ \t])/g)) {
    count = sign === ';' ? count + 1 : 0;
    if (count > MOST_SEMICOLONS)
      throw new CalendarLimitError(`more than ${MOST_SEMICOLONS} semicolons in a line`);
  }
}

function nextLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? -1 : end + 1;
}

/**
 * Parses a calendar file. Lines that cannot be read are left out: `warningsOf` reports them, and
 * `fileText` writes them back as they were.
 * @throws {UnreadableCalendarError} if the text is not a calendar file or is too large
 */
export function parseCalendar(text: string): ICAL.Component {
  assertBounded(text);
  const root = readTree(text);
  if (!root) throw new UnreadableCalendarError('it has no BEGIN:VCALENDAR');
  return root;
}

function readTree(text: string): ICAL.Component | null {
  try {
    return readObjectTree(text, 'vcalendar', readCalendarLine);
  } catch (error) {
    if (error instanceof TreeLimitError)
      throw new CalendarLimitError(error.message, { cause: error });
    throw error;
  }
}
