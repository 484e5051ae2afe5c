import Nylas from 'nylas';
import contactModule from 'nylas/lib/models/contact.js';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { default: Contact } = contactModule;

/** Runs the contact calls of the unchanged official client. */
describe('nylas@6.11.1, contacts', () => {
  let server: TestApp;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, {
      mirrored: true,
      settings: { sample_messages: true },
    });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    await until(
      'the samples',
      async () => (await Nylas.with(ada.token).contacts.count({ source: 'address_book' })) === 3,
    );
  });
  afterAll(() => server.close());

  it('saves a contact that it has read, without losing a field', async () => {
    const client = Nylas.with(ada.token);
    const contact = new Contact(client, { givenName: 'Mia', surname: 'Berg' });
    contact.emailAddresses = [{ type: 'work', email: 'mia@example.test' }] as never;
    contact.physicalAddresses = [
      { format: 'unstructured', type: 'home', address: 'Somewhere 1' },
    ] as never;
    await contact.save();
    expect(contact.jobStatusId).toBeTruthy();
    const read = await client.contacts.find(contact.id ?? '');
    read.jobTitle = 'Captain';
    await read.save();
    const again = await client.contacts.find(contact.id ?? '');
    expect(again).toMatchObject({
      givenName: 'Mia',
      surname: 'Berg',
      jobTitle: 'Captain',
      nickname: '',
      source: 'address_book',
      emailAddresses: [{ type: 'work', email: 'mia@example.test' }],
    });
    expect((await client.contacts.list({ email: 'mia@example.test' })).map(({ id }) => id)).toEqual(
      [again.id],
    );
    expect(await client.contacts.delete(again)).toMatchObject({
      job_status_id: expect.any(String),
    });
    await expect(client.contacts.find(again.id ?? '')).rejects.toMatchObject({ statusCode: 404 });
  });

  it('lists and counts contacts, and reads groups and pictures', async () => {
    const client = Nylas.with(ada.token);
    const groups = await client.contacts.groups();
    expect(groups.map(({ name, path }) => [name, path])).toEqual([
      ['Friends', 'Friends'],
      ['Choir', 'Friends/Choir'],
    ]);
    const [bo, ...others] = await client.contacts.list({
      group: groups[0]?.id ?? '',
      recurse: true,
    });
    expect(bo).toMatchObject({ givenName: 'Bo', groups: [{ name: 'Friends' }, { name: 'Choir' }] });
    expect(others).toHaveLength(1);
    expect(bo?.pictureUrl).toContain('/picture');
    const picture = (await bo?.getPicture()) as unknown;
    expect(picture).toBeTruthy();
    await expect(others[0]?.getPicture()).rejects.toMatchObject({ statusCode: 404 });
    if (bo) bo.notes = 'x';
    await bo?.save();
    expect((await client.contacts.find(bo?.id ?? '')).groups).toHaveLength(2);
  });
});
