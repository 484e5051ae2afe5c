import type { AuditRound } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import type { DaysOfAudit } from '../../mail/messages/mirror/audited-days.ts';

/*
 * Days in UTC, as `2026-11-28`, of which the completeness of an account is shown: today and the six
 * days before. Events are kept for seven days, so all events of these days are still stored.
 */
export const MOST_DAYS = 7;
const DAY_MS = 86_400_000;

export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

export const startOfDay = (day: string): Date => new Date(`${day}T00:00:00Z`);

/** @param days how many days are shown, today included */
export const firstShownDay = (now: Date, days = MOST_DAYS): string =>
  dayOf(new Date(now.getTime() - (days - 1) * DAY_MS));

/** The first day that begins at this time or later. */
const firstWholeDay = (since: Date): string => dayOf(new Date(since.getTime() + DAY_MS - 1));

/**
 * The days that an audit has compared completely, as far as they are shown. An audit of recent
 * messages begins within a day; that day is left out.
 */
export function daysOfRound(round: AuditRound): { days: DaysOfAudit; firstShown: string } {
  const beganAt = new Date(round.beganAt);
  const firstShown = firstShownDay(beganAt);
  const since = round.kind === 'full' ? round.wholeSince : round.since;
  const firstWhole = since === null ? firstShown : firstWholeDay(new Date(since));
  const firstDay = firstWhole > firstShown ? firstWhole : firstShown;
  const { skipped, found, repaired } = round;
  return { days: { firstDay, beganAt, skipped, unrepaired: found - repaired }, firstShown };
}
