import type ICAL from 'ical.js';
import { readCalendarLine } from './calendar-line.ts';
import { readObjectTree } from './object-tree.ts';

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
/** Most lines of a file, counting folded lines separately, and most BEGIN lines. */
const MOST_LINES = 20_000;
const MOST_COMPONENTS = 1_000;
/**
 * Most semicolons in an unfolded line: the library's time grows with the square of a line's
 * parameters.
 */
const MOST_SEMICOLONS = 10_000;
/** Deepest nesting of components; the library recurses into each. */
const MOST_DEPTH = 10;

/** @throws {CalendarLimitError} if the file is so large that reading it could delay other work */
function assertBounded(text: string): void {
  if (text.length > MOST_TEXT) throw new CalendarLimitError(`longer than ${MOST_TEXT} characters`);
  let [lines, components, depth] = [0, 0, 0];
  for (let at = 0; at !== -1 && at < text.length; at = nextLine(text, at)) {
    lines += 1;
    const start = text.slice(at, at + 6).toUpperCase();
    if (start === 'BEGIN:') [components, depth] = [components + 1, depth + 1];
    else if (start.startsWith('END:')) depth -= 1;
    if (lines > MOST_LINES) throw new CalendarLimitError(`more than ${MOST_LINES} lines`);
    if (components > MOST_COMPONENTS)
      throw new CalendarLimitError(`more than ${MOST_COMPONENTS} components`);
    if (depth > MOST_DEPTH)
      throw new CalendarLimitError(`components nested deeper than ${MOST_DEPTH}`);
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
  const root = readObjectTree(text, 'vcalendar', readCalendarLine);
  if (!root) throw new UnreadableCalendarError('it has no BEGIN:VCALENDAR');
  return root;
}
