/*
 * Conditions on rows of `event` that indexes and statements share. PostgreSQL uses a partial index
 * only for a statement that repeats its condition, and an expression index only for that very
 * expression. A change of a condition needs a migration.
 */

/** The event makes its participants busy, and lasts at most a week, as nearly all events do. */
export const SHORT_TIME = `
  busy and status <> 'cancelled' and ends_at > starts_at and ends_at - starts_at <= interval '7 days'`.trim();

/**
 * A participant has declined or is not sure, or more people can join. Such a row has to be read to
 * decide who is busy.
 */
export const ANSWERED_OR_GROUP = `
  (participants @> '[{"status":"no"}]' or participants @> '[{"status":"maybe"}]' or coalesce(capacity, 0) > 0)`.trim();

/**
 * The day in UNTIL of a series, as YYYYMMDD. Without UNTIL, or with several rules, a day that is
 * never reached.
 */
export const LAST_DAY = `
  (coalesce(substring(recurrence ->> 'rrule' from '(?i)^(?!.*RRULE:.*RRULE:).*UNTIL=(\\d{8})'), '99999999'))`.trim();
