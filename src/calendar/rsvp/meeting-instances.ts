import { type InstanceId, instanceIdAt } from '../../formats/ical/instance-id.ts';
import { compareRevisions } from '../../formats/ical/revisions.ts';
import { midnightOf, nearestDay, wallTimeOf } from '../../formats/recurrence/recurrence-lines.ts';
import { openSeries } from '../../formats/recurrence/series.ts';
import { firstStart } from '../../formats/recurrence/series-source.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { instantOfWallTime } from '../../platform/base/time/time-zone.ts';
import type { ProviderFields } from '../events/event-columns.ts';
import { fieldsOf } from '../events/mirror/event-plan.ts';
import type { When } from '../events/event-values.ts';
import type { MailedEvent, NewInstance, StoredEvent } from '../events/mailed/mailed-events.ts';
import { fieldsOfInstance } from '../events/recurrence/instances.ts';
import { isAllDay } from '../events/when/when.ts';
import type { InvitingMail, Meeting, MeetingPart } from './meeting.ts';

/* Instances of a meeting's series. Pure functions. */

type SeriesFields = Pick<ProviderFields, 'when' | 'recurrence'>;

/**
 * An instance as its series names it. Mails may name an instance of an all-day series by a time,
 * and one of a series with times by its day.
 */
export function instanceWithin(
  instance: InstanceId,
  { when, recurrence }: SeriesFields,
): InstanceId {
  const allDay = isAllDay(when);
  if (allDay !== instance.key.includes('T')) return instance;
  const ms = instance.seconds * 1000;
  if (allDay) return instanceIdAt(nearestDay(ms) / 1000, true);
  const zone = recurrence?.timezone ?? 'UTC';
  const wall = wallTimeOf(firstStart(when), zone);
  const startMs = instantOfWallTime(ms + wall - midnightOf(wall), zone).getTime();
  return instanceIdAt(startMs / 1000, false);
}

/**
 * An instance of a series of the account that was never changed on its own. `null` if the series
 * does not take place then, or if its rules take too long to expand.
 */
export function describedInstance(series: StoredEvent, startMs: number): NewInstance | null {
  const { zone, fields: all } = series;
  const { when, recurrence } = all;
  if (!recurrence || all.status === 'cancelled') return null;
  const occurrence = openSeries({ when, recurrence }).at(startMs);
  if (!occurrence) return null;
  const described = { ...all, ...fieldsOfInstance({ recurrence, zone }, occurrence) };
  const row = { id: newId(), messageId: null, notifications: [], masterEventId: series.id };
  return { ...series, ...row, originalStart: new Date(startMs), fields: described, described };
}

/**
 * Gives instances that arrived before their series the names that the series gives them. If both
 * names are known, the later revision counts.
 */
export function matchInstances({ parts }: Meeting): void {
  const series = parts.get('')?.event?.fields;
  if (!series) return;
  // Names change while the parts are visited.
  const before = Array.from(parts);
  for (const [key, part] of before) {
    const startMs = startOf(key);
    if (startMs === null) continue;
    const known = { key, seconds: startMs / 1000 };
    const named = instanceWithin(known, series);
    if (named.key === key) continue;
    parts.delete(key);
    const other = parts.get(named.key);
    const isLater = !other?.state || (part.state && compareRevisions(part.state, other.state) > 0);
    if (isLater) parts.set(named.key, renamed(part, named, other));
  }
}

function renamed(
  part: MeetingPart,
  named: InstanceId,
  other: MeetingPart | undefined,
): MeetingPart {
  const { key: instance, seconds } = named;
  if (!part.event) return { ...part, instance, event: other?.event ?? null };
  const event = { ...part.event, originalStart: new Date(seconds * 1000) };
  return { ...part, instance, event, change: part.change === 'created' ? 'created' : 'updated' };
}

/** Marks the state of a cancellation of an instance and all later ones. */
const FOLLOWING = '>';

/** `MeetingPart.instance` of the cancellation of an instance and all later ones. */
export const followingKey = ({ key }: InstanceId): string => `${key}${FOLLOWING}`;

/** Starts before which mails have ended a series. A later revision of the series undoes that. */
export function endsOf({ parts }: Meeting, series: MeetingPart): number[] {
  return [...parts.values()].flatMap(({ instance, state }) => {
    if (!instance.endsWith(FOLLOWING) || !state) return [];
    if (series.state && compareRevisions(series.state, state) > 0) return [];
    return startOf(instance.slice(0, -1)) ?? [];
  });
}

const STAMP = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/;

/** Start in a key, in Unix milliseconds; `null` if the key names no instance. */
function startOf(key: string): number | null {
  const [year = NaN, month = NaN, day = NaN, hour = 0, minute = 0, second = 0] =
    STAMP.exec(key)
      ?.slice(1)
      .map((text) => Number(text ?? 0)) ?? [];
  const startMs = Date.UTC(year, month - 1, day, hour, minute, second);
  return Number.isNaN(startMs) ? null : startMs;
}

/**
 * A cancelled instance, for a cancellation that arrived without the instance's other fields: they
 * are taken from the series.
 */
export function cancelledInstance(
  series: MailedEvent,
  part: MeetingPart,
  { messageId }: InvitingMail,
): MailedEvent | null {
  const startMs = startOf(part.instance);
  if (startMs === null) return null;
  part.change = 'created';
  const when = movedTo(series.fields.when, startMs);
  const fields = fieldsOf({ ...series.fields, when, recurrence: null, status: 'cancelled' }, 'UTC');
  return {
    id: newId(),
    fields,
    messageId,
    masterEventId: series.id,
    originalStart: new Date(startMs),
  };
}

/** The same `when` with the same length, moved to another start. */
function movedTo(when: When, startMs: number): When {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const seconds = startMs / 1000;
  switch (when.object) {
    case 'time':
      return { ...when, time: seconds };
    case 'timespan':
      return { ...when, start_time: seconds, end_time: seconds + when.end_time - when.start_time };
    case 'date':
      return { ...when, date: day(startMs) };
    case 'datespan': {
      const length = Date.parse(when.end_date) - Date.parse(when.start_date);
      return { ...when, start_date: day(startMs), end_date: day(startMs + length) };
    }
  }
}
