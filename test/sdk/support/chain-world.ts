import {
  davAccount,
  makeAddressBook,
  makeCalendar,
  otherClient,
} from '../../support/dav-account.ts';
import { createApplication, type TestApplication } from '../../support/factories.ts';
import { connectMailbox } from '../../support/mail-servers/connect-account.ts';
import { type DavServer, startRadicale } from '../../support/mail-servers/dav.ts';
import { MailServers, mimeOf, type MailUser } from '../../support/mail-servers/mail-servers.ts';
import { Receiver } from '../../support/receiver.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';
import type { Values } from './recorded-client.ts';

/** What another program sees in a user's mailbox, calendars and address books. */
export interface SeenAccount {
  /** Each message: its folder, its subject, its recipients and its flags. Sorted. */
  mail: string[];
  /** Each calendar: its name and its description. Sorted. */
  calendars: string[];
  /** Each event: the lines of its file that say something to people. Sorted. */
  events: string[][];
  /** Each contact: the lines of its file that say something to people. Sorted. */
  contacts: string[][];
}

/** A text that does not fit into one piece of a stream, in characters of several bytes. */
export const LONG_TEXT = 'Größe, '.repeat(2000);

/** When the last of the messages arrived. */
const LAST_ARRIVAL = Date.UTC(2026, 2, 2, 10);

/** The user's calendar and address book before the client connects. */
const CALENDAR = 'personal';
const ADDRESS_BOOK = 'people';

/**
 * Carillon with accounts on real servers: Dovecot and Exim for mail, Radicale for calendars and
 * contacts.
 */
export class ChainWorld {
  private constructor(
    readonly server: TestApp,
    private readonly application: TestApplication,
    private readonly mail: MailServers,
    private readonly dav: DavServer,
    private readonly receiver: Receiver,
  ) {}

  static async start(): Promise<ChainWorld> {
    const [mail, dav, receiver, server] = await Promise.all([
      MailServers.start(),
      startRadicale(),
      Receiver.start(),
      startTestApp({ STRICT_REQUESTS: 'true' }),
    ]);
    return new ChainWorld(server, await createApplication(server.app), mail, dav, receiver);
  }

  async stop(): Promise<void> {
    await this.server.close();
    await Promise.all([this.mail.stop(), this.dav.stop(), this.receiver.stop()]);
  }

  /**
   * Connects a user who has three messages, three events and a contact, and waits until the API
   * shows all of them.
   * @returns names for the placeholders of recorded requests
   */
  async connect(user: MailUser): Promise<Values> {
    await this.#fill(user);
    const settings = {
      ...this.mail.settingsOf(user),
      caldav_url: this.dav.url,
      carddav_url: this.dav.url,
    };
    const account = await connectMailbox(this.server, this.application, user, settings);
    const list = async (path: string) => {
      const answer = await fetch(`${this.server.url}${path}`, { headers: account.bearer });
      return (await answer.json()) as { id: string; name?: string }[];
    };
    await until('the account to be mirrored', async () => {
      const paths = ['/messages', '/events', '/contacts?source=address_book'];
      const counts = (await Promise.all(paths.map(list))).map(({ length }) => length);
      return counts.join() === '3,3,1';
    });
    const archive = (await list('/folders')).find(({ name }) => name === 'archive');
    return {
      clientId: this.application.clientId,
      clientSecret: this.application.clientSecret,
      accessToken: account.bearer['authorization']?.replace('Bearer ', '') ?? '',
      accountId: account.id,
      email: user.email,
      receiver: this.receiver.origin,
      archiveId: archive?.id ?? '',
      longText: LONG_TEXT,
      // As JSON in ASCII.
      longTextEscaped: LONG_TEXT.replaceAll('ö', String.raw`\u00f6`).replaceAll(
        'ß',
        String.raw`\u00df`,
      ),
    };
  }

  addUser(): Promise<MailUser> {
    return this.mail.addUser();
  }

  async #fill(user: MailUser): Promise<void> {
    const { email } = user;
    await this.dav.addUser(email, user.password);
    const remote = davAccount(this.dav.url, email, user.password);
    const put = otherClient(remote);
    const calendar = await makeCalendar(remote, CALENDAR);
    for (const [name, lines] of Object.entries(eventsOf(email)))
      await put('PUT', `${calendar}${name}.ics`, calendarFile(lines));
    const book = await makeAddressBook(remote, ADDRESS_BOOK);
    await put('PUT', `${book}zoe.vcf`, VCARD.join('\r\n'));
    const client = await this.mail.client(user);
    // The reply overtook the message that it answers: its subject is that of the conversation, as
    // when the requests were recorded.
    for (const [index, mime] of messagesOf(email).entries())
      await client.append('INBOX', mime, [], new Date(LAST_ARRIVAL - index * 1000));
    await client.logout();
  }

  /** Looks at the account with another mail program, and with another calendar program. */
  async seen(user: MailUser): Promise<SeenAccount> {
    const look = otherClient(davAccount(this.dav.url, user.email, user.password));
    const { text } = await look('PROPFIND', `/${user.email}/`, PROPERTIES, { depth: '1' });
    const collections = text.split('<response>').slice(2);
    const files = await Promise.all(
      collections.map(async (entry) => (await look('GET', within(entry, 'href'))).text),
    );
    const calendars = collections.filter((entry) => entry.includes('calendar />'));
    const all = files.map(unfolded).join('\n').replaceAll(user.email, 'me');
    return {
      mail: await this.#mailOf(user),
      calendars: calendars
        .map((entry) =>
          ['displayname', 'C:calendar-description'].map((name) => within(entry, name)),
        )
        .map(([name, description]) => `${name?.replace(user.email, 'me')}: ${description}`)
        .toSorted(),
      events: objectsOf(all, 'VEVENT', SAID_OF_EVENTS),
      contacts: objectsOf(all, 'VCARD', SAID_OF_CONTACTS),
    };
  }

  async #mailOf(user: MailUser): Promise<string[]> {
    const client = await this.mail.client(user);
    const seen: string[] = [];
    for (const { path } of await client.list()) {
      const { exists } = await client.mailboxOpen(path, { readOnly: true });
      if (exists === 0) continue;
      for await (const { envelope, flags } of client.fetch('1:*', {
        envelope: true,
        flags: true,
      })) {
        const to = (envelope?.to ?? []).map(({ address }) =>
          address === user.email ? 'me' : address,
        );
        const shown = [...(flags ?? [])].filter((flag) => flag !== '\\Recent').toSorted();
        seen.push(`${path}: ${envelope?.subject} to ${to.join()} ${shown.join(' ')}`.trimEnd());
      }
    }
    await client.logout();
    return seen.toSorted();
  }
}

const SAID_OF_EVENTS =
  /^(SUMMARY|DESCRIPTION|LOCATION|DTSTART|DTEND|DUE|DURATION|RRULE|EXDATE|RECURRENCE-ID|ATTENDEE|ORGANIZER|STATUS|TRANSP|CLASS|TRIGGER|X-)/;
const SAID_OF_CONTACTS =
  /^(?:item\d\.)?(FN|N|NICKNAME|BDAY|EMAIL|TEL|ADR|URL|ORG|TITLE|NOTE|IMPP|X-)/;

const PROPERTIES =
  '<propfind xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><prop><displayname/><resourcetype/><C:calendar-description/></prop></propfind>';

const within = (xml: string, name: string): string =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';

const unfolded = (file: string): string => file.replaceAll(/\r?\n[ \t]/g, '').replaceAll('\r', '');

function objectsOf(file: string, name: string, said: RegExp): string[][] {
  return [...file.matchAll(new RegExp(`BEGIN:${name}\n([^]*?)END:${name}`, 'g'))]
    .map(([, lines = '']) =>
      lines
        .split('\n')
        .filter((line) => said.test(line))
        .toSorted(),
    )
    .toSorted((a, b) => (a.join() < b.join() ? -1 : 1));
}

const calendarFile = (lines: readonly string[]): string =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Other//EN', ...lines, 'END:VCALENDAR', ''].join(
    '\r\n',
  );

/** Events with what clients do not know, by the name of their file. */
function eventsOf(email: string): Record<string, string[]> {
  const event = (uid: string, lines: readonly string[]) => [
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20260101T000000Z',
    ...lines,
    'END:VEVENT',
  ];
  return {
    review: event('review', [
      'DTSTART:20300301T090000Z',
      'DTEND:20300301T100000Z',
      'SUMMARY:Review',
      'DESCRIPTION:Bring the plan',
      'LOCATION:Room 1',
      `ORGANIZER;CN=Me:mailto:${email}`,
      'ATTENDEE;CN=Bo;PARTSTAT=ACCEPTED:mailto:bo@elsewhere.test',
      'ATTENDEE;CN=Cy;PARTSTAT=TENTATIVE;ROLE=OPT-PARTICIPANT:mailto:cy@elsewhere.test',
      'X-OTHER-PROGRAM:kept',
      'BEGIN:VALARM',
      'ACTION:DISPLAY',
      'DESCRIPTION:Soon',
      'TRIGGER:-PT15M',
      'END:VALARM',
    ]),
    holiday: event('holiday', [
      'DTSTART;VALUE=DATE:20300501',
      'DTEND;VALUE=DATE:20300502',
      'SUMMARY:Holiday',
      'TRANSP:TRANSPARENT',
      'X-OTHER-PROGRAM:kept',
    ]),
    standup: event('standup', [
      'DTSTART:20300304T080000Z',
      'DTEND:20300304T081500Z',
      'SUMMARY:Standup',
      'RRULE:FREQ=DAILY;COUNT=5',
      'EXDATE:20300306T080000Z',
      'X-OTHER-PROGRAM:kept',
    ]),
  };
}

const VCARD = [
  'BEGIN:VCARD',
  'VERSION:3.0',
  'UID:zoe',
  'FN:Zoe Ray',
  'N:Ray;Zoe;;;',
  'BDAY:1990-02-03',
  'EMAIL;TYPE=WORK:zoe@elsewhere.test',
  'EMAIL;TYPE=HOME:zoe@home.test',
  'TEL;TYPE=CELL:+14155552671',
  'ADR;TYPE=WORK:;;1 Main St;Springfield;;12345;US',
  'NOTE:Met in Oslo',
  'X-OTHER-PROGRAM:kept',
  'END:VCARD',
  '',
];

function messagesOf(email: string): string[] {
  const headers = (number: number) => ({
    To: email,
    Date: `Mon, 02 Mar 2026 10:0${number}:00 +0000`,
    'Message-ID': `<${number}.${email.replace('@', '.')}@elsewhere.test>`,
  });
  const first = { ...headers(0), Cc: 'Cy <cy@elsewhere.test>', Subject: 'Hello' };
  const file = [
    '--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSee the file.',
    '--b\r\nContent-Type: text/plain; name="a.txt"',
    'Content-Disposition: attachment; filename="a.txt"\r\n\r\nAttached text.\r\n--b--',
  ];
  return [
    mimeOf(first),
    mimeOf({ ...headers(1), Subject: 'Re: Hello', 'In-Reply-To': first['Message-ID'] }),
    mimeOf({ ...headers(2), Subject: 'A file' }, file.join('\r\n'), 'multipart/mixed; boundary=b'),
  ];
}
