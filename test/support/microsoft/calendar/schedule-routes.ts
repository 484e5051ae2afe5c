import type { StubUser } from '../directory/directory.ts';
import { bodyOf, type GraphContext, type GraphRoute, property, reading } from '../graph/context.ts';
import { page } from '../graph/odata.ts';
import { graphErrors, type Json, type StubAnswer } from '../http/types.ts';
import type { Instance } from './event.ts';
import { inZone, instantOf } from './zones.ts';

/** Free/busy information of users and rooms. */
export const scheduleRoutes: GraphRoute[] = ['calendar', 'calendars/{calendar}'].map((path) => ({
  method: 'POST',
  path: `${path}/getSchedule`,
  permissions: [...reading('Calendars'), 'Calendars.ReadBasic'],
  handle: getSchedule,
}));

/** Rooms of the caller's tenant. */
export const placeRoutes: GraphRoute[] = [
  {
    method: 'GET',
    path: 'places/room',
    permissions: ['Place.Read.All'],
    handle: ({ world, token, url, request: { query } }) => ({
      status: 200,
      body: page({
        items: world.directory.users
          .filter(({ kind, tenantId }) => kind === 'room' && tenantId === token.grant.tenantId)
          .map(roomJson),
        url,
        query,
        defaultTop: 100,
      }),
    }),
  },
];

const STATUS: Record<string, string> = {
  free: '0',
  tentative: '1',
  busy: '2',
  oof: '3',
  workingElsewhere: '4',
};
/** Longest window that Graph answers, in days. */
const MOST_DAYS = 62;
const MOST_SCHEDULES = 20;

function getSchedule(context: GraphContext): StubAnswer {
  const body = bodyOf(context);
  const schedules = (property(body, 'schedules') ?? []) as string[];
  const from = instantOf(property(body, 'startTime') as Json);
  const until = instantOf(property(body, 'endTime') as Json);
  const minutes = Number(property(body, 'availabilityViewInterval') ?? 30);
  if (schedules.length === 0 || schedules.length > MOST_SCHEDULES) {
    throw graphErrors.invalidRequest('The number of schedules is not valid.');
  }
  if (until <= from || until - from > MOST_DAYS * 86_400_000 || minutes < 5 || minutes > 1_440) {
    throw graphErrors.invalidRequest('The requested time duration is not valid.');
  }
  const value = schedules.map((address) => {
    const user = context.world.directory.user(address);
    if (!user || user.tenantId !== context.user.tenantId) return unknown(address);
    return scheduleOf(context, address, user, { from, until, minutes });
  });
  return { status: 200, body: { value } };
}

interface Slots {
  from: number;
  until: number;
  minutes: number;
}

function scheduleOf(context: GraphContext, scheduleId: string, user: StubUser, slots: Slots): Json {
  const { from, until, minutes } = slots;
  const zone = context.prefer.get('outlook.timezone') ?? 'UTC';
  const instances = user.calendars
    .eventsOf(user.calendars.defaultCalendar.id)
    .flatMap((event) => user.calendars.instancesOf(event, from, until))
    .toSorted((a, b) => a.start - b.start);
  const step = minutes * 60_000;
  const count = Math.ceil((until - from) / step);
  const view = Array.from({ length: count }, (_, slot) => {
    const start = from + slot * step;
    return slotOf(instances.filter((one) => one.start < start + step && one.end > start));
  });
  return {
    scheduleId,
    availabilityView: view.join(''),
    scheduleItems: instances.map(({ event, start, end }) => ({
      isPrivate: event.sensitivity === 'private',
      status: event.showAs,
      ...(event.sensitivity === 'private' ? {} : { subject: event.subject }),
      start: inZone(start, zone),
      end: inZone(end, zone),
    })),
    workingHours: {
      daysOfWeek: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
      startTime: '08:00:00.0000000',
      endTime: '17:00:00.0000000',
      timeZone: { '@odata.type': '#microsoft.graph.timeZoneBase', name: 'UTC' },
    },
  };
}

const slotOf = (instances: Instance[]): string =>
  instances
    .map(({ event }) => STATUS[event.showAs] ?? '2')
    .toSorted()
    .at(-1) ?? '0';

const unknown = (scheduleId: string): Json => ({
  scheduleId,
  availabilityView: '',
  scheduleItems: [],
  error: {
    message: `Unable to resolve e-mail address ${scheduleId} to an Active Directory object.`,
    responseCode: 'ErrorMailRecipientNotFound',
  },
});

const roomJson = (room: StubUser): Json => ({
  '@odata.type': '#microsoft.graph.room',
  id: room.id,
  displayName: room.displayName,
  emailAddress: room.email,
  capacity: 8,
  bookingType: 'standard',
  building: 'Main',
  floorNumber: 1,
  isWheelChairAccessible: true,
});
