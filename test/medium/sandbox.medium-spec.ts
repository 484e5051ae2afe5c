import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { randomUUID } from 'node:crypto';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { Database } from '../../src/platform/database/sql.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { SandboxConnector } from '../../src/providers/sandbox/sandbox.connector.ts';
import {
  allChanges,
  codeOf,
  describeConnectorContract,
  outgoing,
  sendControl,
  look,
  mimeOf,
} from '../support/connector-contract.ts';
import { describeLookUps, forgetfulWith } from '../support/look-up-contract.ts';
import { HeadersConnector } from '../support/headers-connector.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

describe('sandbox connector', () => {
  const applicationId = randomUUID();
  let file: TestDatabase;
  let database: Database;
  let connector: SandboxConnector;
  const threads = new WorkThreads();

  beforeAll(async () => {
    file = await createTestDatabase();
    database = new Database({
      url: file.url,
      max: 5,
      statementTimeoutMs: 10_000,
      applicationName: 'test',
    });
    connector = new SandboxConnector(database, new SystemClock(), threads);
  });
  afterAll(async () => {
    await threads.close();
    await database.close();
    await file.drop();
  });

  const account = (overrides: Partial<ProviderAccount> = {}): ProviderAccount => ({
    accountId: randomUUID(),
    applicationId,
    email: `user-${randomUUID()}@example.test`,
    name: '',
    organizationUnit: 'folder',
    settings: {},
    ...overrides,
  });

  describeConnectorContract(
    'sandbox',
    async () => ({
      connector,
      account: async () => account(),
      refusedAccount: async () => account({ settings: { password: 'wrong' } }),
    }),
    { contacts: true },
  );

  // The sandbox changes nothing of what it sends.
  describeLookUps(
    async () =>
      forgetfulWith({ mail: connector.mail, account: async () => account() }, (from, message) =>
        connector.mail.send(from, message, sendControl()),
      ),
    ['everything'],
  );

  describeConnectorContract(
    'sandbox that takes the recipients from the message',
    async () => ({
      connector: new HeadersConnector(connector).connector,
      account: async () => account(),
      refusedAccount: async () => account({ settings: { password: 'wrong' } }),
    }),
    { contacts: true },
  );

  describeConnectorContract(
    'sandbox with labels',
    async () => ({
      connector,
      account: async () =>
        account({ organizationUnit: 'label', settings: { organization_unit: 'label' } }),
      refusedAccount: async () => account({ settings: { password: 'wrong' } }),
    }),
    { contacts: true },
  );

  describe('labels', () => {
    it('can be several, and include All Mail except for spam and trash', async () => {
      const one = account({ organizationUnit: 'label', settings: { organization_unit: 'label' } });
      const from = account();
      await connector.mail.send(from, outgoing(from, [one.email]), sendControl());
      const folders = async () =>
        (await allChanges(connector.mail, one)).messages[0]?.folderIds.toSorted();
      const { providerId = '' } = (await allChanges(connector.mail, one)).messages[0] ?? {};
      const { providerId: label } = await connector.mailbox.createFolder(one, 'Label');
      await connector.mailbox.setFolders(one, providerId, ['inbox', 'important', label]);
      expect(await folders()).toEqual(['all', 'important', 'inbox', label].toSorted());
      await connector.mailbox.deleteFolder(one, label);
      expect(await folders()).toEqual(['all', 'important', 'inbox']);
      await connector.mailbox.setFolders(one, providerId, ['trash']);
      expect(await folders()).toEqual(['trash']);
    });
  });

  describe('accounts', () => {
    it("takes the owner's name from the settings, or else from the address", async () => {
      const named = account({ email: 'ada.lovelace+x@example.test' });
      expect((await connector.verify(named)).name).toBe('Ada Lovelace');
      expect((await connector.verify({ ...named, settings: { name: 'Countess' } })).name).toBe(
        'Countess',
      );
    });

    it('has labels when the settings ask for them, and All Mail contains everything except spam and trash', async () => {
      const labelled = account({ settings: { organization_unit: 'label' } });
      expect((await connector.verify(labelled)).organizationUnit).toBe('label');
      const one = { ...labelled, organizationUnit: 'label' as const };
      const names = (await allChanges(connector.mail, one)).folders.map(({ name }) => name);
      expect(names).toEqual(['inbox', 'sent', 'drafts', 'trash', 'spam', 'all', 'important']);
      await connector.mail.send(one, outgoing(one, [one.email]), sendControl());
      const { messages } = await allChanges(connector.mail, one);
      expect(messages.map(({ folderIds }) => [...folderIds].sort())).toEqual([
        ['all', 'inbox'],
        ['all', 'sent'],
      ]);
    });

    it.each([
      { password: 1 },
      { organization_unit: 'shelf' },
      { sent_copies: 'yes' },
      { name: '' },
    ])('refuses the settings %j', (settings) => {
      expect(connector.settingsSchema.safeParse(settings).success).toBe(false);
    });

    it('starts with three sample messages, only once, when the settings ask for them', async () => {
      const one = account({ settings: connector.settingsSchema.parse({}) });
      const first = await allChanges(connector.mail, one);
      expect(first.messages).toHaveLength(3);
      const again = await allChanges(connector.mail, { ...one, accountId: randomUUID() });
      expect(again.messages.map(({ providerId }) => providerId)).toEqual(
        first.messages.map(({ providerId }) => providerId),
      );
      const none = account({
        settings: connector.settingsSchema.parse({ sample_messages: false }),
      });
      expect((await allChanges(connector.mail, none)).messages).toEqual([]);
    });
  });

  describe('delivery', () => {
    it('stores a message once, even when it is handed over repeatedly', async () => {
      const [from, to] = [account(), account()];
      const message = outgoing(from, [to.email]);
      await Promise.all([1, 2, 3].map(() => connector.mail.send(from, message, sendControl())));
      expect((await allChanges(connector.mail, to)).messages).toHaveLength(1);
      expect((await allChanges(connector.mail, from)).messages).toHaveLength(1);
    });

    it('keeps the mailboxes of applications apart', async () => {
      const [from, to] = [account(), account()];
      await connector.mail.send(from, outgoing(from, [to.email]), sendControl());
      const other = { ...to, applicationId: randomUUID() };
      expect((await allChanges(connector.mail, other)).messages).toEqual([]);
    });

    it('shows Bcc recipients only in the Sent copy', async () => {
      const [from, to, hidden] = [account(), account(), account()];
      await connector.mail.send(
        from,
        outgoing(from, [to.email], { bcc: [hidden.email] }),
        sendControl(),
      );
      const firstOf = async (one: ProviderAccount) =>
        String(mimeOf((await allChanges(connector.mail, one)).messages[0]));
      expect(await firstOf(from)).toMatch(new RegExp(`^Bcc: <${hidden.email}>\r\n`));
      expect(await firstOf(to)).not.toContain('Bcc');
      expect(await firstOf(hidden)).not.toContain('Bcc');
    });

    it('reports which mailboxes have changed, until asked to stop', async () => {
      const [from, to] = [account(), account()];
      const told: string[] = [];
      const stop = connector.mail.onChange(({ email }) => told.push(email));
      const message = outgoing(from, [to.email]);
      await connector.mail.send(from, message, sendControl());
      await connector.mail.send(from, message, sendControl());
      expect(told.sort()).toEqual([from.email, to.email].sort());
      stop();
      await connector.mail.send(from, outgoing(from, [to.email]), sendControl());
      expect(told).toHaveLength(2);
    });

    it('returns flags of a known message without its content, and deleted messages as removed', async () => {
      const [from, to] = [account(), account()];
      await connector.mail.send(from, outgoing(from, [to.email]), sendControl());
      const { cursor, messages } = await allChanges(connector.mail, to);
      const id = messages[0]?.providerId;
      await database.query(
        `update sandbox_message set unread = false, modseq = modseq + 1 where id = $1`,
        [id],
      );
      const read = await connector.mail.listChanges(to, look(cursor, 10));
      expect(read.messages).toMatchObject([{ providerId: id, unread: false, content: null }]);
      await database.query(
        `update sandbox_message set deleted = true, modseq = modseq + 1 where id = $1`,
        [id],
      );
      const removed = await connector.mail.listChanges(to, look(read.cursor, 10));
      expect(removed).toMatchObject({ messages: [], removed: [id], more: false });
      expect(await codeOf(connector.mail.fetchRaw(to, id ?? ''))).toBe('not-found');
    });
  });

  describe('magic recipients', () => {
    const attempt = (from: ProviderAccount, message: ReturnType<typeof outgoing>) =>
      codeOf(connector.mail.send(from, message, sendControl()));

    it.each([
      ['rejected', 'rejected', /^550 5\.1\.1 /],
      ['content-rejected', 'rejected', /^554 5\.6\.0 /],
      ['quota', 'quota-exhausted', /^550 5\.4\.5 /],
      ['rate-limited', 'rate-limited', /^450 4\.7\.28 /],
      ['temporary', 'temporary', /^451 4\.3\.2 /],
      ['auth-invalid', 'auth-invalid', /^535 5\.7\.8 /],
    ])('%s@ fails every time with %s, and no one gets the message', async (word, code, reply) => {
      const [from, to] = [account(), account()];
      const message = outgoing(from, [to.email, `${word}@sandbox.test`]);
      for (let n = 0; n < 3; n++) {
        await expect(connector.mail.send(from, message, sendControl())).rejects.toMatchObject({
          code,
          message: expect.stringMatching(reply),
        });
      }
      expect((await allChanges(connector.mail, to)).messages).toEqual([]);
      expect(await connector.mail.findSent(from, message.messageIdHeader)).toEqual({
        found: false,
        conclusive: true,
      });
    });

    it('temporary+2@ fails twice per message, then succeeds', async () => {
      const from = account();
      const [one, two] = [1, 2].map(() => outgoing(from, ['temporary+2@sandbox.test']));
      if (!one || !two) throw new Error('unreachable');
      const codes = [];
      for (const message of [one, one, two, one, two, two])
        codes.push(await attempt(from, message));
      expect(codes).toEqual([
        'temporary',
        'temporary',
        'temporary',
        'succeeded',
        'temporary',
        'succeeded',
      ]);
    });

    it('unknown@ is delivered although the response is lost', async () => {
      const from = account();
      const message = outgoing(from, ['unknown@sandbox.test']);
      expect(await attempt(from, message)).toBe('outcome-unknown');
      expect(await connector.mail.findSent(from, message.messageIdHeader)).toEqual({
        found: true,
        conclusive: true,
      });
    });

    it('unknown-lost@ is not delivered when the response is lost, but at the next attempt', async () => {
      const from = account();
      const message = outgoing(from, ['unknown-lost@sandbox.test']);
      expect(await attempt(from, message)).toBe('outcome-unknown');
      expect(await connector.mail.findSent(from, message.messageIdHeader)).toEqual({
        found: false,
        conclusive: true,
      });
      expect(await attempt(from, message)).toBe('succeeded');
      expect((await connector.mail.findSent(from, message.messageIdHeader)).found).toBe(true);
    });

    it('cannot be looked up without Sent copies', async () => {
      const from = account({ settings: { sent_copies: false } });
      const message = outgoing(from, ['unknown@sandbox.test']);
      expect(await attempt(from, message)).toBe('outcome-unknown');
      expect(await connector.mail.findSent(from, message.messageIdHeader)).toEqual({
        found: false,
        conclusive: false,
      });
    });

    it('partial@ is refused while the other recipients get the message', async () => {
      const [from, to] = [account(), account()];
      const receipt = await connector.mail.send(
        from,
        outgoing(from, [to.email, 'Partial@Sandbox.Test']),
        sendControl(),
      );
      expect(receipt).toMatchObject({
        accepted: [to.email],
        refused: [
          { email: 'partial@sandbox.test', reason: expect.stringMatching(/^550 5\.1\.1 /) },
        ],
      });
      expect(await attempt(from, outgoing(from, ['partial@sandbox.test']))).toBe('rejected');
    });

    it('slow+60@ can be interrupted before the content is sent', async () => {
      const from = account();
      const message = outgoing(from, ['slow+60@sandbox.test']);
      const interrupt = new AbortController();
      const control = sendControl(interrupt.signal);
      const result = codeOf(
        connector.mail.send(from, message, {
          ...control,
          onPhase: (phase) => {
            control.onPhase(phase);
            if (phase === 'envelope') setImmediate(() => interrupt.abort());
          },
        }),
      );
      expect(await result).toBe('temporary');
      expect(control.phases).toEqual(['connect', 'login', 'envelope']);
    });

    it.each([
      'temporary@elsewhere.test',
      'temporary.not@sandbox.test',
      'ada@sandbox.test',
      'constructor@sandbox.test',
    ])('%s is an ordinary address', async (email) => {
      const from = account();
      expect(await attempt(from, outgoing(from, [email]))).toBe('succeeded');
    });
  });

  describe('magic titles', () => {
    const content = (name: string) => ({ name, description: null, location: null, timezone: null });

    it('fail the creation as specified, the given number of times per object', async () => {
      const { calendar } = connector;
      const one = account();
      const create = (key: string, name: string) =>
        codeOf(calendar.createCalendar(one, key, content(name)));
      expect(await create('a', 'x [sandbox:rejected]')).toBe('rejected');
      expect(await create('b', '[sandbox:auth-invalid] x')).toBe('auth-invalid');
      expect(await create('c', '[sandbox:temporary+1]')).toBe('temporary');
      expect(await create('c', '[sandbox:temporary+1]')).toBe('succeeded');
      expect(await create('d', '[sandbox:temporary+1]')).toBe('temporary');
      expect(await calendar.listCalendars(one)).toHaveLength(2);
    });

    it('fail deletions only when the title names deletions', async () => {
      const { calendar } = connector;
      const one = account();
      const [primary] = await calendar.listCalendars(one);
      const title = 'Offsite [sandbox:delete-temporary+1]';
      const { providerId } = await calendar.createEvent(one, primary?.providerId ?? '', 'k', {
        title,
      });
      await calendar.updateEvent(one, providerId, { title });
      expect(await codeOf(calendar.deleteEvent(one, providerId))).toBe('temporary');
      expect(await codeOf(calendar.deleteEvent(one, providerId))).toBe('succeeded');
    });

    it('also work in subjects and folder names', async () => {
      const { mailbox, mail } = connector;
      const one = account();
      await mail.send(
        one,
        outgoing(one, [one.email], { subject: 'x [sandbox:temporary+1]' }),
        sendControl(),
      );
      const { providerId = '' } = (await allChanges(mail, one)).messages[0] ?? {};
      expect(await codeOf(mailbox.setFlags(one, providerId, { starred: true }))).toBe('temporary');
      expect(await codeOf(mailbox.setFlags(one, providerId, { starred: true }))).toBe('succeeded');
      expect(await codeOf(mailbox.createFolder(one, '[sandbox:rejected]'))).toBe('rejected');
    });

    it('do not matter to the primary calendar, which is never deleted', async () => {
      const one = account();
      const [primary] = await connector.calendar.listCalendars(one);
      expect(await codeOf(connector.calendar.deleteCalendar(one, primary?.providerId ?? ''))).toBe(
        'rejected',
      );
      expect(await connector.calendar.listCalendars(one)).toHaveLength(1);
    });
  });
});
