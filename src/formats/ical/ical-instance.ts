import ICAL from 'ical.js';
import { instanceIdOf } from './ical-read.ts';
import { fileZone, ianaZone, instantOf, isUtc, localStamp, wallMs } from './ical-zone.ts';

/*
 * Single instances of a series in its calendar file (RFC 5545 3.8.4.4 and 3.8.5.1). An instance is named by when it begins by the
 * rules: `InstanceId.key`.
 */

/** The series has no times of this kind: it is made of days now, or of times. */
export class OtherTimesError extends Error {
  override name = 'OtherTimesError';
}

const KEY = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/;

/** Unix seconds; of a day its midnight, as if in UTC. */
function secondsOf(key: string): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = (
    KEY.exec(key)?.slice(1) ?? []
  ).map((part) => Number(part ?? 0));
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** A date-time in the zone another one is written in, whatever the file says of that. */
function timeLike(property: ICAL.Property, seconds: number, root: ICAL.Component): ICAL.Time {
  const value = property.getFirstValue();
  const day = new Date(seconds * 1000).toISOString().slice(0, 10);
  if (value instanceof ICAL.Time && value.isDate) return ICAL.Time.fromDateString(day);
  const tzid = property.getFirstParameter('tzid');
  const utc = localStamp(seconds, 'UTC');
  if (value instanceof ICAL.Time && value.zone === ICAL.Timezone.utcTimezone) return utc;
  const zone = tzid ? ianaZone(tzid, root) : undefined;
  if (zone && !isUtc(zone)) return localStamp(seconds, zone);
  const own = tzid && !zone ? fileZone(tzid, root, utc.year) : undefined;
  const wall = own ? localStamp(seconds + own.offsetMs(seconds * 1000) / 1000, 'UTC') : utc;
  // Without a `Z`: the zone is in the parameter, or there is none.
  const { year, month, day: date, hour, minute, second } = wall;
  return ICAL.Time.fromData(
    { year, month, day: date, hour, minute, second, isDate: false },
    ICAL.Timezone.localTimezone,
  );
}

/** When an instance begins, as the series writes its own beginning. @throws {OtherTimesError} */
function startLike(
  series: ICAL.Component,
  key: string,
  root: ICAL.Component,
  name: string,
): ICAL.Property {
  const first = series.getFirstProperty('dtstart');
  const value = first?.getFirstValue();
  if (!first || !(value instanceof ICAL.Time) || value.isDate === key.includes('T'))
    throw new OtherTimesError('The series has no such instance');
  const property = new ICAL.Property(name);
  property.resetType(value.isDate ? 'date' : 'date-time');
  property.setValue(timeLike(first, secondsOf(key), root));
  const tzid = first.getFirstParameter('tzid');
  if (tzid) property.setParameter('tzid', tzid);
  return property;
}

const OF_THE_SERIES = ['rrule', 'rdate', 'exdate', 'exrule', 'recurrence-id'];

/**
 * The VEVENT of an instance nobody has changed yet: all that the series has, also what we do not understand, at its own
 * time. It is added to the file.
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

/** Whether a series leaves an instance out. */
export function isExcluded(series: ICAL.Component, key: string, root: ICAL.Component): boolean {
  const seconds = secondsOf(key);
  const first = series.getFirstProperty('dtstart');
  const begin = first && timeLike(first, seconds, root);
  return series.getAllProperties('exdate').some((property) =>
    property.getValues().some((value) => {
      if (!(value instanceof ICAL.Time)) return false;
      // A day leaves out everything on it.
      if (value.isDate) return begin !== null && begin !== undefined && daysEqual(value, begin);
      return key.includes('T') && instantOf(property, value, root).seconds === seconds;
    }),
  );
}

const daysEqual = (a: ICAL.Time, b: ICAL.Time) =>
  a.year === b.year && a.month === b.month && a.day === b.day;

/** Has a series leave an instance out. @throws {OtherTimesError} */
export function exclude(series: ICAL.Component, key: string, root: ICAL.Component): void {
  series.addProperty(startLike(series, key, root, 'exdate'));
}

/** Removes what a file has of a changed instance, older revisions included. @returns whether there was any */
export function removeInstance(root: ICAL.Component, key: string): boolean {
  const events = root
    .getAllSubcomponents('vevent')
    .filter((one) => instanceIdOf(one, root)?.key === key);
  for (const event of events) root.removeSubcomponent(event);
  return events.length > 0;
}

/** Whether a changed instance stands for all that follow it as well (RFC 5545 3.2.13). */
export function standsForFollowing(event: ICAL.Component): boolean {
  const range = event.getFirstProperty('recurrence-id')?.getFirstParameter('range');
  return range?.toUpperCase() === 'THISANDFUTURE';
}
