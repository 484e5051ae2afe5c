/*
 * Conditions on rows of `event` that indexes and statements share: PostgreSQL takes a partial index only for a statement
 * that has its condition, and an index of an expression for that very expression. A change needs a migration.
 */

/** It takes somebody's time, and as is usual a week of it at most. */
export const SHORT_TIME = `
  busy and status <> 'cancelled' and ends_at > starts_at and ends_at - starts_at <= interval '7 days'`.trim();

/** Somebody has declined or is not sure, or more people can join: the row has to be looked at. */
export const ANSWERED_OR_GROUP = `
  (participants @> '[{"status":"no"}]' or participants @> '[{"status":"maybe"}]' or coalesce(capacity, 0) > 0)`.trim();

/** The day that UNTIL of a series names, as YYYYMMDD; without it, or with several rules, one that is never reached. */
export const LAST_DAY = `
  (coalesce(substring(recurrence ->> 'rrule' from '(?i)^(?!.*RRULE:.*RRULE:).*UNTIL=(\\d{8})'), '99999999'))`.trim();
