import type { CalendarContent, RemoteCalendar } from '../../../port/connector.ts';
import { parseCalendar } from '../../../../formats/ical/ical-parse.ts';
import { newCalendar } from '../../../../formats/ical/ical-write.ts';
import { ianaZone } from '../../../../formats/ical/zones/ical-zone.ts';
import { vtimezone } from '../../../../formats/ical/zones/write-zone.ts';
import { isUtc } from '../../../../formats/ical/zones/zone-names.ts';
import { isTimeZone } from '../../../../platform/base/time/time-zone.ts';
import { childrenOf, type DavProps, textOf } from '../dav-session.ts';
import type { DavResource } from '../dav-xml.ts';

/** Properties requested for each calendar. */
export const CALENDAR_PROPS = {
  'd:displayname': {},
  'd:resourcetype': {},
  'd:current-user-privilege-set': {},
  'c:calendar-description': {},
  'c:calendar-timezone': {},
  'c:supported-calendar-component-set': {},
} as const;

export function isEventCalendar({ ok, props }: DavResource): boolean {
  if (!ok || !('calendar' in childrenOf(props['resourcetype']))) return false;
  const listed = childrenOf(props['supportedCalendarComponentSet'])['comp'];
  const components = (Array.isArray(listed) ? listed : listed === undefined ? [] : [listed]).map(
    (one) => String(childrenOf(childrenOf(one)['_attributes'])['name']).toUpperCase(),
  );
  return components.length === 0 || components.includes('VEVENT');
}

/** A server that reports no privileges restricts none. */
function isReadOnly(props: DavProps): boolean {
  const set = childrenOf(props['currentUserPrivilegeSet'])['privilege'];
  if (set === undefined) return false;
  const names = (Array.isArray(set) ? set : [set]).flatMap((one) => Object.keys(childrenOf(one)));
  return !names.some((name) => ['all', 'write', 'writeContent', 'bind'].includes(name));
}

/** The IANA zone in the text of a VTIMEZONE. `null` if no IANA zone matches. */
function zoneIn(text: string | null): string | null {
  if (!text) return null;
  try {
    const root = parseCalendar(text);
    const tzid = root.getFirstSubcomponent('vtimezone')?.getFirstPropertyValue('tzid');
    return typeof tzid === 'string' ? (ianaZone(tzid, root) ?? null) : null;
  } catch {
    // Some servers store only the name of the zone.
    return isTimeZone(text.trim()) ? text.trim() : null;
  }
}

/** A calendar, without the information whether it is the primary one. */
export function readCalendar(path: string, props: DavProps): Omit<RemoteCalendar, 'isPrimary'> {
  const segment = path.split('/').findLast((part) => part !== '') ?? '';
  return {
    providerId: path,
    name: textOf(props['displayname']) || decodeURIComponent(segment),
    description: textOf(props['calendarDescription']) || null,
    // CalDAV calendars have no location.
    location: null,
    timezone: zoneIn(textOf(props['calendarTimezone'])),
    readOnly: isReadOnly(props),
  };
}

/** Characters that XML does not allow. */
// oxlint-disable-next-line no-control-regex -- they are what it is about
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** The text without characters that XML does not allow. */
export const xmlText = (text: string): string => text.replaceAll(NO_XML, '').toWellFormed();

/** The properties that a server may refuse, each for a separate request. */
export function optionalProps({
  description,
  timezone,
}: CalendarContent): Record<string, string | object>[] {
  return [
    { 'c:calendar-description': xmlText(description ?? '') },
    ...(timezone ? [{ 'c:calendar-timezone': zoneText(timezone) }] : []),
  ];
}

function zoneText(timezone: string): string {
  const root = newCalendar();
  root.addSubcomponent(vtimezone(isUtc(timezone) ? 'Etc/UTC' : timezone, 0));
  return root.toString();
}
