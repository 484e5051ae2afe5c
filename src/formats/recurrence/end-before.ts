import { readRecurrenceLines } from './recurrence-lines.ts';
import { TooManyOccurrencesError } from './rules.ts';
import { openSeries } from './series.ts';
import { firstStart, lastsDays, type Recurrence, type SeriesSource } from './series-source.ts';

/**
 * The rules of a series that ends before one of its starts, as if all later instances were removed.
 * @param startMs start of the first instance that is removed, in Unix milliseconds; of an all-day
 *   series its midnight in UTC
 * @returns `null` if no instance is left
 */
export function endBefore({ when, recurrence }: SeriesSource, startMs: number): Recurrence | null {
  const allDay = lastsDays(when);
  const zone = allDay ? 'UTC' : recurrence.timezone;
  const rrule = recurrence.rrule.flatMap((line) => {
    if (!/^RRULE:/i.test(line)) return [line];
    const [rule] = readRecurrenceLines([line], { zone, allDay }, () => undefined).rules;
    if (!rule) return [line];
    const last = lastStart({ when, recurrence: { ...recurrence, rrule: [line] } }, startMs);
    if (last === null) return [];
    const until = rule.hasCount ? last : Math.min(rule.untilMs ?? Infinity, startMs - 1000);
    const text = rule.text.replace(/;?\bCOUNT=\d+/, '').replace(/^;/, '');
    const stamp = new Date(until).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    return [`RRULE:${text};UNTIL=${allDay ? stamp.slice(0, 8) : stamp}`];
  });
  return rrule.some((line) => /^RRULE:/i.test(line)) ? { ...recurrence, rrule } : null;
}

/** The last start before `startMs`; `null` if there is none. */
function lastStart(source: SeriesSource, startMs: number): number | null {
  try {
    return openSeries(source).startsBetween(firstStart(source.when), startMs).at(-1) ?? null;
  } catch (error) {
    if (error instanceof TooManyOccurrencesError) return startMs - 1000;
    throw error;
  }
}
