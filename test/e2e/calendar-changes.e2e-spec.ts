import type { EventContent } from '../../src/providers/port/connector.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import type { HostedCalendars } from '../support/hosted-calendars.ts';
import { HostedAccount, hostCalendars } from '../support/hosted-world.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { untilAudited } from '../support/until-audited.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

/** Mondays at 10:00 UTC: 18 March 2030 and the four weeks after it. */
const FIRST = 1_900_058_400;
const WEEK = 604_800;
const startOf = (n: number) => FIRST + n * WEEK;
const spanAt = (start_time: number) => ({
  object: 'timespan',
  start_time,
  end_time: start_time + 3600,
  start_timezone: 'UTC',
  end_timezone: 'UTC',
});
const weekly = (title: string, rule = 'RRULE:FREQ=WEEKLY;COUNT=5'): EventContent => ({
  title,
  when: spanAt(FIRST),
  recurrence: { rrule: [rule], timezone: 'UTC' },
});

interface EventView {
  id: string;
  title: string;
  status: string;
  calendar_id: string;
  when: { start_time: number };
}

describe('changes of a calendar whose provider reports each instance on its own', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let application: TestApplication;
  let calendars: HostedCalendars;
  let ada: HostedAccount;

  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    calendars = hostCalendars(server);
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:1/', {
      triggers: ['event.created', 'event.updated', 'event.deleted'],
    });
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await HostedAccount.connect(server, application, calendars);
  });

  const put = (content: EventContent, calendar = ada.remoteCalendar) =>
    calendars.put({ calendar, content }).providerId;
  const list = async (query = ''): Promise<EventView[]> => ada.api('get', `/events?${query}`);
  /** Titles and weeks of the instances that take place. */
  const weeks = async (): Promise<string[]> => {
    const shown = await list(
      `expand_recurring=true&starts_after=${FIRST - 1}&starts_before=${FIRST + 9 * WEEK}`,
    );
    return shown.map(({ title, when }) => `${title} ${(when.start_time - FIRST) / WEEK}`);
  };
  const five = ['Weekly 0', 'Weekly 1', 'Weekly 2', 'Weekly 3', 'Weekly 4'];

  /** A series with two changed instances, the second and the third, in the mirror. */
  async function changedSeries() {
    const series = put(weekly('Weekly'));
    const second = calendars.putInstance(series, startOf(1), {
      title: 'Second',
      when: spanAt(startOf(1)),
    });
    const third = calendars.putInstance(series, startOf(2), {
      title: 'Third',
      when: spanAt(startOf(2)),
    });
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Third 2', 'Weekly 3', 'Weekly 4']);
    return { series, second: second.providerId, third: third.providerId };
  }

  it('keeps the changed instances of a series when the series is reported alone', async () => {
    const { series } = await changedSeries();
    calendars.put({
      providerId: series,
      calendar: ada.remoteCalendar,
      content: { title: 'Renamed' },
    });
    await ada.sync();
    expect(await weeks()).toEqual(['Renamed 0', 'Second 1', 'Third 2', 'Renamed 3', 'Renamed 4']);
  });

  it('keeps the other changed instances when one instance is reported alone', async () => {
    const { series } = await changedSeries();
    const before = await ada.notified();
    calendars.putInstance(series, startOf(1), { title: 'Again' });
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Again 1', 'Third 2', 'Weekly 3', 'Weekly 4']);
    expect((await ada.notified()).slice(before.length)).toEqual(['event.updated']);
  });

  it('lets the series define an instance again when its change is removed', async () => {
    const { second } = await changedSeries();
    calendars.remove(second);
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Weekly 1', 'Third 2', 'Weekly 3', 'Weekly 4']);
  });

  it('leaves out an excluded start, whether or not the instance was changed before', async () => {
    const { series } = await changedSeries();
    const before = await ada.notified();
    calendars.exclude(series, startOf(1));
    calendars.exclude(series, startOf(3));
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Third 2', 'Weekly 4']);
    expect((await ada.notified()).slice(before.length)).toEqual(['event.deleted', 'event.deleted']);
    const all = await list(`expand_recurring=true&show_cancelled=true&starts_after=${FIRST - 1}`);
    expect(all.flatMap(({ title, status }) => (status === 'cancelled' ? [title] : []))).toEqual([
      'Second',
      'Weekly',
    ]);
  });

  it('brings an excluded start back when the exclusion is removed or the instance is changed', async () => {
    const { series } = await changedSeries();
    const fourth = calendars.exclude(series, startOf(3));
    calendars.exclude(series, startOf(4));
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Third 2']);
    calendars.remove(fourth.providerId);
    calendars.putInstance(series, startOf(4), { title: 'Last', when: spanAt(startOf(4)) });
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Third 2', 'Weekly 3', 'Last 4']);
  });

  it('links changed and excluded instances to their series when the series is reported after them', async () => {
    const series = 'series-that-comes-later';
    const { remoteCalendar: calendar } = ada;
    calendars.putInstance(series, startOf(1), { title: 'Early', when: spanAt(startOf(1)) });
    const early = calendars.latest()!;
    calendars.put({ ...early, calendar, content: early.content! });
    calendars.exclude(series, startOf(2), calendar);
    await ada.sync();
    expect(await weeks()).toEqual(['Early 1']);
    calendars.put({ providerId: series, calendar, content: weekly('Weekly') });
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Early 1', 'Weekly 3', 'Weekly 4']);
    const cancelled = await list(
      `expand_recurring=true&show_cancelled=true&starts_after=${startOf(2) - 1}&starts_before=${startOf(2) + 1}`,
    );
    expect(cancelled).toMatchObject([{ title: 'Weekly', status: 'cancelled' }]);
  });

  it('follows a series that is split at one of its instances', async () => {
    const { series, third } = await changedSeries();
    const { remoteCalendar: calendar } = ada;
    const until = 'RRULE:FREQ=WEEKLY;UNTIL=20300401T000000Z';
    calendars.put({
      providerId: series,
      calendar,
      content: { recurrence: { rrule: [until], timezone: 'UTC' } },
    });
    put({ ...weekly('Later', 'RRULE:FREQ=WEEKLY;COUNT=3'), when: spanAt(startOf(2)) });
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Later 2', 'Later 3', 'Later 4']);
    // The provider may also report the instance that ended with the old series.
    calendars.remove(third);
    await ada.sync();
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Later 2', 'Later 3', 'Later 4']);
  });

  it('ends a series with all of its instances', async () => {
    const { series } = await changedSeries();
    const before = await ada.notified();
    calendars.remove(series);
    await ada.sync();
    expect(await weeks()).toEqual([]);
    expect((await ada.notified()).slice(before.length)).toEqual(
      Array.from({ length: 3 }, () => 'event.deleted'),
    );
  });

  it('keeps the instances that a full listing reports on another page than their series', async () => {
    const { remoteCalendar: calendar } = ada;
    const series = put(weekly('Weekly', 'RRULE:FREQ=DAILY;COUNT=150'));
    for (let day = 1; day < 130; day++)
      calendars.putInstance(series, FIRST + day * 86_400, { title: `Day ${day}` });
    calendars.put({ providerId: series, calendar, content: { description: 'Last in the list' } });
    await ada.sync();
    const before = await list(`show_cancelled=true&limit=200`);
    expect(before).toHaveLength(130);
    calendars.forgetHistory();
    await ada.sync();
    const after = await list(`show_cancelled=true&limit=200`);
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(after.every(({ status }) => status === 'confirmed')).toBe(true);
  });

  it('moves an event with its instances to the calendar that the provider moved it to', async () => {
    const { series } = await changedSeries();
    const team = await ada.api('post', '/calendars', { name: 'Team' });
    await ada.outcome(team.job_status_id);
    const there = (await calendars.listCalendars({ ...ada.account, settings: {} } as never)).find(
      ({ name }) => name === 'Team',
    );
    const before = await list();
    calendars.move(series, there!.providerId);
    await ada.sync();
    const after = await list();
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(new Set(after.map(({ calendar_id }) => calendar_id))).toEqual(new Set([team.id]));
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Third 2', 'Weekly 3', 'Weekly 4']);
  });

  it('adds no second row for an instance that was deleted through the API', async () => {
    const { series } = await changedSeries();
    const [shown] = await list(
      `expand_recurring=true&starts_after=${startOf(3) - 1}&starts_before=${startOf(3) + 1}`,
    );
    const { job_status_id: job } = await ada.api('delete', `/events/${shown!.id}`);
    expect(await ada.outcome(job)).toMatchObject({ status: 'successful' });
    await ada.sync();
    expect(calendars.object(`${series}_${startOf(3)}`)).toMatchObject({ content: null });
    const cancelled = (await list('show_cancelled=true')).filter(
      ({ status }) => status === 'cancelled',
    );
    expect(cancelled).toMatchObject([{ title: 'Weekly', when: { start_time: startOf(3) } }]);
    expect(await weeks()).toEqual(['Weekly 0', 'Second 1', 'Third 2', 'Weekly 4']);
  });

  it('shows every instance of a series without changed instances', async () => {
    put(weekly('Weekly'));
    await ada.sync();
    expect(await weeks()).toEqual(five);
  });

  // The last one: hours of audits of all accounts before it would delay the others.
  it('removes what full listings no longer have within hours, and keeps the rest with its ids', async () => {
    const { series, second } = await changedSeries();
    const single = put({ title: 'Single', when: spanAt(startOf(0) + 7200) });
    const excluded = calendars.exclude(series, startOf(3));
    calendars.exclude(series, startOf(4));
    await ada.sync();
    const ids = (await list('show_cancelled=true')).map(({ id }) => id);
    for (const id of [second, single, excluded.providerId]) calendars.remove(id);
    calendars.forgetHistory();
    await ada.sync();
    expect(await weeks()).toContain('Second 1');
    const isRemoved = async () => !(await weeks()).includes('Second 1');
    await untilAudited(clock, () => ada.sync(), isRemoved);
    expect(await weeks()).toEqual(['Weekly 0', 'Weekly 1', 'Third 2', 'Weekly 3']);
    const left = (await list('show_cancelled=true')).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(left));
  });
});
