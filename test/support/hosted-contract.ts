import { randomUUID } from 'node:crypto';
import type {
  CalendarPort,
  EventContent,
  ProviderAccount,
} from '../../src/providers/port/connector.ts';
import { codeOf } from './contract-tools.ts';

/** What a provider of hosted calendars does itself; default: nothing. */
export interface HostedCapabilities {
  /** It creates meetings with events (`CalendarPort.conferencing`). */
  meetings?: boolean;
  /** It takes answers to invitations (`respond`). */
  answers?: boolean;
  /** It shows busy times of people (`freeBusy`). */
  freeBusy?: boolean;
  /** It lists rooms (`rooms`). */
  rooms?: boolean;
}

const START = 1_900_058_400;
const event: EventContent = {
  title: 'Contract',
  description: '',
  location: '',
  when: {
    object: 'timespan',
    start_time: START,
    end_time: START + 3600,
    start_timezone: 'UTC',
    end_timezone: 'UTC',
  },
  busy: true,
  status: 'confirmed',
  visibility: null,
  recurrence: null,
  conferencing: null,
  participants: [],
  reminders: null,
};

/** Tests for the optional methods of `CalendarPort`. A port must have exactly those it claims. */
export function describeHostedCalendars(
  make: () => Promise<{ calendar: CalendarPort; account(): Promise<ProviderAccount> }>,
  { meetings = false, answers = false, freeBusy = false, rooms = false }: HostedCapabilities,
): void {
  async function begin() {
    const { calendar, account } = await make();
    const one = await account();
    const [primary] = await calendar.listCalendars(one);
    return { calendar, one, primary: primary?.providerId ?? '' };
  }

  describe('hosted calendars', () => {
    it('has the optional methods that the specification names', async () => {
      const { calendar } = await make();
      expect({
        meetings: (calendar.conferencing ?? []).length > 0,
        answers: calendar.respond !== undefined,
        freeBusy: calendar.freeBusy !== undefined,
        rooms: calendar.rooms !== undefined,
      }).toEqual({ meetings, answers, freeBusy, rooms });
      // Carillon mails no answer for an account whose provider mails participants.
      if ((calendar.mailsParticipants ?? 'never') !== 'never') expect(answers).toBe(true);
    });

    if (meetings)
      it('creates one meeting for an event, although the write is repeated', async () => {
        const { calendar, one, primary } = await begin();
        const [provider] = calendar.conferencing ?? [];
        const key = randomUUID();
        const options = { meeting: { provider: provider!, key } };
        const first = await calendar.createEvent(one, primary, key, event, options);
        const again = await calendar.createEvent(one, primary, key, event, options);
        const updated = await calendar.updateEvent(one, first.providerId, event, options);
        expect(first.meeting).toBeDefined();
        if (first.meeting !== 'pending') expect(first.meeting?.url).toMatch(/^https:/);
        expect([again.meeting, updated.meeting]).toEqual([first.meeting, first.meeting]);
        const plain = await calendar.createEvent(one, primary, randomUUID(), event);
        expect(plain.meeting).toBeUndefined();
      });

    if (answers)
      it('refuses answers to events that do not exist, or without an invitation', async () => {
        const { calendar, one, primary } = await begin();
        const { providerId } = await calendar.createEvent(one, primary, randomUUID(), event);
        const answer = { status: 'yes' as const, comment: null, notify: false };
        expect(await codeOf(calendar.respond!(one, providerId, answer))).toBe('rejected');
        await calendar.deleteEvent(one, providerId);
        expect(await codeOf(calendar.respond!(one, providerId, answer))).toBe('not-found');
      });

    if (freeBusy)
      it('shows when people are busy, and says for whom it does not know', async () => {
        const { calendar, one, primary } = await begin();
        await calendar.createEvent(one, primary, randomUUID(), event);
        const stranger = `${randomUUID()}@unknown.example`;
        const people = await calendar.freeBusy!(one, {
          start: START - 3600,
          end: START + 7200,
          emails: [one.email, stranger],
          signal: AbortSignal.timeout(30_000),
        });
        const own = people.find(({ email }) => email === one.email);
        expect(own).toEqual({ email: one.email, busy: [{ start: START, end: START + 3600 }] });
        const other = people.find(({ email }) => email === stranger);
        expect(other === undefined || 'unknown' in other).toBe(true);
      });

    if (rooms)
      it('lists each room with an address and a name', async () => {
        const { calendar, one } = await begin();
        for (const room of await calendar.rooms!(one, AbortSignal.timeout(30_000)))
          expect(room).toEqual({
            email: expect.stringContaining('@'),
            name: expect.any(String),
            capacity: expect.any(String),
            building: expect.any(String),
            floorName: expect.any(String),
            floorNumber: expect.any(String),
          });
      });
  });
}
