import { randomUUID } from 'node:crypto';
import type {
  CalendarContent, CalendarPort, Connector, MailChanges, MailPort, OutgoingMessage, ProviderAccount, RemoteMessage,
} from '../../src/providers/connector.ts'; // prettier-ignore
import type { ProviderErrorCode, SendPhase } from '../../src/providers/provider-error.ts';

/** What a connector's spec provides to run the contract. */
export interface ConnectorUnderTest {
  connector: Connector;
  /** An account of its own, whose mailbox is empty or nearly so. */
  account(): Promise<ProviderAccount>;
  /** As `account`, with credentials the provider refuses. */
  refusedAccount(): Promise<ProviderAccount>;
}

/** A small message from an account. */
export function outgoing(
  from: ProviderAccount,
  recipients: readonly string[],
  options: { bcc?: readonly string[]; messageIdHeader?: string; subject?: string } = {},
): OutgoingMessage {
  const messageIdHeader = options.messageIdHeader ?? `<${randomUUID()}@contract.test>`;
  const { bcc = [], subject = 'Contract' } = options;
  const mime = Buffer.from(
    [
      `From: <${from.email}>`,
      `To: ${recipients.map((email) => `<${email}>`).join(', ')}`,
      `Subject: ${subject}`,
      `Message-ID: ${messageIdHeader}`,
      'Date: Tue, 14 Nov 2023 22:13:20 +0000',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'Good day.',
      '',
    ].join('\r\n'),
  );
  return {
    messageIdHeader,
    mime,
    envelope: { from: from.email, recipients: [...recipients, ...bcc] },
    bcc: bcc.map((email) => ({ email, name: '' })),
  };
}

/** Control of a send that nobody interrupts; keeps the phases it was told. */
export function sendControl(signal: AbortSignal = new AbortController().signal) {
  const phases: SendPhase[] = [];
  return { phases, signal, onPhase: (phase: SendPhase) => void phases.push(phase) };
}

/** Everything that changed since the cursor, page by page. */
export async function allChanges(
  mail: MailPort,
  account: ProviderAccount,
  cursor: string | null = null,
  limit = 100,
): Promise<{ cursor: string; messages: RemoteMessage[]; pages: number }> {
  const messages: RemoteMessage[] = [];
  for (let pages = 1; ; pages++) {
    const changes: MailChanges = await mail.listChanges(account, cursor, limit);
    messages.push(...changes.messages);
    cursor = changes.cursor;
    if (!changes.more) return { cursor, messages, pages };
  }
}

/** The error's code, or what it resolved with when it did not fail. */
export async function codeOf(work: Promise<unknown>): Promise<ProviderErrorCode | 'succeeded'> {
  try {
    await work;
    return 'succeeded';
  } catch (error) {
    return (error as { code: ProviderErrorCode }).code;
  }
}

/**
 * What every connector guarantees. A connector's spec calls it once and adds what is its own.
 * @param make called once per test
 */
export function describeConnectorContract(name: string, make: () => Promise<ConnectorUnderTest>): void {
  describe(`${name}: connector contract`, () => {
    describe('credentials', () => {
      it('accepts an account and says who it is', async () => {
        const { connector, account } = await make();
        const one = await account();
        const verified = await connector.verify(one);
        expect(verified.email).toBe(one.email);
        expect(verified.name).not.toBe('');
        expect(['folder', 'label']).toContain(verified.organizationUnit);
      });

      it('refuses wrong credentials everywhere with auth-invalid', async () => {
        const { connector, refusedAccount } = await make();
        const one = await refusedAccount();
        const calls = [
          connector.verify(one),
          connector.mail?.send(one, outgoing(one, ['a@elsewhere.test']), sendControl()),
          connector.mail?.listFolders(one),
          connector.mail?.listChanges(one, null, 10),
          connector.calendar?.listCalendars(one),
        ];
        const codes = await Promise.all(calls.filter((call) => call !== undefined).map(codeOf));
        expect(new Set(codes)).toEqual(new Set(['auth-invalid']));
      });
    });

    describeMail(async () => {
      const { connector, account } = await make();
      if (!connector.mail) throw new Error(`${name} has no mail`);
      return { mail: connector.mail, account };
    });
    describeCalendars(async () => {
      const { connector, account } = await make();
      if (!connector.calendar) throw new Error(`${name} has no calendars`);
      return { calendar: connector.calendar, account };
    });
  });
}

function describeMail(
  make: () => Promise<{ mail: MailPort; account: () => Promise<ProviderAccount> }>,
): void {
  describe('mail', () => {
    it('delivers, files a Sent copy, and shows both as they were sent', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const before = await allChanges(mail, to);
      const message = outgoing(from, [to.email], { subject: 'Grüße' });
      const control = sendControl();
      const receipt = await mail.send(from, message, control);
      expect(receipt.accepted).toEqual([to.email]);
      expect(receipt.refused).toEqual([]);
      expect(control.phases).toEqual(['connect', 'login', 'envelope', 'content', 'confirmation']);
      expect(await mail.findSent(from, message.messageIdHeader)).toEqual({ found: true, conclusive: true });

      const arrived = await allChanges(mail, to, before.cursor);
      expect(arrived.messages).toHaveLength(1);
      const [copy] = arrived.messages;
      expect(copy).toMatchObject({ unread: true, starred: false });
      expect(copy?.mime?.includes(message.messageIdHeader)).toBe(true);
      const folders = await mail.listFolders(to);
      const names = copy?.folderIds.map((id) => folders.find(({ providerId }) => providerId === id)?.name);
      expect(names).toContain('inbox');
      expect(await mail.fetchRaw(to, copy?.providerId ?? '')).toEqual(copy?.mime);
    });

    it('does not find a message that was never sent', async () => {
      const { mail, account } = await make();
      expect(await mail.findSent(await account(), `<${randomUUID()}@contract.test>`)).toEqual({
        found: false,
        conclusive: true,
      });
    });

    it('sends nothing once the caller has given up', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const message = outgoing(from, [to.email]);
      expect(await codeOf(mail.send(from, message, sendControl(AbortSignal.abort())))).toBe('temporary');
      expect((await mail.findSent(from, message.messageIdHeader)).found).toBe(false);
    });

    it('resumes at a cursor and pages without loss or repetition', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const { cursor } = await allChanges(mail, to);
      const sent = Array.from({ length: 7 }, () => outgoing(from, [to.email]));
      for (const message of sent) await mail.send(from, message, sendControl());
      const { messages, pages, cursor: end } = await allChanges(mail, to, cursor, 3);
      expect(pages).toBe(3);
      expect(messages.map(({ mime }) => /Message-ID: (.*)\r/.exec(String(mime))?.[1])).toEqual(
        sent.map(({ messageIdHeader }) => messageIdHeader),
      );
      expect((await allChanges(mail, to, end)).messages).toEqual([]);
    });

    it('never skips deliveries that run at the same time as a look-up', async () => {
      const { mail, account } = await make();
      const [to, ...senders] = await Promise.all(Array.from({ length: 5 }, account));
      if (!to) throw new Error('unreachable');
      let { cursor } = await allChanges(mail, to);
      const seen: string[] = [];
      const look = async () => {
        const changes = await allChanges(mail, to, cursor, 2);
        cursor = changes.cursor;
        seen.push(...changes.messages.map(({ providerId }) => providerId));
      };
      const sending = { going: true };
      const looking = (async () => {
        while (sending.going) await look();
      })();
      await Promise.all(
        senders.map(async (from) => {
          for (let n = 0; n < 10; n++) await mail.send(from, outgoing(from, [to.email]), sendControl());
        }),
      );
      sending.going = false;
      await looking;
      await look();
      expect(seen).toHaveLength(40);
      expect(new Set(seen).size).toBe(40);
    });

    it('answers not-found for a message that is not there', async () => {
      const { mail, account } = await make();
      const one = await account();
      expect(await codeOf(mail.fetchRaw(one, randomUUID()))).toBe('not-found');
      expect(await codeOf(mail.fetchRaw(one, 'no such id'))).toBe('not-found');
    });
  });
}

const content = (name: string): CalendarContent => ({
  name,
  description: 'About it',
  location: null,
  timezone: 'Europe/Berlin',
});

function describeCalendars(
  make: () => Promise<{ calendar: CalendarPort; account: () => Promise<ProviderAccount> }>,
): void {
  describe('calendars', () => {
    it('has exactly one primary calendar, however often they are listed', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const lists = await Promise.all([calendar.listCalendars(one), calendar.listCalendars(one)]);
      for (const list of lists) expect(list.filter(({ isPrimary }) => isPrimary)).toHaveLength(1);
      expect(lists[0]).toEqual(lists[1]);
    });

    it('creates, changes and deletes a calendar; a repeated creation makes no second one', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const key = randomUUID();
      const { providerId } = await calendar.createCalendar(one, key, content('Team'));
      expect(await calendar.createCalendar(one, key, content('Team'))).toEqual({ providerId });
      await calendar.updateCalendar(one, providerId, content('Crew'));
      const mine = (await calendar.listCalendars(one)).filter(({ isPrimary }) => !isPrimary);
      expect(mine).toEqual([{ providerId, ...content('Crew'), isPrimary: false, readOnly: false }]);
      await calendar.deleteCalendar(one, providerId);
      await calendar.deleteCalendar(one, providerId);
      expect(await codeOf(calendar.updateCalendar(one, providerId, content('Crew')))).toBe('not-found');
    });

    it('creates, changes and deletes an event; a repeated creation makes no second one', async () => {
      const { calendar, account } = await make();
      const one = await account();
      const [primary] = await calendar.listCalendars(one);
      const event = { title: 'Stand-up', when: { start_time: 1_700_000_000, end_time: 1_700_003_600 } };
      const key = randomUUID();
      const created = await calendar.createEvent(one, primary?.providerId ?? '', key, event);
      expect(created.icalUid).not.toBe('');
      expect(await calendar.createEvent(one, primary?.providerId ?? '', key, event)).toEqual(created);
      await calendar.updateEvent(one, created.providerId, { ...event, title: 'Sit-down' });
      await calendar.deleteEvent(one, created.providerId);
      await calendar.deleteEvent(one, created.providerId);
      expect(await codeOf(calendar.updateEvent(one, created.providerId, event))).toBe('not-found');
    });

    it('keeps accounts apart', async () => {
      const { calendar, account } = await make();
      const [mine, theirs] = [await account(), await account()];
      const { providerId } = await calendar.createCalendar(mine, randomUUID(), content('Mine'));
      expect(await codeOf(calendar.updateCalendar(theirs, providerId, content('Taken')))).toBe('not-found');
      await calendar.deleteCalendar(theirs, providerId);
      const listed = await calendar.listCalendars(mine);
      expect(listed.find((one) => one.providerId === providerId)?.name).toBe('Mine');
    });

    it('answers not-found for an event in a calendar that is not there', async () => {
      const { calendar, account } = await make();
      const one = await account();
      expect(await codeOf(calendar.createEvent(one, randomUUID(), randomUUID(), { title: 'x' }))).toBe(
        'not-found',
      );
    });
  });
}
