import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { MicrosoftWorldFixture } from '../support/microsoft-world.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

type Ada = Awaited<ReturnType<MicrosoftWorldFixture['connect']>>;
interface Shown {
  id: string;
  title: string;
  when: { date: string };
}

const WINDOW = 'startDateTime=2030-01-01T00:00:00Z&endDateTime=2031-01-01T00:00:00Z';
const EXPANDED = `?expand_recurring=true&starts_after=${Date.UTC(2030, 2, 1) / 1000}&ends_before=${Date.UTC(2030, 4, 1) / 1000}`;

describe('an all-day series that somebody made in Outlook', () => {
  let server: TestApp;
  let application: TestApplication;
  let microsoft: MicrosoftWorldFixture;
  let ada: Ada;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    microsoft = await MicrosoftWorldFixture.start(server);
  });
  afterAll(async () => {
    await server.close();
    await microsoft.stub.stop();
    expectDocumented(microsoft.stub);
  });
  beforeEach(async () => {
    ada = await microsoft.connect(application);
  });

  const api = (...given: Parameters<Ada['account']['api']>) => ada.account.api(...given);
  const done = async (job: string) =>
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
  /** Six days from 8 March 2030: the clocks of America go forward on the 10th. */
  async function series(
    timeZone: string,
    shownZone?: string,
    isOrganizer = false,
  ): Promise<string> {
    const { id } = await ada.outlook('POST', 'events', {
      subject: 'Fair',
      isAllDay: true,
      start: { dateTime: '2030-03-08T00:00:00', timeZone },
      end: { dateTime: '2030-03-09T00:00:00', timeZone },
      recurrence: {
        pattern: { type: 'daily', interval: 1 },
        range: {
          type: 'numbered',
          startDate: '2030-03-08',
          numberOfOccurrences: 6,
          recurrenceTimeZone: timeZone,
        },
      },
    });
    const [stored] = ada.eventsAtMicrosoft();
    if (shownZone !== undefined) Object.assign(stored!, { isOrganizer, shownZone });
    return String(id);
  }
  const atMicrosoft = async (id: string) =>
    (await ada.list(`events/${id}/instances?${WINDOW}`)).map((one) => ({
      id: String(one['id']),
      day: (one['start'] as { dateTime: string }).dateTime.slice(0, 10),
      title: String(one['subject']),
    }));
  const shown = async () =>
    ((await api('get', `/events${EXPANDED}`)) as Shown[]).map(
      ({ title, when }) => `${when.date} ${title}`,
    );

  const days = [
    '2030-03-08 Fair',
    '2030-03-10 Theirs',
    '2030-03-11 Fair',
    '2030-03-12 Fair',
    '2030-03-13 Fair',
  ];

  it.each<[string, string, string | undefined, boolean?]>([
    ['of San Francisco', 'Pacific Standard Time', undefined],
    ['of Auckland, in the rule only', 'New Zealand Standard Time', 'UTC', true],
    ['of Tokyo', 'Tokyo Standard Time', undefined],
    ['of Auckland', 'New Zealand Standard Time', undefined],
    ['of Honolulu', 'Hawaiian Standard Time', undefined],
    ['of San Francisco, which guests are not told', 'Pacific Standard Time', 'UTC'],
    ['of Auckland, which guests are not told', 'New Zealand Standard Time', 'UTC'],
    ['of Berlin, by a name of its own', 'W. Europe Standard Time', 'tzone://Microsoft/Custom'],
    ['of Auckland, by a name of its own', 'New Zealand Standard Time', 'tzone://Microsoft/Custom'],
  ])(
    'shows and writes the right days, each once, in the zone %s',
    async (_name, zone, shownZone, isOrganizer = false) => {
      const id = await series(zone, shownZone, isOrganizer);
      const [, second, third] = await atMicrosoft(id);
      await ada.outlook('DELETE', `events/${second!.id}`);
      await ada.outlook('PATCH', `events/${third!.id}`, { subject: 'Theirs' });
      await ada.account.sync();
      expect(await shown()).toEqual(days);

      const all = (await api('get', `/events${EXPANDED}`)) as Shown[];
      const changed = await api('put', `/events/${all[2]!.id}`, { title: 'Ours' });
      await done(changed.job_status_id);
      await done((await api('delete', `/events/${all[3]!.id}`)).job_status_id);
      await done((await api('delete', `/events/${all[1]!.id}`)).job_status_id);
      const left = ['2030-03-08 Fair', '2030-03-11 Ours', '2030-03-13 Fair'];
      expect((await atMicrosoft(id)).map(({ day, title }) => `${day} ${title}`)).toEqual(left);
      await ada.account.sync();
      expect(await shown()).toEqual(left);
    },
  );

  it('follows an instance that was moved to another day', async () => {
    const id = await series('Tokyo Standard Time', 'UTC');
    const [, second] = await atMicrosoft(id);
    const at = (dateTime: string) => ({ dateTime, timeZone: 'Tokyo Standard Time' });
    const start = at('2030-04-02T00:00:00');
    await ada.outlook('PATCH', `events/${second!.id}`, { start, end: at('2030-04-03T00:00:00') });
    await ada.account.sync();
    expect(await shown()).toEqual([
      '2030-03-08 Fair',
      '2030-03-10 Fair',
      '2030-03-11 Fair',
      '2030-03-12 Fair',
      '2030-03-13 Fair',
      '2030-04-02 Fair',
    ]);
  });
});
