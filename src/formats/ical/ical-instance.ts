import ICAL from 'ical.js';
import { dayOf, readInstanceId, seriesIn } from './instance-id.ts';
import { instantOf, localStamp, stampIn, wallMs } from './zones/ical-zone.ts';

/*
 * Single instances of a series in its calendar file (RFC 5545 3.8.4.4 and 3.8.5.1). An instance is
 * identified by its start according to the rules: `InstanceId.key`.
 */

/**
 * The series no longer has times of this kind: it changed from times to dates, or from dates to
 * times.
 */
export class OtherTimesError extends Error {
  override name = 'OtherTimesError';
}

const KEY = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/;

/** Start of an instance in Unix seconds; for a date, its midnight in UTC. */
function secondsOf(key: string): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (
    KEY.exec(key)?.slice(1) ?? []
  ).map((part) => Number(part ?? 0));
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** A date-time in the same zone and notation as the value of `property`. */
function timeLike(property: ICAL.Property, seconds: number, root: ICAL.Component): ICAL.Time {
  const value = property.getFirstValue();
  const day = new Date(seconds * 1000).toISOString().slice(0, 10);
  if (value instanceof ICAL.Time && value.isDate) return ICAL.Time.fromDateString(day);
  const tzid = property.getFirstParameter('tzid');
  if (value instanceof ICAL.Time && value.zone === ICAL.Timezone.utcTimezone)
    return localStamp(seconds, 'UTC');
  // Without a `Z`: either the zone is in the parameter, or there is none.
  return stampIn(tzid ?? 'UTC', seconds, root);
}

/**
 * The start of an instance, in the notation of the start of its series.
 * @throws {OtherTimesError}
 */
function startLike(
  series: ICAL.Component,
  key: string,
  root: ICAL.Component,
  name: string,
): ICAL.Property {
  const first = series.getFirstProperty('dtstart');
  const value = first?.getFirstValue();
  if (!first || !(value instanceof ICAL.Time) || value.isDate === key.includes('T'))
    throw new OtherTimesError(
      'The series has no such instance: its start is a date and the instance has a time, or the reverse',
    );
  const property = new ICAL.Property(name);
  property.resetType(value.isDate ? 'date' : 'date-time');
  property.setValue(timeLike(first, secondsOf(key), root));
  const tzid = first.getFirstParameter('tzid');
  if (tzid) property.setParameter('tzid', tzid);
  return property;
}

const OF_THE_SERIES = ['rrule', 'rdate', 'exdate', 'exrule', 'recurrence-id'];

/**
 * Adds a VEVENT for an instance that has not been changed before. It copies all properties of the
 * series, including those we do not understand, and gets its own time.
 * @throws {OtherTimesError}
 */
export function addInstance(
  series: ICAL.Component,
  key: string,
  root: ICAL.Component,
): ICAL.Component {
  const start = startLike(series, key, root, 'recurrence-id');
  const copy = new ICAL.Component(structuredClone(series.toJSON()));
  for (const name of OF_THE_SERIES) copy.removeAllProperties(name);
  copy.addProperty(start);
  const begin = copy.getFirstProperty('dtstart');
  const end = copy.getFirstProperty('dtend');
  const [from, to] = [begin?.getFirstValue(), end?.getFirstValue()];
  if (begin && from instanceof ICAL.Time) {
    if (end && to instanceof ICAL.Time) {
      const length = to.isDate
        ? (wallMs(to) - wallMs(from)) / 1000
        : instantOf(end, to, root).seconds - instantOf(begin, from, root).seconds;
      end.setValue(timeLike(end, secondsOf(key) + length, root));
    }
    begin.setValue(timeLike(begin, secondsOf(key), root));
  }
  root.addSubcomponent(copy);
  return copy;
}

/** True if the series excludes the instance. */
export function isExcluded(series: ICAL.Component, key: string, root: ICAL.Component): boolean {
  const seconds = secondsOf(key);
  const first = series.getFirstProperty('dtstart');
  const begin = first && timeLike(first, seconds, root);
  return series.getAllProperties('exdate').some((property) =>
    property.getValues().some((value) => {
      if (!(value instanceof ICAL.Time)) return false;
      // An EXDATE that is a date excludes all instances on that day.
      if (value.isDate) return begin !== null && begin !== undefined && daysEqual(value, begin);
      if (!key.includes('T')) return dayOf(value) === seconds * 1000;
      const zone = first?.getFirstParameter('tzid') ?? undefined;
      return instantOf(property, value, root, zone).seconds === seconds;
    }),
  );
}

const daysEqual = (a: ICAL.Time, b: ICAL.Time) =>
  a.year === b.year && a.month === b.month && a.day === b.day;

/**
 * Excludes an instance from a series.
 * @throws {OtherTimesError}
 */
export function exclude(series: ICAL.Component, key: string, root: ICAL.Component): void {
  series.addProperty(startLike(series, key, root, 'exdate'));
}

/**
 * Removes a changed instance from a file, with its older revisions.
 * @returns `true` if there was one
 */
export function removeInstance(root: ICAL.Component, key: string): boolean {
  const series = seriesIn(root);
  const events = root
    .getAllSubcomponents('vevent')
    .filter((one) => readInstanceId(one, root, series)?.key === key);
  for (const event of events) root.removeSubcomponent(event);
  return events.length > 0;
}

/** True if a changed instance also replaces all later ones (RFC 5545 3.2.13). */
export function standsForFollowing(event: ICAL.Component): boolean {
  const range = event.getFirstProperty('recurrence-id')?.getFirstParameter('range');
  return range?.toUpperCase() === 'THISANDFUTURE';
}
