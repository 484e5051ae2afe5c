import { subscribe } from '../support/connect.ts';
import { createApplication } from '../support/factories.ts';
import { GoogleWorldFixture } from '../support/google-world.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { untilAudited } from '../support/until-audited.ts';

const start = { dateTime: '2030-03-18T09:00:00', timeZone: 'Europe/Berlin' };
const end = { dateTime: '2030-03-18T10:00:00', timeZone: 'Europe/Berlin' };

type Ada = Awaited<ReturnType<GoogleWorldFixture['connect']>>;

describe('calendars and contacts of a Google account whose sync tokens have expired', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let google: GoogleWorldFixture;
  let ada: Ada;

  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    const application = await createApplication(server.app);
    await subscribe(server, application, ['event.created', 'event.updated', 'event.deleted']);
    google = await GoogleWorldFixture.start(server);
    ada = await google.connect(application);
  });
  afterAll(async () => {
    await server.close();
    await google.stub.stop();
  });

  const list = async <T>(path: string): Promise<T[]> => ada.account.api('get', path);
  const titles = async () =>
    (await list<{ title: string }>('/events')).map(({ title }) => title).toSorted();
  const surnames = async () =>
    (await list<{ surname: string }>('/contacts')).map(({ surname }) => surname).toSorted();

  it('are shown whole, and what was deleted at Google meanwhile is removed within hours', async () => {
    const { contacts } = google.stub.world.users.get(ada.email)!;
    for (const name of ['Kept', 'Gone']) {
      await ada.webEvent('POST', '', { summary: name, start, end });
      await ada.web('POST', '/v1/people:createContact', { names: [{ familyName: name }] });
    }
    await ada.account.sync();
    await ada.account.syncContacts();
    const kept = {
      events: await list('/events?title=Kept'),
      contacts: (await list<{ surname: string }>('/contacts')).filter(
        ({ surname }) => surname === 'Kept',
      ),
    };
    const event = ada.eventsAtGoogle().find(({ summary }) => summary === 'Gone');
    await ada.webEvent('DELETE', `/${event?.id}`);
    const contact = [...contacts.people.values()].find(({ fields }) =>
      JSON.stringify(fields).includes('Gone'),
    );
    await ada.web('DELETE', `/v1/${contact?.resourceName}:deleteContact`);
    ada.calendarAtGoogle.expireSyncTokens();
    contacts.expireSyncTokens();
    await ada.account.sync();
    await ada.account.syncContacts();
    expect([await titles(), await surnames()]).toEqual([
      ['Gone', 'Kept'],
      ['Gone', 'Kept'],
    ]);
    await untilAudited(
      clock,
      () => ada.account.sync(),
      async () => (await titles()).length < 2 && (await surnames()).length < 2,
    );
    expect(await list('/events')).toEqual(kept.events);
    expect(await list('/contacts')).toEqual(kept.contacts);
    expect(await ada.account.notified()).toEqual([
      'event.created',
      'event.created',
      'event.deleted',
    ]);
  });
});
