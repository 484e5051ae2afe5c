import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ContactContent } from '../../src/providers/port/connector.ts';
import type { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { allContactChanges } from '../support/contacts-contract.ts';
import { codeOf } from '../support/contract-tools.ts';
import { GoogleFixture } from '../support/google-account.ts';
import { scope } from '../support/google/scopes.ts';
import { type Any, StubClient } from '../support/google/stub-client.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const ada: ContactContent = {
  given_name: 'Ada',
  middle_name: 'Augusta',
  surname: 'Lovelace',
  suffix: 'Countess',
  nickname: 'Enchantress',
  birthday: '1815-12-10',
  company_name: 'Engines',
  job_title: 'Analyst',
  manager_name: 'Charles',
  office_location: 'London',
  notes: 'Ünïcode 会議 👩‍🚀\nsecond line',
  emails: [{ type: 'work', email: 'ada@example.test' }],
  phone_numbers: [{ type: 'mobile', number: '+44 20 7946 0000' }],
  im_addresses: [{ type: 'jabber', im_address: 'ada' }],
  web_pages: [{ type: 'homePage', url: 'https://ada.example.test' }],
  physical_addresses: [
    {
      type: 'home',
      format: 'structured',
      street_address: '12 St James Sq',
      city: 'London',
      state: '',
      postal_code: 'SW1Y',
      country: 'UK',
    },
  ],
  groups: ['Friends', 'Team/A'],
};

describe('contacts at the stub of Google', () => {
  let fixture: GoogleFixture;
  beforeAll(async () => {
    fixture = await GoogleFixture.start();
  });
  beforeEach(() => fixture.stub.habits.worst());
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  function begin() {
    const { stub, connector } = fixture;
    const { contacts } = connector;
    const account = fixture.account();
    const web = new StubClient(stub, account.email);
    return {
      contacts,
      account,
      stored: stub.world.users.get(account.email)!.contacts,
      create: async (contact: ContactContent) =>
        (await contacts.createContact(account, randomUUID(), contact)).providerId,
      since: (cursor: string | null, limit?: number) =>
        allContactChanges(contacts, account, cursor, limit),
      /** A change by Google's own pages. */
      web: async (method: string, path: string, body?: object) => {
        const answer = await web.call(method, `/v1/${path}`, body);
        expect(answer.status).toBe(200);
        return answer.body as Any;
      },
    };
  }

  it('stores every field of a contact, in any script, and reads it as it was written', async () => {
    const { create, since, contacts, account } = begin();
    await create(ada);
    const [contact] = (await since(null)).contacts;
    expect(contact?.content).toEqual(contacts.asStored(account, ada));
    expect(contact?.content).toEqual(ada);
  });

  it('removes all fields again', async () => {
    const { create, since, contacts, account } = begin();
    const id = await create(ada);
    const empty = { surname: 'Lovelace' };
    await contacts.updateContact(account, id, empty, ada);
    expect((await since(null)).contacts[0]?.content).toEqual(contacts.asStored(account, empty));
  });

  it('keeps what the API does not have, and the group of all contacts', async () => {
    const { create, stored, contacts, account } = begin();
    const id = await create(ada);
    const there = stored.people.get(id)!;
    Object.assign(there.fields, {
      names: [{ ...(there.fields['names'] as Any)[0], honorificPrefix: 'Lady' }],
      emailAddresses: [{ value: 'ada@example.test', type: 'work', displayName: 'Ada L.' }],
      organizations: [{ name: 'Engines', title: 'Analyst', location: 'London', department: 'R' }],
      relations: [
        { person: 'Charles', type: 'manager' },
        { person: 'Byron', type: 'father' },
      ],
    });
    stored.touch(there);
    const changed = {
      ...ada,
      surname: 'King',
      job_title: 'Poet',
      manager_name: null,
      emails: [{ type: 'home', email: 'ada@example.test' }],
      groups: ['Team/A'],
    };
    await contacts.updateContact(account, id, changed, ada);
    expect(there.fields).toMatchObject({
      names: [{ honorificPrefix: 'Lady', familyName: 'King', givenName: 'Ada' }],
      emailAddresses: [{ value: 'ada@example.test', type: 'home', displayName: 'Ada L.' }],
      organizations: [{ title: 'Poet', department: 'R' }],
      relations: [{ person: 'Byron', type: 'father' }],
    });
    const memberships = JSON.stringify(there.fields['memberships']);
    expect(memberships).toContain('contactGroups/myContacts');
    expect(memberships.match(/contactGroupResourceName/g)).toHaveLength(2);
  });

  it('lists everything again with all ids when the sync token has expired', async () => {
    // Contacts of single pages are counted.
    fixture.stub.habits.pages = 'full';
    const { create, since, stored, contacts, account } = begin();
    const ids = [];
    for (const surname of ['A', 'B', 'C']) ids.push(await create({ surname }));
    const { cursor } = await since(null);
    await contacts.deleteContact(account, ids[0]!);
    stored.expireSyncTokens();
    const page = await contacts.listContactChanges(account, cursor, 1);
    expect([page.more, page.contacts.length]).toEqual([true, 1]);
    const anew = await since(cursor, 1);
    expect(anew.contacts.map(({ providerId }) => providerId)).toEqual(ids.slice(1));
    expect(anew.present).toEqual(ids.slice(1));
    expect(anew.removed).toEqual([]);
  });

  it('reports contacts that were changed and deleted at Google', async () => {
    const { create, since, web, stored } = begin();
    const [kept, gone] = [await create({ surname: 'A' }), await create({ surname: 'B' })];
    const { cursor } = await since(null);
    await web('DELETE', `${gone}:deleteContact`);
    const etag = `%${stored.people.get(kept)?.version}`;
    const names = [{ familyName: 'C' }];
    await web('PATCH', `${kept}:updateContact?updatePersonFields=names`, { etag, names });
    const later = await since(cursor);
    expect(later.removed).toEqual([gone]);
    expect(later.contacts).toMatchObject([{ providerId: kept, content: { surname: 'C' } }]);
    expect(later.present).toBeNull();
  });

  it('reports the contacts of a group that was renamed or deleted', async () => {
    const { create, since, web, stored } = begin();
    await create({ surname: 'A', groups: ['Team'] });
    const first = await since(null);
    const team = [...stored.groups.values()].find(({ name }) => name === 'Team')!;
    await web('PUT', team.resourceName, { contactGroup: { name: 'Crew' } });
    const renamed = await since(first.cursor);
    expect(renamed.contacts).toMatchObject([{ content: { groups: ['Crew'] } }]);
    await web('DELETE', team.resourceName);
    const deleted = await since(renamed.cursor);
    expect(deleted.contacts).toMatchObject([{ content: { groups: [] } }]);
  });

  it('merges with a change that another program makes between its read and its write', async () => {
    const { create, contacts, account, stored } = begin();
    const id = await create(ada);
    const message = 'Request person.etag is different than the current person.etag.';
    fixture.stub.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.includes(id),
      answer: {
        status: 400,
        body: { error: { code: 400, status: 'FAILED_PRECONDITION', message } },
      },
    });
    await contacts.updateContact(account, id, { ...ada, nickname: 'New' }, ada);
    expect(stored.people.get(id)?.fields['nicknames']).toEqual([{ value: 'New' }]);
    const error = { code: 400, status: 'INVALID_ARGUMENT', message: 'Invalid field mask' };
    fixture.stub.faults.add({
      match: ({ method, path }) => method === 'PATCH' && path.includes(id),
      answer: { status: 400, body: { error } },
    });
    const refused = contacts.updateContact(account, id, { ...ada, nickname: 'Other' });
    expect(await codeOf(refused)).toBe('rejected');
  });

  it('does not create a contact again before the lists of Google would show the first one', async () => {
    const { contacts, account, stored } = begin();
    const { habits, faults } = fixture.stub;
    habits.contactsLagMs = 3_600_000;
    const match = ({ path }: { path: string }) => path.endsWith(':createContact');
    faults.add({ match, answer: 'drop-after-done' });
    const key = randomUUID();
    const create = () => contacts.createContact(account, key, { given_name: 'Once' });
    await expect(create()).rejects.toMatchObject({ code: 'temporary', retryAfterSeconds: 300 });
    await expect(create()).rejects.toMatchObject({ code: 'temporary' });
    habits.contactsLagMs = 0;
    const { providerId } = await create();
    expect([...stored.people.keys()]).toEqual([providerId]);
  });

  it('asks for all pages of a list with the size of the first one', async () => {
    const { contacts, account, create } = begin();
    // Contacts of single pages are counted.
    fixture.stub.habits.pages = 'full';
    for (const given_name of ['A', 'B', 'C']) await create({ given_name });
    const first = await contacts.listContactChanges(account, null, 2);
    const second = await contacts.listContactChanges(account, first.cursor, 500);
    expect([first.contacts.length, second.contacts.length, second.more]).toEqual([2, 1, false]);
    expect(second.present).toHaveLength(3);
    const third = await contacts.listContactChanges(account, second.cursor, 100);
    expect([third.contacts, third.present]).toEqual([[], null]);
  });

  it('does not remove contacts because one list is empty', async () => {
    const { create, since } = begin();
    const providerId = await create({ given_name: 'There' });
    const match = ({ query }: { query: URLSearchParams }) =>
      query.get('personFields') === 'metadata';
    fixture.stub.faults.add({ match, answer: { status: 200, body: {} } });
    const { present } = await since(null);
    expect(present).toEqual([providerId]);
  });

  it('creates one contact although the response is lost', async () => {
    const { contacts, account, since } = begin();
    const key = randomUUID();
    fixture.stub.faults.add({
      match: ({ path }) => path === '/v1/people:createContact',
      answer: 'drop-after-done',
    });
    expect(await codeOf(contacts.createContact(account, key, ada))).toBe('temporary');
    const { providerId } = await contacts.createContact(account, key, ada);
    expect((await since(null)).contacts).toMatchObject([{ providerId, uid: key, content: ada }]);
  });

  it('shows the picture of a contact, with another id when it changes', async () => {
    const { create, contacts, account, since, web } = begin();
    const id = await create(ada);
    const photo = { photoBytes: PNG.toString('base64') };
    await web('PATCH', `${id}:updateContactPhoto`, photo);
    const first = await since(null);
    const picture = first.contacts[0]?.picture;
    expect(picture).not.toBeNull();
    const shown = await contacts.contactPicture(account, id);
    expect(shown).toEqual({ contentType: 'image/png', bytes: PNG });
    const other = Buffer.concat([PNG, Buffer.alloc(8)]).toString('base64');
    await web('PATCH', `${id}:updateContactPhoto`, { photoBytes: other });
    const later = await since(first.cursor);
    expect(later.contacts[0]?.picture).not.toBe(picture);
    await web('DELETE', `${id}:deleteContactPhoto`);
    expect(await contacts.contactPicture(account, id)).toBeNull();
    expect((await since(later.cursor)).contacts).toMatchObject([{ picture: null }]);
  });

  it('has no address book if the user has not agreed to contacts', async () => {
    const { contacts, account } = begin();
    const accessToken = fixture.stub.oauth.accessTokenFor(account.email, [scope('calendar')]);
    const without = { ...account, accessToken };
    expect(await codeOf(contacts.listContactChanges(without, null, 10))).toBe('unsupported');
    const named = (name: string) => ({ ...account, providerScopes: [scope(name)] });
    expect(contacts.hasAddressBook(named('calendar'))).toBe(false);
    expect(contacts.hasAddressBook(named('contacts.readonly'))).toBe(true);
  });

  it('waits ever longer when Google refuses to list all contacts anew, and does everything else', async () => {
    const { contacts, account, create, since } = begin();
    const { fullLists } = fixture.stub.quotas;
    const { limit } = fullLists;
    const usual = limit.units;
    limit.units = 1;
    const list = () =>
      contacts.listContactChanges(account, null, 10).then(
        () => null,
        (error: ProviderError) => error,
      );
    const { cursor } = await since(null);
    const refused = await list();
    expect(refused).toMatchObject({
      code: 'rate-limited',
      retryAfterSeconds: 60,
      message: expect.stringMatching(/other requests go on$/),
    });
    const asked = fixture.stub.requestsOf('GET /v1/people/me/connections').length;
    expect(await codeOf(contacts.listContactChanges(account, null, 10))).toBe('rate-limited');
    expect(fixture.stub.requestsOf('GET /v1/people/me/connections')).toHaveLength(asked);
    await create({ given_name: 'Bea' });
    expect((await since(cursor)).contacts).toMatchObject([{ content: { given_name: 'Bea' } }]);
    limit.units = usual;
  });

  it.each([
    [401, 'UNAUTHENTICATED', 'auth-invalid'],
    [429, 'RESOURCE_EXHAUSTED', 'rate-limited'],
    [500, 'INTERNAL', 'temporary'],
    [503, 'UNAVAILABLE', 'temporary'],
  ])('reports %s %s as %s', async (status, name, code) => {
    const { contacts, account } = begin();
    fixture.stub.faults.add({
      match: ({ path }) => path === '/v1/people/me/connections',
      answer: { status, body: { error: { code: status, status: name, message: 'No' } } },
    });
    expect(await codeOf(contacts.listContactChanges(account, null, 10))).toBe(code);
  });
});
