import ICAL from 'ical.js';
import {
  canonicalLine,
  excludedBy,
  isFirstOfItsTime,
  startsOnDays,
} from '../recurrence/canonical-lines.ts';
import type { SeriesSource } from '../recurrence/series-source.ts';
import { UnwritableEventError } from './ical-fields.ts';
import { stampIn } from './zones/ical-zone.ts';
import { isUtc } from './zones/zone-names.ts';

/**
 * The properties of a recurrence for a VEVENT that has its DTSTART: in the forms that RFC 5545
 * requires, and in the zone that the file uses for the start.
 * @throws {UnwritableEventError} if a line is no valid rule
 */
export function recurrenceProperties(
  source: SeriesSource,
  event: ICAL.Component,
  root: ICAL.Component,
): ICAL.Property[] {
  const start = event.getFirstProperty('dtstart');
  if (!start) throw new UnwritableEventError('recurrence: the event has no start');
  const known = startsOnDays(source);
  return source.recurrence.rrule.flatMap((line) => {
    try {
      return canonicalLine(line, source, known).map((one) => propertyOf(one, source, start, root));
    } catch (cause) {
      throw new UnwritableEventError(
        `recurrence: "${line.slice(0, 100)}" is not a rule that can be written`,
        { cause },
      );
    }
  });
}

function propertyOf(
  line: string,
  source: SeriesSource,
  start: ICAL.Property,
  root: ICAL.Component,
): ICAL.Property {
  const value = start.getFirstValue();
  const isDate = value instanceof ICAL.Time && value.isDate;
  const isFloating =
    !isDate &&
    !start.getFirstParameter('tzid') &&
    value instanceof ICAL.Time &&
    value.zone !== ICAL.Timezone.utcTimezone;
  if (!/^EXDATE/i.test(line))
    return ICAL.Property.fromString(isFloating ? withFloatingUntil(line) : line);
  const property = ICAL.Property.fromString(line);
  const tzid = start.getFirstParameter('tzid');
  const { timezone } = source.recurrence;
  const { starts, days } = excludedBy(line, source);
  if (isDate || days.length > 0 || (!tzid && !isFloating)) return property;
  if (!isFloating && !starts.every((ms) => isFirstOfItsTime(ms, timezone))) return property;
  property.removeParameter('tzid');
  property.setValues(starts.map((ms) => stampIn(tzid ?? 'UTC', ms / 1000, root)));
  if (tzid && !isUtc(tzid)) property.setParameter('tzid', tzid);
  return property;
}

/** A series without a zone ends at a time without a zone (RFC 5545 3.3.10). */
const withFloatingUntil = (line: string): string => line.replace(/(\bUNTIL=\d{8}T\d{6})Z/i, '$1');
