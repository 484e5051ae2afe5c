import { expect } from '@jest/globals';
import type { CalendarAnswer, ContactAnswer, MailAnswer } from './answers.ts';
import type { Expected } from './corpus.ts';
import type { Shown } from './shown.ts';

/*
 * Compare an answer with what a case expects. Fields that the case does not name are not compared,
 * and of a warning only the part that the case gives.
 */

/** @param hasSizes false if the sizes of files are estimates, as in messages read by their parts */
export function expectMail(actual: MailAnswer, expected: Expected<'mail'>, hasSizes = true): void {
  const { message = {}, text, files } = expected;
  expect(actual.message).toMatchObject(withParts(message));
  if (text !== undefined) expect(actual.text).toBe(text);
  if (!files) return;
  const sizeOf = ({ bytes }: Shown) => (hasSizes ? { size: String(bytes).length } : {});
  const wanted = byName(files).map((file) => ({ ...sizeOf(file), ...file }));
  expect(byName(actual.files)).toMatchObject(wanted);
}

export function expectCalendar(actual: CalendarAnswer, expected: Expected<'calendars'>): void {
  const { events, instances, failures } = expected;
  if (events) expect(actual.events).toMatchObject(events.map(withParts));
  if (instances) expect(actual.instances).toEqual(instances);
  expectFailures(actual.failures, failures);
}

export function expectContacts(actual: ContactAnswer, expected: Expected<'contacts'>): void {
  expect(actual.contacts).toMatchObject(expected.contacts.map(withParts));
  expectFailures(actual.failures, expected.failures);
}

function expectFailures(actual: readonly string[], expected: readonly string[] | undefined): void {
  if (expected?.length === 0) expect(actual).toEqual([]);
  for (const part of expected ?? []) expect(actual.join('\n')).toContain(part);
}

/** The fields, with a part of each warning instead of its whole sentence. */
function withParts(fields: Shown): Shown {
  const { warnings } = fields;
  if (!Array.isArray(warnings)) return fields;
  const parts = warnings.map((part: string): unknown => expect.stringContaining(part));
  return { ...fields, warnings: parts };
}

const byName = (files: readonly Shown[]): Shown[] =>
  files.toSorted((a, b) => (String(a['filename']) < String(b['filename']) ? -1 : 1));
