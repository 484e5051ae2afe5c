import { camelKeys } from '../../platform/wire/camel-keys.ts';
import type {
  AvailabilityBody,
  AvailabilityView,
  ConsecutiveBody,
  ConsecutiveView,
  FreeBusyBody,
  FreeBusyView,
} from './availability.schema.ts';
import type {
  BusyCalendars,
  ChainRequest,
  FoundSlots,
  MeetingRequest,
  SlotRequest,
} from './availability.service.ts';
import type { Wanted } from './busy-people.ts';
import type { Slot } from './slots.ts';
import type { Span } from './spans.ts';

/** The time span of a request body. */
export const toSpan = ({
  start_time,
  end_time,
}: {
  start_time: number;
  end_time: number;
}): Span => ({
  start: start_time,
  end: end_time,
});

/** The people and calendars a request asks for. */
export const toWanted = ({
  emails,
  calendars,
}: Pick<FreeBusyBody, 'emails' | 'calendars'>): Wanted => ({
  emails,
  calendars: calendars.map((one) => camelKeys(one)),
});

function toMeetingRequest(body: Omit<ConsecutiveBody, 'emails'>): MeetingRequest {
  return {
    search: {
      range: toSpan(body),
      duration: body.duration_minutes * 60,
      interval: body.interval_minutes * 60,
      buffer: (body.buffer ?? 0) * 60,
    },
    calendars: body.calendars.map((one) => camelKeys(one)),
    tentativeBusy: body.tentative_busy,
    outsiders: body.free_busy.map(({ email, time_slots }) => ({
      email,
      busy: time_slots.map(toSpan),
    })),
    openHours: body.open_hours.map(({ start, end, ...hours }) => {
      return { ...hours, startMinute: start, endMinute: end };
    }),
  };
}

/** Converts the body of a request for one meeting. */
export const toSlotRequest = (body: AvailabilityBody): SlotRequest => ({
  ...toMeetingRequest(body),
  emails: body.emails,
  roundRobin: body.round_robin,
  eventCollectionId: body.event_collection_id,
});

/** Converts the body of a request for meetings in a row. */
export const toChainRequest = (body: ConsecutiveBody): ChainRequest => ({
  ...toMeetingRequest(body),
  meetings: body.emails,
});

/** Busy times as the API returns them. */
export function toFreeBusyView(found: readonly BusyCalendars[]): FreeBusyView {
  return found.map(({ email, calendarId, spans }) => ({
    object: 'free_busy',
    email,
    ...(calendarId === undefined ? {} : { calendar_id: calendarId }),
    time_slots: spans.map(({ start, end }) => ({
      object: 'time_slot',
      status: 'busy',
      start_time: start,
      end_time: end,
    })),
  }));
}

/** Possible times as the API returns them. */
export function toAvailabilityView({ slots, order }: FoundSlots): AvailabilityView {
  return {
    object: 'availability',
    time_slots: slots.map(({ start, end, emails, group }) => ({
      object: 'time_slot',
      status: 'free',
      start_time: start,
      end_time: end,
      start,
      end,
      // Without `round_robin` every slot suits all people, so the names are left out.
      ...(order ? { emails } : {}),
      ...(group
        ? {
            capacity: {
              event_id: group.eventId,
              current_capacity: group.taken,
              max_capacity: group.capacity,
            },
          }
        : {}),
    })),
    ...(order ? { order: [...order] } : {}),
  };
}

/** Chains of meetings as the API returns them. */
export function toConsecutiveView(chains: readonly (readonly Slot[])[]): ConsecutiveView {
  return chains.map((chain) =>
    chain.map(({ emails, start, end }) => ({ emails, start_time: start, end_time: end })),
  );
}
