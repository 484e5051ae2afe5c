import { until } from '../../support/until.ts';
import type { NodeCall, NodeContext, NodeModel } from '../support/node-client.ts';

const START = 1_900_000_000;
const HOUR = 3600;

/** `when` as the version's model has it: version 6 renames the keys. */
const span = ({ version }: NodeContext, start: number, end: number): Record<string, number> =>
  version === 6 ? { startTime: start, endTime: end } : { start_time: start, end_time: end };

const newEvent = (context: NodeContext, properties: object): Promise<NodeModel> =>
  context
    .make(context.client.events, {
      calendarId: context.value('calendarId'),
      when: span(context, START, START + HOUR),
      ...properties,
    })
    .save();

const calendars: NodeCall[] = [
  {
    resource: 'calendars',
    call: 'calendars.list(), calendars.find(), calendars.count(), calendars.first()',
    async run({ client, value }) {
      const ids = (await client.calendars.list()).map(({ id }) => id);
      expect(ids).toContain(value('calendarId'));
      expect(await client.calendars.count()).toBe(ids.length);
      expect((await client.calendars.find(value('calendarId'))).name).toBe('Team');
      expect(ids).toContain((await client.calendars.first()).id);
    },
  },
  {
    resource: 'calendars',
    call: 'calendar.save(), calendar.getJobStatus(), calendars.delete()',
    versions: [5, 6],
    async run({ client, make }) {
      const calendar = await make(client.calendars, {
        name: 'Node',
        description: 'd',
        location: 'l',
        timezone: 'Europe/Vienna',
      }).save();
      await until('the job', async () => (await calendar.getJobStatus()).isSuccessful());
      const read = await client.calendars.find(calendar.id);
      read.description = 'changed';
      await read.save();
      expect(await client.calendars.find(calendar.id)).toMatchObject({
        description: 'changed',
        timezone: 'Europe/Vienna',
      });
      await client.calendars.delete(calendar.id);
      await expect(client.calendars.find(calendar.id)).rejects.toMatchObject({ statusCode: 404 });
    },
  },
  {
    resource: 'calendars',
    call: 'calendars.delete()',
    versions: [4],
    async run({ client, values }) {
      const response = await fetch(`${values['url']}/calendars`, {
        method: 'POST',
        headers: { authorization: `Bearer ${values['accessToken']}` },
        body: '{"name":"To delete"}',
      });
      const { id } = (await response.json()) as { id: string };
      await client.calendars.delete(id);
      await expect(client.calendars.find(id)).rejects.toMatchObject({ statusCode: 404 });
    },
  },
];

const availability: NodeCall[] = [
  {
    resource: 'availability',
    call: 'calendars.freeBusy()',
    versions: [5, 6],
    async run({ client, value }) {
      const [found] = await client.calendars.freeBusy({
        startTime: START - HOUR,
        endTime: START + 2 * HOUR,
        emails: [value('email')],
      });
      expect(found).toMatchObject({ email: value('email') });
    },
  },
  {
    resource: 'availability',
    call: 'calendars.availability()',
    versions: [5, 6],
    async run(context) {
      const found = await context.client.calendars.availability(question(context, ['email']));
      const slots = found['timeSlots'] ?? found['time_slots'];
      expect((slots as object[]).length).toBeGreaterThan(0);
    },
  },
  {
    resource: 'availability',
    call: 'calendars.consecutiveAvailability()',
    versions: [5, 6],
    async run(context) {
      const { client, value } = context;
      const emails = [[value('email')], [value('otherEmail')]];
      const query = { ...question(context, ['email', 'otherEmail']), emails };
      expect(await client.calendars.consecutiveAvailability(query)).toBeTruthy();
    },
  },
  {
    resource: 'rooms',
    call: 'resources.list()',
    versions: [5, 6],
    async run({ client }) {
      expect((await client.resources.list()).map(({ name }) => name)).toEqual(['Aquarium']);
    },
  },
];

/** A question about availability, with the keys of versions 5 and 6. */
function question({ value, version }: NodeContext, whose: string[]): object {
  const emails = whose.map(value);
  const hours = {
    emails,
    days: [0, 1, 2, 3, 4, 5, 6],
    timezone: 'UTC',
    start: '0:00',
    end: '24:00',
  };
  const lists =
    version === 6
      ? { openHours: [hours], freeBusy: [] }
      : { open_hours: [{ ...hours, object_type: 'open_hours' }], free_busy: [] };
  const times = { startTime: START - HOUR, endTime: START + 4 * HOUR };
  return { ...times, emails, duration: 30, interval: 30, ...lists };
}

const EVENT_FILTERS: Record<string, unknown> = {
  title: 'zoned',
  starts_after: START - 60,
  starts_before: START + 60,
  ends_before: START + 2 * HOUR,
  ends_after: START,
  busy: true,
  metadata_key: 'k',
  show_cancelled: true,
  expand_recurring: true,
};

const filteredEvents: NodeCall[] = Object.entries(EVENT_FILTERS).map(([name, filter]) => ({
  resource: 'events',
  call: `events.list({ ${name} })`,
  async run({ client, value }) {
    const window = { starts_after: START - HOUR, ends_before: START + 30 * HOUR };
    const found = await client.events.list({ ...window, [name]: filter });
    expect(found.map(({ id }) => id)).toContain(value('zonedId'));
  },
}));

const events: NodeCall[] = [
  {
    resource: 'events',
    call: 'events.list(), events.find(), events.count(), events.first()',
    async run({ client, value }) {
      const calendar = { calendar_id: value('calendarId') };
      const ids = (await client.events.list(calendar)).map(({ id }) => id);
      expect(ids).toContain(value('timespanId'));
      expect(await client.events.count(calendar)).toBe(ids.length);
      expect(ids).toContain((await client.events.first(calendar)).id);
      for (const name of ['timespan', 'zoned', 'time', 'timeZoned', 'date', 'datespan', 'series'])
        expect((await client.events.find(value(`${name}Id`))).title).toBe(name);
    },
  },
  ...filteredEvents,
  {
    resource: 'events',
    call: 'event.save() of a new event and of one that was read, events.delete()',
    async run(context) {
      const { client } = context;
      const participants = [{ email: 'bo@sandbox.test', name: 'Bo', status: 'noreply' }];
      const { id } = await newEvent(context, {
        title: 'Node',
        description: 'd',
        location: 'l',
        participants,
      });
      const read = await client.events.find(id);
      read.title = 'Node, moved';
      read.start = START + HOUR / 2;
      read.end = START + 2 * HOUR;
      await read.save();
      expect(await client.events.find(id)).toMatchObject({
        title: 'Node, moved',
        when: span(context, START + HOUR / 2, START + 2 * HOUR),
        participants: [{ email: 'bo@sandbox.test', name: 'Bo' }],
      });
      await client.events.delete(id, { notify_participants: true });
      const listed = await client.events.list({ title: 'Node, moved' });
      expect(listed).toEqual([]);
    },
  },
  {
    resource: 'events',
    call: 'event.save() of every form of when, as it was read',
    async run({ client, value }) {
      for (const name of ['timespan', 'zoned', 'time', 'timeZoned', 'date', 'datespan']) {
        const before = await client.events.find(value(`${name}Id`));
        await before.save();
        const after = await client.events.find(before.id);
        expect({ ...after.when }).toEqual({ ...before.when });
      }
    },
  },
  {
    resource: 'events',
    call: 'event.save() that turns a time into a time span',
    async run({ client, value }) {
      const event = await client.events.find(value('timeZonedId'));
      event.start = START + 60;
      event.end = START + 120;
      await event.save();
      const saved = await client.events.find(event.id);
      expect([saved.start, saved.end]).toEqual([START + 60, START + 120]);
    },
  },
  {
    resource: 'events',
    call: 'event.save({ notify_participants })',
    async run(context) {
      const participants = [{ email: 'bo@sandbox.test', name: 'Bo' }];
      const event = await newEvent(context, { title: 'Notified', participants });
      event.title = 'Notified again';
      const saved = await event.save({ notify_participants: true });
      expect(saved.title).toBe('Notified again');
    },
  },
  {
    resource: 'events',
    call: 'event.save() with recurrence, conferencing and metadata',
    versions: [5, 6],
    async run(context) {
      const event = await newEvent(context, {
        title: 'Weekly',
        recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=3'], timezone: 'Europe/Berlin' },
        conferencing: { provider: 'Zoom Meeting', details: { url: 'https://zoom.test/1' } },
        metadata: { team: 'a' },
      });
      const read = await context.client.events.find(event.id);
      expect(read).toMatchObject({
        recurrence: { timezone: 'Europe/Berlin' },
        conferencing: { details: { url: 'https://zoom.test/1' } },
        metadata: { team: 'a' },
      });
      read.title = 'Every week';
      expect((await read.save()).title).toBe('Every week');
    },
  },
  {
    resource: 'events',
    call: 'event.rsvp()',
    async run({ client, value }) {
      const event = await client.events.find(value('invitationId'));
      expect((await event.rsvp('maybe', 'Perhaps')).participants).toMatchObject([
        { email: value('email'), status: 'maybe' },
      ]);
    },
  },
  {
    resource: 'events',
    call: 'event.generateICS()',
    versions: [6],
    async run(context) {
      const event = await context.client.events.find(context.value('timespanId'));
      expect(await event.generateICS()).toContain('SUMMARY:timespan');
    },
  },
];

const contacts: NodeCall[] = [
  {
    resource: 'contacts',
    call: 'contacts.list(), contacts.count(), contacts.first()',
    async run({ client }) {
      const listed = await client.contacts.list({ source: 'address_book' });
      expect(listed.length).toBeGreaterThan(1);
      expect(await client.contacts.count({ source: 'address_book' })).toBe(listed.length);
      expect((await client.contacts.first({ source: 'address_book' })).id).toBe(listed[0]?.id);
    },
  },
  {
    resource: 'contacts',
    call: 'contact.save(), contacts.find(), contacts.delete()',
    async run({ client, make }) {
      const contact = await make(client.contacts, {
        givenName: 'Mia',
        emailAddresses: [{ type: 'work', email: 'mia@example.test' }],
      }).save();
      const read = await client.contacts.find(contact.id);
      expect(read).toMatchObject({ emailAddresses: [{ type: 'work', email: 'mia@example.test' }] });
      read.notes = 'changed';
      await read.save();
      expect(await client.contacts.find(contact.id)).toMatchObject({
        givenName: 'Mia',
        notes: 'changed',
        emailAddresses: [{ email: 'mia@example.test' }],
      });
      await client.contacts.delete(contact.id);
      await expect(client.contacts.find(contact.id)).rejects.toMatchObject({ statusCode: 404 });
    },
  },
  {
    resource: 'contacts',
    call: 'contact.getPicture()',
    versions: [4, 6],
    async run({ client }) {
      const found = await client.contacts.list({ source: 'address_book' });
      const pictured = found.find(({ pictureUrl }) => pictureUrl);
      expect(await pictured?.getPicture()).toBeTruthy();
    },
  },
  {
    resource: 'contacts',
    call: 'contact.getPicture()',
    versions: [5],
    refused: 'version 5 reads the picture as JSON, whatever the server sends',
    async run({ client }) {
      const found = await client.contacts.list({ source: 'address_book' });
      const pictured = found.find(({ pictureUrl }) => pictureUrl);
      await expect(pictured?.getPicture()).rejects.toThrow('invalid json');
    },
  },
  {
    resource: 'contacts',
    call: 'contacts.groups()',
    versions: [5, 6],
    async run({ client }) {
      expect((await client.contacts.groups()).map(({ name }) => name)).toContain('Friends');
    },
  },
];

/** Calls about calendars and contacts. */
export const CALENDAR_CALLS: readonly NodeCall[] = [
  ...calendars,
  ...availability,
  ...events,
  ...contacts,
];
