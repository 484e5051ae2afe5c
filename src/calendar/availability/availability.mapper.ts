import type { AvailabilityView, ConsecutiveView, FreeBusyView } from './availability.schema.ts';
import type { BusyCalendars, FoundSlots } from './availability.service.ts';
import type { Slot } from './slots.ts';

/** Busy times as the wire has them. */
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

/** Possible times as the wire has them. */
export function toAvailabilityView({ slots, order }: FoundSlots): AvailabilityView {
  return {
    object: 'availability',
    time_slots: slots.map(({ start, end, emails, group }) => ({
      object: 'time_slot',
      status: 'free',
      start_time: start,
      end_time: end,
      // Without a rotation it is everybody, each time.
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

/** Chains of meetings as the wire has them. */
export function toConsecutiveView(chains: readonly (readonly Slot[])[]): ConsecutiveView {
  return chains.map((chain) =>
    chain.map(({ emails, start, end }) => ({ emails, start_time: start, end_time: end })),
  );
}
