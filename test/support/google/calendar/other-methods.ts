import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleRouter, ok } from '../call.ts';
import { GoogleError, invalid } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import { calendarMethod, missing } from './access.ts';
import type { StubCalendar } from './stub-calendar.ts';

/** Adds free/busy, colours, settings, and the rooms of the directory. */
export function addOtherCalendarMethods(router: GoogleRouter): void {
  router.add('POST', '/calendar/v3/freeBusy', calendarMethod(NEEDS.freeBusy, freeBusy));
  router.add('GET', '/calendar/v3/colors', calendarMethod(NEEDS.calendarsRead, colors));
  const settings = '/calendar/v3/users/me/settings';
  router.add('GET', settings, calendarMethod(NEEDS.calendarSettings, listSettings));
  router.add('GET', `${settings}/{setting}`, calendarMethod(NEEDS.calendarSettings, getSetting));
  router.add('GET', '/admin/directory/v1/customer/{customer}/resources/calendars', {
    service: 'directory',
    units: 1,
    needs: NEEDS.rooms,
    handle: rooms,
  });
}

interface Busy {
  start: number;
  end: number;
}

function freeBusy({ world, user, body }: GoogleCall): StubAnswer {
  const {
    timeMin,
    timeMax,
    items = [],
  } = body as {
    timeMin?: string;
    timeMax?: string;
    items?: { id: string }[];
  };
  const [from, to] = [Date.parse(timeMin ?? ''), Date.parse(timeMax ?? '')];
  if (Number.isNaN(from) || Number.isNaN(to)) throw invalid('Missing time range.', 'required');
  if (to <= from) throw invalid('The specified time range is empty.', 'timeRangeEmpty');
  if (items.length > 50)
    throw new GoogleError(400, 'tooManyCalendarsRequested', 'Too many calendars requested.');
  const entries = items.map(({ id }): [string, object] => {
    const calendar = world.calendars.all.get(id === 'primary' ? user.email : id.toLowerCase());
    if (!calendar) {
      return [id, { errors: [{ domain: 'global', reason: 'notFound' }], busy: [] }];
    }
    const busy = merged(busyTimes(calendar, from, to)).map(({ start, end }) => ({
      start: iso(Math.max(start, from)),
      end: iso(Math.min(end, to)),
    }));
    return [id, { busy }];
  });
  return ok({
    kind: 'calendar#freeBusy',
    timeMin: iso(from),
    timeMax: iso(to),
    calendars: Object.fromEntries(entries),
  });
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

function busyTimes(calendar: StubCalendar, from: number, to: number): Busy[] {
  const events = [...calendar.events.values()].flatMap((stored) =>
    stored.event.recurrence ? calendar.instancesOf(stored, from, to) : [stored],
  );
  return events.flatMap(({ event }) => {
    const { status, transparency, attendees = [], recurringEventId } = event;
    const own = attendees.find(({ email }) => email === calendar.id)?.responseStatus;
    const series = calendar.events.get(recurringEventId ?? '')?.event.status;
    const isFree = [status, series].includes('cancelled') || transparency === 'transparent';
    const [start, end] = calendar.rangeOf(event);
    return isFree || own === 'declined' || end <= from || start >= to ? [] : [{ start, end }];
  });
}

function merged(times: Busy[]): Busy[] {
  const result: Busy[] = [];
  for (const { start, end } of times.sort((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

function colors(): StubAnswer {
  const pair = (background: string) => ({ background, foreground: '#1d1d1d' });
  return ok({
    kind: 'calendar#colors',
    updated: '2012-02-14T00:00:00.000Z',
    calendar: { '1': pair('#ac725e'), '2': pair('#d06b64'), '14': pair('#9fe1e7') },
    event: { '1': pair('#a4bdfc'), '2': pair('#7ae7bf'), '11': pair('#dc2127') },
  });
}

function settingsOf({ world, user }: GoogleCall): Record<string, string> {
  const timezone = world.calendars.all.get(user.email)?.zone ?? 'UTC';
  return { timezone, locale: 'en', weekStart: '1', format24HourTime: 'true' };
}

function settingView(id: string, value: string): object {
  return { kind: 'calendar#setting', etag: '"1"', id, value };
}

function listSettings(call: GoogleCall): StubAnswer {
  const items = Object.entries(settingsOf(call)).map(([id, value]) => settingView(id, value));
  return ok({ kind: 'calendar#settings', etag: '"1"', items, nextSyncToken: 'sync_1' });
}

function getSetting(call: GoogleCall): StubAnswer {
  const id = call.params['setting'] ?? '';
  const value = settingsOf(call)[id];
  if (value === undefined) throw missing();
  return ok(settingView(id, value));
}

function rooms({ world }: GoogleCall): StubAnswer {
  const items = [...world.calendars.rooms].map(([resourceEmail, { name, capacity, building }]) => ({
    kind: 'admin#directory#resources#calendars#CalendarResource',
    resourceId: resourceEmail.replace(/@.*/, ''),
    resourceName: name,
    generatedResourceName: `${building}-${name} (${capacity})`,
    resourceEmail,
    capacity,
    buildingId: building,
    resourceCategory: 'CONFERENCE_ROOM',
  }));
  return ok({ kind: 'admin#directory#resources#calendars#calendarResourcesList', items });
}
