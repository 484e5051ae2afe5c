import ICAL from 'ical.js';
import { RRuleTemporal } from 'rrule-temporal';
import { InvalidRecurrenceError } from './recurrence-lines.ts';
import { usualRule, type WallRule } from './wall-rule.ts';

/* Opens any rule of RFC 5545 3.3.10: usual ones by arithmetic, all others with rrule-temporal. */

/** Most occurrences of a rule in one call. */
const MOST_OCCURRENCES = 20_000;
/** Limits on the steps of rrule-temporal. They stop a rule that can never match. */
const LIMITS = { maxIterations: 2_500, maxCandidateEvaluations: 20_000 } as const;
/**
 * Most times of day that BYHOUR, BYMINUTE and BYSECOND may name together: one every five minutes.
 */
const MOST_TIMES_OF_DAY = 288;
const TOO_LONG = 'it takes too long to expand';

/** A rule has too many occurrences in the requested time span, or takes too long to expand. */
export class TooManyOccurrencesError extends Error {
  override name = 'TooManyOccurrencesError';

  constructor(message = TOO_LONG, options?: ErrorOptions) {
    super(message, options);
  }
}

/** A rule that can be expanded. */
export interface OpenRule {
  rule: WallRule;
  /** Whether the rule is expanded by arithmetic, which takes microseconds. */
  usual: boolean;
}

/**
 * Opens a rule.
 * @param text rule in upper case, without UNTIL
 * @param beginMs wall time of the first start, in whole seconds
 * @param sharers number of rules that share the limits on steps, if this one is unusual
 * @throws {InvalidRecurrenceError}
 */
export function openRule(text: string, beginMs: number, sharers: number): OpenRule {
  const rule = usualRule(text, beginMs);
  return { rule: rule ?? unusualRule(text, beginMs, sharers), usual: rule !== null };
}

/**
 * Occurrences of a rule from one wall time to another, both included.
 * @throws {TooManyOccurrencesError}
 */
export function timesOf(rule: WallRule, fromMs: number, lastMs: number): number[] {
  const times = rule.between(fromMs, lastMs, MOST_OCCURRENCES);
  if (times.length > MOST_OCCURRENCES)
    throw new TooManyOccurrencesError('it has too many occurrences');
  return times;
}

/** For example `20300131T090000Z`. */
const stamp = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');

/** How many times of day BYHOUR, BYMINUTE and BYSECOND name together. */
function timesOfDay(text: string): number {
  const lists = [...text.matchAll(/\bBY(?:HOUR|MINUTE|SECOND)=([^;]*)/g)];
  return lists.reduce((product, [, list = '']) => product * list.split(',').length, 1);
}

function unusualRule(text: string, beginMs: number, sharers: number): WallRule {
  if (timesOfDay(text) > MOST_TIMES_OF_DAY)
    throw new InvalidRecurrenceError(
      `BYHOUR, BYMINUTE and BYSECOND name more than ${MOST_TIMES_OF_DAY} times of a day`,
    );
  try {
    // ical.js checks the ranges of all numbers; rrule-temporal does not reject all that are out of
    // range.
    ICAL.Recur.fromString(text);
    const rule = new RRuleTemporal({
      rruleString: `DTSTART:${stamp(beginMs)}\nRRULE:${text}`,
      strict: true,
      cache: false,
      maxIterations: Math.ceil(LIMITS.maxIterations / sharers),
      maxCandidateEvaluations: Math.ceil(LIMITS.maxCandidateEvaluations / sharers),
    });
    return {
      between: (fromMs, lastMs) =>
        bounded(() => rule.between(new Date(fromMs), new Date(lastMs), true)).map(
          ({ epochMilliseconds }) => epochMilliseconds,
        ),
      first: () => bounded(() => rule.next(new Date(beginMs), true))?.epochMilliseconds ?? null,
    };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message.slice(0, 200) : 'not a rule';
    throw new InvalidRecurrenceError(message, { cause });
  }
}

/**
 * Runs a call of rrule-temporal and translates its errors about too many or too large steps.
 * @throws {TooManyOccurrencesError}
 */
function bounded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Maximum '))
      throw new TooManyOccurrencesError(TOO_LONG, { cause: error });
    // A single step can lead millions of years ahead.
    if (error instanceof RangeError)
      throw new TooManyOccurrencesError('it leads to dates that are out of range', {
        cause: error,
      });
    throw error;
  }
}
