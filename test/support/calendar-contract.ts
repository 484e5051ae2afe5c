import { randomUUID } from 'node:crypto';
import type {
  CalendarContent,
  CalendarPort,
  EventContent,
  ExcludedInstance,
  ProviderAccount,
  RemoteEvent,
} from '../../src/providers/port/connector.ts';
import { codeOf } from './contract-tools.ts';

/** The calendar port of a provider, and accounts with at least one calendar. */
export interface CalendarsUnderTest {
  calendar: CalendarPort;
  /** Creates an account that no other test uses. */
  account(): Promise<ProviderAccount>;
}

/** Limits of a server. */
export interface CalendarTraits {
  /** True if the server keeps neither the description nor the time zone of a calendar. */
  keepsNamesOnly?: boolean;
  /** True if the server has one user only, so that there are no accounts to keep apart. */
  oneUser?: boolean;
}

/** How a provider reports changes of events. */
export interface EventChangeTraits {
  /**
   * True if the provider reports each instance on its own, and excluded starts as objects instead
   * of `EXDATE` (`EventChanges.partial`).
   */
  partial?: boolean;
}

const content = (name: string): CalendarContent => ({
  name,
  description: 'About it',
  location: null,
  timezone: 'Europe/Berlin',
});

const standUp: EventContent = {
  title: 'Stand-up',
  when: { object: 'timespan', start_time: 1_700_000_000, end_time: 1_700_003_600 },
};

/** Mondays at 09:00 in Berlin, across the night when the clocks go forward. */
const weekly: EventContent = {
  title: 'Weekly',
  location: 'Room 1',
  when: {
    object: 'timespan',
    start_time: 1_900_051_200,
    end_time: 1_900_054_800,
    start_timezone: 'Europe/Berlin',
  },
  recurrence: { rrule: ['RRULE:FREQ=WEEKLY;COUNT=5'], timezone: 'Europe/Berlin' },
};
const instanceAt = (start_time: number): EventContent => ({
  ...weekly,
  when: {
    object: 'timespan',
    start_time,
    end_time: start_time + 3600,
    start_timezone: 'Europe/Berlin',
  },
  recurrence: null,
});
/** The second instance: as the recurrence rule places it, and three hours later. */
const plainInstance = instanceAt(1_900_656_000);
const movedInstance = { ...instanceAt(1_900_656_000 + 10_800), title: 'Moved' };

/** Tests for what every `CalendarPort` guarantees. */
export function describeCalendars(
  make: () => Promise<CalendarsUnderTest>,
  { keepsNamesOnly = false, oneUser = false }: CalendarTraits = {},
): void {
  describe('calendars', () => {
    it('has exactly one primary calendar, no matter how often the calendars are listed', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const lists = await Promise.all([calendar.listCalendars(one), calendar.listCalendars(one)]);
      for (const list of lists) expect(list.filter(({ isPrimary }) => isPrimary)).toHaveLength(1);
      expect(lists[0]).toEqual(lists[1]);
    });

    it('creates, changes and deletes a calendar, and creates no second one when the creation is repeated', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const key = randomUUID();
      const { providerId } = await calendar.createCalendar(one, key, content('Team'));
      expect(await calendar.createCalendar(one, key, content('Team'))).toEqual({ providerId });
      await calendar.updateCalendar(one, providerId, content('Crew'));
      const mine = (await calendar.listCalendars(one)).filter(({ isPrimary }) => !isPrimary);
      const kept = keepsNamesOnly ? { description: null, timezone: null } : {};
      expect(mine).toEqual([
        { providerId, ...content('Crew'), ...kept, isPrimary: false, readOnly: false },
      ]);
      await calendar.deleteCalendar(one, providerId);
      await calendar.deleteCalendar(one, providerId);
      expect(await codeOf(calendar.updateCalendar(one, providerId, content('Crew')))).toBe(
        'not-found',
      );
    });

    it('creates, changes and deletes an event, and creates no second one when the creation is repeated', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const [primary] = await calendar.listCalendars(one);
      const key = randomUUID();
      const created = await calendar.createEvent(one, primary?.providerId ?? '', key, standUp);
      expect(created.icalUid).not.toBe('');
      expect(await calendar.createEvent(one, primary?.providerId ?? '', key, standUp)).toEqual(
        created,
      );
      await calendar.updateEvent(one, created.providerId, { ...standUp, title: 'Sit-down' });
      await calendar.deleteEvent(one, created.providerId);
      await calendar.deleteEvent(one, created.providerId);
      expect(await codeOf(calendar.updateEvent(one, created.providerId, standUp))).toBe(
        'not-found',
      );
    });

    it('changes, resets and deletes instances of a series, and a repeated call has the same result', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const [primary] = await calendar.listCalendars(one);
      const { providerId: series } = await calendar.createEvent(
        one,
        primary?.providerId ?? '',
        randomUUID(),
        weekly,
      );
      const occurrence = { series, start: '20300325T080000Z' };
      const changed = await calendar.writeInstance(one, occurrence, movedInstance, {
        base: plainInstance,
      });
      expect(
        await calendar.writeInstance(one, occurrence, movedInstance, { base: plainInstance }),
      ).toEqual(changed);
      await calendar.updateEvent(
        one,
        changed.providerId,
        { ...movedInstance, title: 'Again' },
        { base: movedInstance },
      );
      await calendar.resetInstance(one, changed.providerId);
      await calendar.resetInstance(one, changed.providerId);
      await calendar.deleteInstance(one, occurrence);
      await calendar.deleteInstance(one, occurrence);
      await calendar.deleteEvent(one, series);
      expect(await codeOf(calendar.writeInstance(one, occurrence, movedInstance))).toBe(
        'not-found',
      );
      await calendar.deleteInstance(one, occurrence);
      await calendar.resetInstance(one, changed.providerId);
    });

    it('keeps the data of accounts apart if the server has more than one user', async () => {
      const { calendar, account } = await make();
      const [mine, theirs] = [await account(), await account()];
      expect(mine.email === theirs.email).toBe(oneUser);
      if (oneUser) return;
      const { providerId } = await calendar.createCalendar(mine, randomUUID(), content('Mine'));
      expect(await codeOf(calendar.updateCalendar(theirs, providerId, content('Taken')))).toBe(
        'not-found',
      );
      await calendar.deleteCalendar(theirs, providerId);
      const listed = await calendar.listCalendars(mine);
      expect(listed.find((one) => one.providerId === providerId)?.name).toBe('Mine');
    });

    it('reports not-found for an event in a calendar that does not exist', async () => {
      const { calendar, account } = await make();
      const one = await account();
      expect(await codeOf(calendar.createEvent(one, randomUUID(), randomUUID(), standUp))).toBe(
        'not-found',
      );
    });
  });
}

/** Reads all changes in a calendar since a cursor, page by page. */
export async function allEventChanges(
  port: CalendarPort,
  account: ProviderAccount,
  calendarId: string,
  cursor: string | null = null,
  limit = 100,
): Promise<{
  cursor: string;
  events: RemoteEvent[];
  excluded: ExcludedInstance[];
  removed: string[];
  present: readonly string[] | null;
  pages: number;
}> {
  if (!port.listEventChanges) throw new Error('events are not listed');
  const events: RemoteEvent[] = [];
  const excluded: ExcludedInstance[] = [];
  const removed: string[] = [];
  let present: readonly string[] | null = null;
  for (let pages = 1; ; pages++) {
    const changes = await port.listEventChanges(account, calendarId, cursor, limit);
    events.push(...changes.events);
    excluded.push(...(changes.excluded ?? []));
    removed.push(...changes.removed);
    present ??= changes.present;
    cursor = changes.cursor;
    if (!changes.more) return { cursor, events, excluded, removed, present, pages };
  }
}

/** Tests for what every `CalendarPort` that lists event changes guarantees. */
export function describeEventChanges(
  make: () => Promise<CalendarsUnderTest>,
  hasEventChanges: boolean,
  { partial = false }: EventChangeTraits = {},
): void {
  /** The rules of a series as reported after an instance was deleted. */
  const rulesWith = (rule: string) => ({
    rrule: partial ? [rule] : [rule, 'EXDATE;TZID=Europe/Berlin:20300401T090000'],
    timezone: 'Europe/Berlin',
  });
  if (!hasEventChanges) {
    it('does not list event changes', async () => {
      expect((await make()).calendar.listEventChanges).toBeUndefined();
    });
    return;
  }
  describe('event changes', () => {
    async function begin() {
      const { calendar, account } = await make();
      const one = await account();
      const { providerId } = await calendar.createCalendar(one, randomUUID(), content('Changes'));
      const create = (title: string) =>
        calendar.createEvent(one, providerId, randomUUID(), { ...standUp, title });
      const since = (cursor: string | null, limit?: number) =>
        allEventChanges(calendar, one, providerId, cursor, limit);
      return { calendar, one, calendarId: providerId, create, since };
    }

    it('lists what was created, changed and deleted since a cursor, and each change once', async () => {
      const { calendar, one, create, since } = await begin();
      const [kept, changed, deleted] = [
        await create('Kept'),
        await create('Changed'),
        await create('Deleted'),
      ];
      const first = await since(null);
      expect(first.events.map(({ content: { title } }) => String(title)).toSorted()).toEqual([
        'Changed',
        'Deleted',
        'Kept',
      ]);
      expect(first.present?.toSorted()).toEqual(
        [kept, changed, deleted].map(({ providerId }) => providerId).toSorted(),
      );
      expect((await since(first.cursor)).events).toEqual([]);
      await calendar.updateEvent(one, changed.providerId, { ...standUp, title: 'Other' });
      await calendar.deleteEvent(one, deleted.providerId);
      const second = await since(first.cursor);
      expect(second.events).toMatchObject([
        { ...changed, content: { title: 'Other' }, masterProviderId: null },
      ]);
      expect(second.removed).toEqual([deleted.providerId]);
      expect(second.present).toBeNull();
      expect(await since(second.cursor)).toMatchObject({ events: [], removed: [] });
    });

    it('pages through the changes without loss, even while events change between pages', async () => {
      const { calendar, one, calendarId, create, since } = await begin();
      const created = [];
      for (let n = 0; n < 7; n++) created.push(await create(`Event ${n}`));
      const list = (cursor: string | null) =>
        calendar.listEventChanges?.(one, calendarId, cursor, 3);
      let page = await list(null);
      // Google may begin with an empty page.
      if (page?.events.length === 0) page = await list(page.cursor);
      expect(page).toMatchObject({ more: true });
      expect(page?.events).toHaveLength(3);
      for (const { providerId } of created)
        await calendar.updateEvent(one, providerId, { ...standUp, title: 'New' });
      const rest = await since(page?.cursor ?? '', 3);
      const last = await since(rest.cursor);
      const titles = new Map(
        [...(page?.events ?? []), ...rest.events, ...last.events].map((event) => [
          event.providerId,
          event.content['title'],
        ]),
      );
      expect(titles).toEqual(new Map(created.map(({ providerId }) => [providerId, 'New'])));
    });

    it('starts over and lists all events when it does not know the cursor', async () => {
      const { create, since } = await begin();
      const { providerId } = await create('Still there');
      const forgotten = JSON.stringify({
        by: 'sync',
        since: 'http://nobody.example/sync/1',
        page: null,
      });
      for (const cursor of [forgotten, 'no cursor at all']) {
        const anew = await since(cursor);
        expect(anew.present).toEqual([providerId]);
        expect(anew.events).toMatchObject([{ providerId }]);
      }
    });

    it('reports not-found for a deleted calendar', async () => {
      const { calendar, one, calendarId, since } = await begin();
      const { cursor } = await since(null);
      await calendar.deleteCalendar(one, calendarId);
      expect(await codeOf(since(cursor))).toBe('not-found');
      expect(await codeOf(since(null))).toBe('not-found');
    });

    it('lists a series and its changed instances once each, even when they are written concurrently', async () => {
      const { calendar, one, calendarId, since } = await begin();
      const { providerId: series } = await calendar.createEvent(
        one,
        calendarId,
        randomUUID(),
        weekly,
      );
      const occurrences = ['20300318T080000Z', '20300325T080000Z', '20300401T070000Z'].map(
        (start) => ({
          series,
          start,
        }),
      );
      const [, second, third] = occurrences;
      // Each write is made twice, and all of them at the same time.
      await Promise.all([
        calendar.writeInstance(one, second!, movedInstance, { base: plainInstance }),
        calendar.writeInstance(one, second!, movedInstance, { base: plainInstance }),
        calendar.deleteInstance(one, third!),
        calendar.deleteInstance(one, third!),
      ]);
      const { events, excluded } = await since(null);
      expect(events).toHaveLength(2);
      expect(excluded).toEqual(
        partial
          ? [
              {
                providerId: expect.any(String),
                masterProviderId: series,
                originalStartTime: 1_901_257_200,
              },
            ]
          : [],
      );
      const [master, instance] = events.toSorted(
        (a, b) => Number(a.masterProviderId !== null) - Number(b.masterProviderId !== null),
      );
      expect(master?.content).toMatchObject({
        title: 'Weekly',
        recurrence: rulesWith('RRULE:FREQ=WEEKLY;COUNT=5'),
      });
      expect(instance).toMatchObject({
        masterProviderId: series,
        originalStartTime: 1_900_656_000,
        content: {
          title: 'Moved',
          location: 'Room 1',
          when: { start_time: 1_900_666_800, start_timezone: 'Europe/Berlin' },
        },
      });
      const lost = calendar.writeInstance(one, third!, movedInstance, { base: plainInstance });
      expect(await codeOf(lost)).toBe('conflict');
      // A deleted instance stays deleted when another client changes the rules. The changed rules
      // stay when an instance is reset.
      const base = { ...weekly };
      const rule = 'RRULE:FREQ=WEEKLY;COUNT=9';
      await calendar.updateEvent(
        one,
        series,
        { ...weekly, recurrence: { rrule: [rule], timezone: 'Europe/Berlin' } },
        { base },
      );
      await calendar.resetInstance(one, instance?.providerId ?? '');
      const after = await since(null);
      expect(after.events.map(({ content }) => content['recurrence'])).toEqual([rulesWith(rule)]);
    });

    if (partial)
      it('reports each change of an instance on its own, and lists all objects again without a cursor', async () => {
        const { calendar, one, calendarId, since } = await begin();
        const { providerId: series } = await calendar.createEvent(
          one,
          calendarId,
          randomUUID(),
          weekly,
        );
        const [second, third] = ['20300325T080000Z', '20300401T070000Z'].map((start) => ({
          series,
          start,
        }));
        const changed = await calendar.writeInstance(one, second!, movedInstance, {
          base: plainInstance,
        });
        const first = await since(null);
        await calendar.deleteInstance(one, third!);
        const later = await since(first.cursor);
        expect(later).toMatchObject({
          events: [],
          removed: [],
          excluded: [{ masterProviderId: series, originalStartTime: 1_901_257_200 }],
        });
        await calendar.resetInstance(one, changed.providerId);
        const last = await since(later.cursor);
        expect(last).toMatchObject({ events: [], excluded: [], removed: [changed.providerId] });
        expect((await since(null)).present?.toSorted()).toEqual(
          [series, later.excluded[0]!.providerId].toSorted(),
        );
      });

    it('reports a conflict for an instance field that both sides changed, even at its first change', async () => {
      const { calendar, one, calendarId, since } = await begin();
      const { providerId: series } = await calendar.createEvent(
        one,
        calendarId,
        randomUUID(),
        weekly,
      );
      const occurrence = { series, start: '20300325T080000Z' };
      await calendar.writeInstance(
        one,
        occurrence,
        { ...plainInstance, title: 'Theirs' },
        { base: plainInstance },
      );
      await calendar.writeInstance(
        one,
        occurrence,
        { ...plainInstance, location: 'Ours' },
        { base: plainInstance },
      );
      const both = calendar.writeInstance(
        one,
        occurrence,
        { ...plainInstance, title: 'Ours' },
        { base: plainInstance },
      );
      expect(await codeOf(both)).toBe('conflict');
      const { events } = await since(null);
      expect(events.find(({ masterProviderId }) => masterProviderId)?.content).toMatchObject({
        title: 'Theirs',
        location: 'Ours',
      });
    });

    it('writes the fields changed since the base, keeps the others, and reports a conflict for a field that both sides changed', async () => {
      const { calendar, one, create, since } = await begin();
      const { providerId } = await create('Title');
      const base = { ...standUp, title: 'Title' };
      // Another client makes the first change. The second one has the same base, so it does not
      // know the first.
      await calendar.updateEvent(one, providerId, { ...base, location: 'Theirs' }, { base });
      await calendar.updateEvent(one, providerId, { ...base, description: 'Ours' }, { base });
      const now = await since(null);
      expect(now.events[0]?.content).toMatchObject({
        title: 'Title',
        location: 'Theirs',
        description: 'Ours',
      });
      const both = calendar.updateEvent(one, providerId, { ...base, location: 'Ours' }, { base });
      expect(await codeOf(both)).toBe('conflict');
      expect((await since(null)).events[0]?.content).toMatchObject({ location: 'Theirs' });
    });
  });
}
