import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ContactContent, ProviderAccount } from '../../src/providers/port/connector.ts';
import { allContactChanges, describeContacts } from '../support/contacts-contract.ts';
import { codeOf } from '../support/contract-tools.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';
import type { StubRequest } from '../support/remote-stub/messages.ts';
import { expectDocumented } from '../support/remote-stub/remote-stub.ts';

describe('contacts at the stub of Microsoft', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    fixture = await MicrosoftFixture.start();
  });
  afterAll(async () => {
    await fixture.stop();
    expectDocumented(fixture.stub);
  });

  describeContacts(
    () =>
      Promise.resolve({
        contacts: fixture.connector.contacts,
        account: () => Promise.resolve(fixture.account()),
      }),
    true,
  );

  describe('fields, folders and pictures', () => {
    let account: ProviderAccount;
    beforeEach(() => {
      account = fixture.account();
    });
    const contacts = () => fixture.connector.contacts;
    const store = () => fixture.stub.user(account.email).contacts;
    const create = (content: ContactContent) =>
      contacts().createContact(account, randomUUID(), content);
    const since = (cursor: string | null = null, limit = 100) =>
      allContactChanges(contacts(), account, cursor, limit);

    it('keeps every field, also those that Microsoft has no property for', async () => {
      const { providerId } = await create(everything);
      const [stored] = (await since()).contacts;
      expect(stored?.content).toEqual(everything);
      const { fields } = store().contact(providerId)!;
      expect(fields).toMatchObject({
        givenName: 'Ada',
        generation: 'Jr.',
        emailAddresses: [
          { address: 'a@example.test' },
          { address: 'b@example.test' },
          { address: 'c@example.test' },
        ],
        businessPhones: ['1'],
        homePhones: ['2'],
        mobilePhone: '3',
        homeAddress: { street: 'Street 1', countryOrRegion: 'UK' },
        categories: ['A', 'C/D'],
      });
    });

    it('takes over a field that was changed in Outlook, and keeps the others', async () => {
      const { providerId } = await create(everything);
      const contact = store().contact(providerId)!;
      const emailAddresses = [{ name: 'New', address: 'new@example.test' }];
      store().update(contact, { fields: { ...contact.fields, emailAddresses } });
      expect((await since()).contacts[0]?.content).toEqual({
        ...everything,
        emails: [{ type: null, email: 'new@example.test' }],
      });
    });

    it.each([
      'syncStateNotFound',
      'resyncRequired',
      'UnknownError',
      'ErrorInvalidSyncStateData',
    ] as const)('lists all contacts again if Graph answers %s to old links', async (code) => {
      const kept = await create({ given_name: 'Kept' });
      const { cursor } = await since();
      const added = await create({ given_name: 'Added' });
      fixture.stub.expireDeltaLinks(code);
      const anew = await since(cursor);
      const ids = [kept, added].map(({ providerId }) => providerId).toSorted();
      expect(anew.contacts.map(({ providerId }) => providerId).toSorted()).toEqual(ids);
      expect(anew.present?.toSorted()).toEqual(ids);
    });

    it('reads the contacts of all folders, also of one that is new or gets deleted', async () => {
      const first = await create({ given_name: 'One' });
      const team = store().addFolder('Team');
      store().add(team.id, { givenName: 'Two' });
      const begin = await since();
      expect(begin.contacts.map(({ content }) => content['given_name'])).toEqual(['One', 'Two']);
      expect(begin.present).toHaveLength(2);
      const other = store().addFolder('Other');
      const three = store().add(other.id, { givenName: 'Three' });
      const next = await since(begin.cursor);
      expect(next).toMatchObject({
        contacts: [{ content: { given_name: 'Three' } }],
        present: null,
      });
      store().removeFolder(team);
      const { present } = await since(next.cursor);
      expect(present?.toSorted()).toEqual([first.providerId, three.immutableId].toSorted());
    });

    it('reports a contact that was moved to another folder as existing', async () => {
      const { providerId } = await create({ given_name: 'One' });
      const team = store().addFolder('Team');
      const { cursor } = await since();
      store().move(store().contact(providerId)!, team);
      expect(await since(cursor)).toMatchObject({ contacts: [{ providerId }], removed: [] });
    });

    it('reads folders inside of folders, and keeps the id of a contact that moves between them', async () => {
      const outer = store().addFolder('Outer');
      const inner = store().addFolder('Inner', outer);
      const innermost = store().addFolder('Innermost', inner);
      const contact = store().add(innermost.id, { givenName: 'Deep', categories: ['Friends'] });
      const providerId = contact.immutableId;
      const begin = await since();
      expect(begin.contacts).toMatchObject([{ providerId, content: { groups: ['Friends'] } }]);
      store().move(contact, outer);
      const moved = await since(begin.cursor);
      expect(moved).toMatchObject({ contacts: [{ providerId }], removed: [], present: null });
      store().update(contact, { fields: { givenName: 'Changed' } });
      const changed = await since(moved.cursor);
      expect(changed.contacts).toMatchObject([{ content: { given_name: 'Changed' } }]);
      const late = store().add(store().addFolder('Late', innermost).id, { givenName: 'Late' });
      const next = await since(changed.cursor);
      expect(next.contacts.map(({ providerId: id }) => id)).toEqual([late.immutableId]);
      store().removeFolder(inner);
      expect((await since(next.cursor)).present).toEqual([providerId]);
    });

    it('reads at most a hundred folders, ten deep', async () => {
      let folder = store().addFolder('1');
      for (let depth = 2; depth <= 12; depth++) {
        folder = store().addFolder(String(depth), folder);
        store().add(folder.id, { givenName: String(depth) });
      }
      const names = async () =>
        (await since()).contacts.map(({ content }) => content['given_name']);
      expect(await names()).toEqual(['2', '3', '4', '5', '6', '7', '8', '9', '10']);
      for (let n = 0; n < 120; n++)
        store().add(store().addFolder(`Beside ${n}`).id, { givenName: 'x' });
      expect(await names()).toHaveLength(98);
    });

    it.each(['syncStateNotFound', 'resyncRequired', 'UnknownError'] as const)(
      'lists everything again when Microsoft answers %s to an old link',
      async (code) => {
        const { providerId } = await create({ given_name: 'One' });
        const lost = await create({ given_name: 'Two' });
        const { cursor } = await since();
        await contacts().deleteContact(account, lost.providerId);
        fixture.stub.expireDeltaLinks(code);
        const { present, contacts: found } = await since(cursor);
        expect(present).toEqual([providerId]);
        expect(found).toMatchObject([{ providerId }]);
      },
    );

    it('keeps its cursor when a request fails, and reports the change later', async () => {
      const { cursor } = await since();
      const { providerId } = await create({ given_name: 'One' });
      fixture.stub.faults.add({
        match: ({ method, path }) => method === 'GET' && path.includes(providerId),
        answer: { status: 503, body: { error: { code: 'ErrorServerBusy', message: 'busy' } } },
      });
      expect(await codeOf(since(cursor))).toBe('temporary');
      expect((await since(cursor)).contacts).toMatchObject([{ providerId }]);
    });

    const error = (code: string) => ({ status: 404, body: { error: { code, message: '' } } });
    const nothing = { status: 200, body: { value: [] } };

    it.each(['410', '404'])(
      'lists everything again if the link to a page of the first listing is answered by %s',
      async (status) => {
        for (const name of ['One', 'Two', 'Three']) await create({ given_name: name });
        const first = await contacts().listContactChanges(account, null, 2);
        expect(first.more).toBe(true);
        const match = ({ path, query }: StubRequest) =>
          path.endsWith('/contacts') && [...query.keys()].some((key) => key.startsWith('$skip'));
        const code = status === '410' ? 'syncStateNotFound' : 'ErrorItemNotFound';
        const error = { code, message: 'Not found.' };
        fixture.stub.faults.add({ match, answer: { status: Number(status), body: { error } } });
        expect((await since(first.cursor)).contacts).toHaveLength(3);
      },
    );

    it('misses no contact that one list of a folder lacks', async () => {
      const team = store().addFolder('Team');
      const { immutableId } = store().add(team.id, { givenName: 'One' });
      const { cursor } = await since();
      fixture.stub.expireDeltaLinks();
      const match = ({ path, query }: StubRequest) =>
        path.endsWith(`${encodeURIComponent(team.id)}/contacts`) && query.get('$select') === 'id';
      fixture.stub.faults.add({ match, answer: nothing });
      expect((await since(cursor)).present).toEqual([immutableId]);
      expect(fixture.stub.faults.pending).toBe(0);
    });

    it('does not begin again without a folder that the list lacks', async () => {
      const team = store().addFolder('Team');
      store().add(team.id, { givenName: 'One' });
      const { cursor } = await since();
      fixture.stub.expireDeltaLinks();
      const match = ({ path }: StubRequest) => path.endsWith('/contactFolders');
      fixture.stub.faults.add({ match, answer: nothing, after: 1 });
      expect(await codeOf(since(cursor))).toBe('temporary');
      expect((await since(cursor)).present).toHaveLength(1);
    });

    it('asks once more if the mailbox is not there for a moment', async () => {
      const { cursor } = await since();
      await create({ given_name: 'One' });
      const match = ({ path }: StubRequest) => path.endsWith('/contacts/delta');
      fixture.stub.faults.add({ match, answer: error('MailboxNotEnabledForRESTAPI') });
      expect((await since(cursor)).contacts).toMatchObject([{ content: { given_name: 'One' } }]);
      expect(fixture.stub.faults.pending).toBe(0);
    });

    it('keeps its cursor if the mailbox is not there for a while', async () => {
      await create({ given_name: 'One' });
      const { cursor } = await since();
      const match = ({ path }: StubRequest) => path.endsWith('/contacts/delta');
      fixture.stub.faults.add({ match, answer: error('MailboxNotEnabledForRESTAPI'), times: 2 });
      expect(await codeOf(since(cursor))).toBe('temporary');
      expect((await since(cursor)).present).toBeNull();
    });

    it('goes on with the folders that it follows if there are too many', async () => {
      const folders = Array.from({ length: 120 }, (_, n) => store().addFolder(`Beside ${n}`));
      const { cursor } = await since();
      const [first] = folders;
      store().folders.delete(first!.id);
      store().folders.set(first!.id, first!);
      const { immutableId } = store().add(first!.id, { givenName: 'One' });
      expect(await since(cursor)).toMatchObject({
        contacts: [{ providerId: immutableId }],
        present: null,
      });
    });

    it('asks again for a changed contact that was not found', async () => {
      const { providerId } = await create({ given_name: 'One' });
      const { cursor } = await since();
      store().update(store().contact(providerId)!, { fields: { givenName: 'Two' } });
      const match = ({ path }: StubRequest) => path.endsWith(`/contacts/${providerId}`);
      fixture.stub.faults.add({ match, answer: error('ErrorItemNotFound') });
      const first = await contacts().listContactChanges(account, cursor, 100);
      expect(first).toMatchObject({ contacts: [], removed: [], unread: [{ providerId }] });
      expect(await contacts().listContactChanges(account, first.cursor, 100)).toMatchObject({
        contacts: [{ providerId, content: { given_name: 'Two' } }],
        read: [providerId],
        unread: [],
      });
    });

    it('creates one contact when the response to the creation is lost', async () => {
      const key = randomUUID();
      const match = ({ method }: { method: string }) => method === 'POST';
      fixture.stub.faults.add({ match, answer: 'drop-after-done' });
      const write = () => contacts().createContact(account, key, { given_name: 'One' });
      expect(await codeOf(write())).toBe('outcome-unknown');
      const { providerId } = await write();
      expect((await since()).contacts).toMatchObject([{ providerId, uid: key }]);
    });

    it('merges with a change that another program makes at the same time', async () => {
      const base = { given_name: 'Ada' };
      const { providerId } = await create(base);
      let raced = false;
      fixture.stub.faults.add({
        match: ({ method }) => {
          if (method !== 'PATCH' || raced) return false;
          raced = true;
          const contact = store().contact(providerId)!;
          store().update(contact, { fields: { ...contact.fields, jobTitle: 'Theirs' } });
          return true;
        },
        answer: 'none',
      });
      await contacts().updateContact(account, providerId, { ...base, nickname: 'Ours' }, base);
      expect((await since()).contacts).toMatchObject([
        { content: { given_name: 'Ada', job_title: 'Theirs', nickname: 'Ours' } },
      ]);
    });

    it('reports and returns the picture of a contact', async () => {
      const { providerId } = await create({ given_name: 'One' });
      const { cursor } = await since();
      const png = Buffer.from('89504e470d0a1a0a00', 'hex');
      const contact = store().contact(providerId)!;
      store().update(contact, { photo: { content: png, contentType: 'image/png' } });
      const [changed] = (await since(cursor)).contacts;
      expect(changed?.picture).toEqual(expect.any(String));
      const picture = { contentType: 'image/png', bytes: png };
      expect(await contacts().contactPicture(account, providerId)).toEqual(picture);
    });
  });
});

const everything: ContactContent = {
  given_name: 'Ada',
  middle_name: 'M.',
  surname: 'Lovelace',
  suffix: 'Jr.',
  nickname: 'A',
  birthday: '1815-12-10',
  company_name: 'Engines',
  job_title: 'Analyst',
  manager_name: 'Charles',
  office_location: 'London',
  notes: 'Notes',
  emails: [
    { type: 'work', email: 'a@example.test' },
    { type: 'home', email: 'b@example.test' },
    { type: null, email: 'c@example.test' },
    { type: 'other', email: 'd@example.test' },
  ],
  phone_numbers: [
    { type: 'work', number: '1' },
    { type: 'home', number: '2' },
    { type: 'mobile', number: '3' },
    { type: 'fax', number: '4' },
  ],
  im_addresses: [{ type: 'jabber', im_address: 'ada' }],
  web_pages: [
    { type: 'profile', url: 'https://ada.test' },
    { type: 'blog', url: 'https://blog.test' },
  ],
  physical_addresses: [
    {
      type: 'home',
      format: 'structured',
      street_address: 'Street 1',
      city: 'London',
      state: '',
      postal_code: 'W1',
      country: 'UK',
    },
    { type: 'holiday', format: 'unstructured', address: 'By the sea' },
  ],
  groups: ['A', 'C/D'],
};
