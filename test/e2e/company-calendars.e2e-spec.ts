import { type CompanyAccount, eventCalls, START } from '../support/company-calendar.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { GoogleWorldFixture } from '../support/google-world.ts';
import { MicrosoftWorldFixture } from '../support/microsoft-world.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** An account of one company, and what people see and do there without us. */
interface Person {
  account: CompanyAccount;
  /** The address of the meeting of the only event. */
  meetingUrl(): string | undefined;
  /** Makes somebody busy at START, in a calendar that the account may see. */
  addBusyColleague(email: string): Promise<void>;
  surnames(): unknown[];
  /** Gives the only contact a nickname. */
  nickname(name: string): Promise<void>;
}

interface Company {
  meetings: string;
  connect(application: TestApplication): Promise<Person>;
  stop(): Promise<void>;
}

async function google(server: TestApp): Promise<Company> {
  const world = await GoogleWorldFixture.start(server);
  return {
    meetings: 'Google Meet',
    async connect(application) {
      const ada = await world.connect(application);
      const { contacts } = world.stub.world.users.get(ada.email)!;
      const alive = () => [...contacts.people.values()].filter(({ isDeleted }) => !isDeleted);
      return {
        account: ada.account,
        meetingUrl: () => ada.eventsAtGoogle()[0].hangoutLink,
        async addBusyColleague(email) {
          world.stub.addUser(email);
          const busy = { start: { date: '2030-03-18' }, end: { date: '2030-03-19' } };
          await ada.web('GET', '/calendar/v3/users/me/calendarList');
          const { event } = ada.calendarAtGoogle.put(
            (await ada.webEvent('POST', '', { ...busy, transparency: 'transparent' })) as never,
          );
          world.stub.calendars.all.get(email)!.put({ ...event, transparency: 'opaque' });
        },
        surnames: () =>
          alive().map(({ fields }) => (fields['names'] as { familyName: string }[])[0]?.familyName),
        async nickname(name) {
          const resourceName = alive()[0]?.resourceName;
          const { etag } = await ada.web('GET', `/v1/${resourceName}?personFields=names`);
          const path = `/v1/${resourceName}:updateContact?updatePersonFields=nicknames`;
          await ada.web('PATCH', path, { etag, nicknames: [{ value: name }] });
        },
      };
    },
    async stop() {
      await world.stub.stop();
      expectDocumented(world.stub);
    },
  };
}

async function microsoft(server: TestApp): Promise<Company> {
  const world = await MicrosoftWorldFixture.start(server);
  return {
    meetings: 'Microsoft Teams',
    async connect(application) {
      const ada = await world.connect(application);
      const store = ada.contactsAtMicrosoft;
      const alive = () => store.contactsIn(store.defaultFolder.id);
      return {
        account: ada.account,
        meetingUrl: () => ada.eventsAtMicrosoft()[0]?.joinUrl ?? undefined,
        async addBusyColleague(email) {
          const { calendars } = world.stub.addUser(email);
          await ada.outlook('POST', 'events', {
            subject: 'Busy',
            start: { dateTime: '2030-03-18T10:00:00', timeZone: 'UTC' },
            end: { dateTime: '2030-03-18T11:00:00', timeZone: 'UTC' },
          });
          calendars.add(calendars.defaultCalendar.id, ada.eventsAtMicrosoft()[0]!, {
            organizer: { name: '', address: email },
            isOrganizer: true,
            response: 'organizer',
          });
        },
        surnames: () => alive().map(({ fields }) => fields['surname']),
        async nickname(name) {
          await ada.outlook('PATCH', `contacts/${alive()[0]!.immutableId}`, { nickName: name });
        },
      };
    },
    async stop() {
      await world.stub.stop();
      expectDocumented(world.stub);
    },
  };
}

describe.each([
  ['Google', google],
  ['Microsoft', microsoft],
] as const)('calendars and contacts of any account of %s', (_name, start) => {
  let server: TestApp;
  let company: Company;
  let ada: Person;

  beforeAll(async () => {
    server = await startTestApp();
    company = await start(server);
    ada = await company.connect(await createApplication(server.app));
  });
  afterAll(async () => {
    await server.close();
    await company.stop();
  });
  const { api, create, change } = eventCalls(() => ada.account);

  it('have a meeting that was created with an event', async () => {
    const provider = company.meetings;
    const id = await create({ conferencing: { provider, autocreate: {} } });
    const url = ada.meetingUrl();
    expect(url).toMatch(/^https:/);
    const shown = await api('get', `/events/${id}`);
    expect(shown.conferencing).toMatchObject({ provider, details: { url } });
    await change(id, '', { title: 'Renamed' });
    await ada.account.sync();
    expect((await api('get', `/events/${id}`)).conferencing).toEqual(shown.conferencing);
    await ada.account.outcome((await api('delete', `/events/${id}`)).job_status_id);
  });

  it('know when people are busy who have no account', async () => {
    const email = `colleague-${ada.account.email}`;
    await ada.addBusyColleague(email);
    const free = await api('post', '/calendars/free-busy', {
      start_time: START - 86_400,
      end_time: START + 86_400,
      emails: [email],
    });
    expect(free).toMatchObject([{ email, time_slots: [{ status: 'busy' }] }]);
  });

  it('have contacts that are created, changed and deleted on both sides', async () => {
    const sent = {
      given_name: 'Grace',
      surname: 'Hopper',
      emails: [{ type: 'work', email: 'grace@example.test' }],
    };
    const created = await api('post', '/contacts', sent);
    await ada.account.written(created);
    expect(ada.surnames()).toEqual(['Hopper']);
    const path = `/contacts/${created.id}`;
    await ada.account.written(await api('put', path, { surname: 'Murray' }));
    await ada.account.syncContacts();
    expect(await api('get', path)).toMatchObject({ ...sent, surname: 'Murray' });
    await ada.nickname('Amazing');
    await ada.account.syncContacts();
    const both = { ...sent, surname: 'Murray', nickname: 'Amazing' };
    expect(await api('get', path)).toMatchObject(both);
    const { job_status_id: job } = await api('delete', path);
    expect(await ada.account.outcome(job)).toMatchObject({ status: 'successful' });
    expect(ada.surnames()).toEqual([]);
  });
});
