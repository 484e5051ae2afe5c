/**
 * The four forms of `when`. Times are in Unix seconds; dates are YYYY-MM-DD, and both dates are
 * inclusive.
 */
export type EventWhen =
  | { object: 'time'; time: number; timezone?: string }
  | {
      object: 'timespan';
      start_time: number;
      end_time: number;
      start_timezone?: string;
      end_timezone?: string;
    }
  | { object: 'date'; date: string }
  | { object: 'datespan'; start_date: string; end_date: string };

/** The rules of a recurring event. */
export interface Recurrence {
  /** RRULE and EXDATE lines. */
  rrule: string[];
  /** IANA zone in whose wall time the rules are computed. */
  timezone: string;
  /**
   * Calendar days that each instance lasts, if its file gives the length as a DURATION with days
   * (RFC 5545 3.8.5.3): such an instance ends at the same wall time, also when clocks change
   * meanwhile. Absent: every instance lasts as many seconds as the first.
   */
  nominalDays?: number;
}

/** What a series is computed from. */
export interface SeriesSource {
  /** Start and end of the first occurrence. */
  when: EventWhen;
  recurrence: Recurrence;
}

/** Whether an event with this `when` lasts whole days. */
export function lastsDays({ object }: EventWhen): boolean {
  return object === 'date' || object === 'datespan';
}

/** Start of `when` in Unix milliseconds. For all-day events: midnight of the first day in UTC. */
export function firstStart(when: EventWhen): number {
  switch (when.object) {
    case 'time':
      return when.time * 1000;
    case 'timespan':
      return when.start_time * 1000;
    case 'date':
      return Date.parse(when.date);
    case 'datespan':
      return Date.parse(when.start_date);
  }
}
