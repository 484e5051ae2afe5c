import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { createApplication } from '../support/factories.ts';
import type { HostedCalendars } from '../support/hosted-calendars.ts';
import { HostedAccount, hostCalendars } from '../support/hosted-world.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const START = 1_900_058_400;
const HOUR = 3600;
const hours = (from: number, to: number) => ({
  start: START + from * HOUR,
  end: START + to * HOUR,
});

describe('colleagues and rooms that only the calendar provider knows', () => {
  let server: TestApp;
  let calendars: HostedCalendars;
  let ada: HostedAccount;

  beforeAll(async () => {
    server = await startTestApp();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    calendars = hostCalendars(server);
    calendars.people.set('bo@hosted.test', [hours(1, 2), hours(2, 3), hours(90, 91)]);
    calendars.people.set('cy@hosted.test', []);
    ada = await HostedAccount.connect(server, await createApplication(server.app), calendars);
    await ada.written(
      await ada.api('post', '/events', {
        calendar_id: ada.calendarId,
        when: { start_time: START, end_time: START + HOUR },
      }),
    );
  });

  const freeBusy = (emails: string[]) =>
    ada.call('post', '/calendars/free-busy', {
      start_time: START,
      end_time: START + 8 * HOUR,
      emails,
    });

  it('are asked for in one request, beside the accounts of the application', async () => {
    const { status, body } = await freeBusy(['bo@hosted.test', ada.email, 'cy@hosted.test']);
    expect(status).toBe(200);
    const slot = (from: number, to: number) => ({
      object: 'time_slot',
      status: 'busy',
      start_time: START + from * HOUR,
      end_time: START + to * HOUR,
    });
    expect(body).toEqual([
      { object: 'free_busy', email: 'bo@hosted.test', time_slots: [slot(1, 3)] },
      { object: 'free_busy', email: ada.email, time_slots: [slot(0, 1)] },
      { object: 'free_busy', email: 'cy@hosted.test', time_slots: [] },
    ]);
    expect(calendars.asked).toMatchObject([
      { start: START, end: START + 8 * HOUR, emails: ['bo@hosted.test', 'cy@hosted.test'] },
    ]);
  });

  it('are not asked for if all people have accounts', async () => {
    expect((await freeBusy([ada.email])).status).toBe(200);
    expect(calendars.asked).toEqual([]);
  });

  it('are named with the reason of the provider if it does not know them', async () => {
    const { status, body } = await freeBusy(['bo@hosted.test', 'zoe@hosted.test']);
    expect([status, body.message]).toEqual([
      400,
      expect.stringMatching(/^emails: zoe@hosted\.test \(no such user\): no account/),
    ]);
  });

  it('are never taken as free when the provider fails', async () => {
    calendars.beforeFreeBusy = async () => {
      throw new ProviderError('temporary', '503 Try later');
    };
    const { status, body } = await freeBusy(['bo@hosted.test']);
    expect([status, body.message]).toEqual([
      503,
      'The provider could not read the busy times of people without an account: 503 Try later',
    ]);
  });

  it('count in possible times for one meeting and for several in a row', async () => {
    const request = {
      start_time: START,
      end_time: START + 5 * HOUR,
      duration_minutes: 60,
      interval_minutes: 60,
    };
    const one = await ada.api('post', '/calendars/availability', {
      ...request,
      emails: [ada.email, 'bo@hosted.test'],
    });
    expect(one.time_slots.map((slot: { start_time: number }) => slot.start_time)).toEqual([
      START + 3 * HOUR,
      START + 4 * HOUR,
    ]);
    const chains = await ada.api('post', '/calendars/availability/consecutive', {
      ...request,
      emails: [['bo@hosted.test'], [ada.email]],
    });
    expect(chains).toEqual([
      [
        { emails: ['bo@hosted.test'], start_time: START, end_time: START + HOUR },
        { emails: [ada.email], start_time: START + HOUR, end_time: START + 2 * HOUR },
      ],
      [
        { emails: ['bo@hosted.test'], start_time: START + 3 * HOUR, end_time: START + 4 * HOUR },
        { emails: [ada.email], start_time: START + 4 * HOUR, end_time: START + 5 * HOUR },
      ],
    ]);
  });

  it('rooms of the organization are listed by name, in pages, and counted', async () => {
    const room = (name: string) => ({
      email: `${name.toLowerCase()}@hosted.test`,
      name,
      capacity: '4',
      building: 'Main',
      floorName: '',
      floorNumber: '2',
    });
    calendars.roomList = [room('Zoo'), room('Aquarium'), room('Moon')];
    const view = (name: string) => {
      const { floorName: floor_name, floorNumber: floor_number, ...fields } = room(name);
      return { object: 'room_resource', ...fields, floor_name, floor_number };
    };
    expect(await ada.api('get', '/resources')).toEqual(['Aquarium', 'Moon', 'Zoo'].map(view));
    expect(await ada.api('get', '/resources?limit=1&offset=1')).toEqual([view('Moon')]);
    expect(await ada.api('get', '/resources?view=count')).toEqual({ count: 3 });
  });
});
