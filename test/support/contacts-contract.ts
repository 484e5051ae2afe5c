import { randomUUID } from 'node:crypto';
import type {
  ContactsPort,
  ProviderAccount,
  RemoteContact,
} from '../../src/providers/port/connector.ts';
import { codeOf } from './contract-tools.ts';

/** The contacts port of a provider, and accounts that have an address book. */
export interface ContactsUnderTest {
  contacts: ContactsPort | undefined;
  /** Creates an account that no other test uses. */
  account(): Promise<ProviderAccount>;
}

const ada = {
  given_name: 'Ada',
  surname: 'Lovelace',
  emails: [{ type: 'work', email: 'ada@example.test' }],
};

/** Reads all changes since a cursor, page by page. */
export async function allContactChanges(
  port: ContactsPort,
  account: ProviderAccount,
  cursor: string | null = null,
  limit = 100,
): Promise<{
  cursor: string;
  contacts: RemoteContact[];
  removed: string[];
  present: readonly string[] | null;
}> {
  const contacts: RemoteContact[] = [];
  const removed: string[] = [];
  let present: readonly string[] | null = null;
  for (;;) {
    const changes = await port.listContactChanges(account, cursor, limit);
    contacts.push(...changes.contacts);
    removed.push(...changes.removed);
    present ??= changes.present;
    cursor = changes.cursor;
    if (!changes.more) return { cursor, contacts, removed, present };
  }
}

/** Tests for what every `ContactsPort` guarantees. */
export function describeContacts(make: () => Promise<ContactsUnderTest>, has: boolean): void {
  if (!has) {
    it('has no port for contacts', async () => {
      expect((await make()).contacts).toBeUndefined();
    });
    return;
  }
  describe('contacts', () => {
    async function begin() {
      const { contacts, account } = await make();
      if (!contacts) throw new Error('there are no contacts');
      const one = await account();
      const since = (cursor: string | null, limit?: number) =>
        allContactChanges(contacts, one, cursor, limit);
      return { contacts, one, since };
    }

    it('creates, changes and deletes a contact, and creates no second one when the creation is repeated', async () => {
      const { contacts, one, since } = await begin();
      const key = randomUUID();
      const created = await contacts.createContact(one, key, ada);
      expect(await contacts.createContact(one, key, ada)).toEqual(created);
      expect((await since(null)).contacts).toMatchObject([{ ...created, content: ada }]);
      await contacts.updateContact(one, created.providerId, { ...ada, surname: 'King' });
      expect((await since(null)).contacts).toMatchObject([
        { ...created, content: { surname: 'King' } },
      ]);
      await contacts.deleteContact(one, created.providerId);
      await contacts.deleteContact(one, created.providerId);
      expect(await codeOf(contacts.updateContact(one, created.providerId, ada))).toBe('not-found');
    });

    it('lists what was created, changed and deleted since a cursor, and each change once', async () => {
      const { contacts, one, since } = await begin();
      const create = (surname: string) =>
        contacts.createContact(one, randomUUID(), { ...ada, surname });
      const [changed, deleted] = [
        await create('A'),
        await create('B'),
        await create('C'),
        await create('D'),
      ];
      const first = await since(null, 3);
      expect(first.contacts.map(({ content }) => String(content['surname'])).toSorted()).toEqual([
        'A',
        'B',
        'C',
        'D',
      ]);
      expect(first.present).toHaveLength(4);
      expect(await since(first.cursor)).toMatchObject({ contacts: [], removed: [] });
      await contacts.updateContact(one, changed.providerId, { ...ada, surname: 'Other' });
      await contacts.deleteContact(one, deleted.providerId);
      const second = await since(first.cursor);
      expect(second.contacts).toMatchObject([{ ...changed, content: { surname: 'Other' } }]);
      expect(second.removed).toEqual([deleted.providerId]);
    });

    it('merges changes of both sides, and reports a conflict when both sides changed the same field', async () => {
      const { contacts, one, since } = await begin();
      const key = randomUUID();
      const [work, home, new_] = ['work', 'home', 'other'].map((type) => ({
        type,
        email: `${type}@example.test`,
      }));
      const base = { ...ada, emails: [work, home], groups: ['A', 'B'] };
      const { providerId } = await contacts.createContact(one, key, base);
      await contacts.updateContact(one, providerId, {
        ...base,
        job_title: 'Theirs',
        emails: [work, home, new_],
      });
      const ours = { ...base, nickname: 'Ours', emails: [work], groups: ['A', 'C/D'] };
      await contacts.updateContact(one, providerId, ours, base);
      const merged = {
        given_name: 'Ada',
        job_title: 'Theirs',
        nickname: 'Ours',
        emails: [work, new_],
        groups: ['A', 'C/D'],
      };
      const [stored] = (await since(null)).contacts;
      expect(stored).toMatchObject({ providerId, uid: key, picture: null, content: merged });
      const conflict = contacts.updateContact(
        one,
        providerId,
        { ...base, job_title: 'Ours' },
        base,
      );
      expect(await codeOf(conflict)).toBe('conflict');
      await expect(conflict).rejects.toThrow('job_title');
      expect((await since(null)).contacts).toMatchObject([{ content: merged }]);
    });

    it('has an address book, and returns no picture for a contact without one', async () => {
      const { contacts, one } = await begin();
      expect(contacts.hasAddressBook(one)).toBe(true);
      const { providerId } = await contacts.createContact(one, randomUUID(), ada);
      expect(await contacts.contactPicture(one, providerId)).toBeNull();
      expect(await codeOf(contacts.contactPicture(one, randomUUID()))).toBe('not-found');
    });

    it('reports not-found for a contact that never existed', async () => {
      const { contacts, one } = await begin();
      expect(await codeOf(contacts.updateContact(one, randomUUID(), ada))).toBe('not-found');
      await contacts.deleteContact(one, randomUUID());
    });
  });
}
