import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Database } from '../../src/platform/database/sql.ts';
import { type BareDav, startBareDav } from '../support/bare-dav.ts';
import { readCorpus } from '../support/corpus/corpus.ts';
import { MirroredFiles } from '../support/corpus/corpus-world.ts';
import { ADDED_FILE, enlarged } from '../support/corpus/enlarged.ts';
import { expectCalendar, expectContacts, expectMail } from '../support/corpus/expect-answer.ts';
import { makeAddressBook, makeCalendar, otherClient } from '../support/dav-account.ts';
import { createApplication, type TestApplication } from '../support/factories.ts';
import { ImapProxy } from '../support/imap-proxy.ts';
import { connectMailbox } from '../support/mail-servers/connect-account.ts';
import { type DavServer, startRadicale, startXandikos } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers, type MailUser } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 120_000;
const MAIL = readCorpus('mail').cases;
const CALENDARS = readCorpus('calendars').cases;
const CONTACTS = readCorpus('contacts').cases;
const LARGE = MAIL.filter(({ expected }) => expected.small_only === undefined);
/** The size that a server reports for every message, so that all are read by their parts. */
const REPORTED_BYTES = 300_000;

/**
 * Every file of the corpus in real mailboxes, calendars and address books, in one pass for each
 * account. Dovecot's messages are read whole, and those with a large file by their parts. Behind
 * the proxy, the small ones are read by their parts, too.
 */
describeWith(['dovecot', 'exim4', 'radicale', 'xandikos'], 'the corpus on real servers', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let mail: MailServers;
  let proxy: ImapProxy;
  let radicale: DavServer;
  let xandikos: DavServer;
  let bare: BareDav;
  let server: TestApp;
  let application: TestApplication;
  /** At Dovecot and Radicale. */
  let first: MirroredFiles;
  /** At the proxy and Xandikos. */
  let second: MirroredFiles;
  /** At a calendar server that parses no files. */
  let third: MirroredFiles;
  /** Status of each file at each server, by `<server>/<path>`. */
  const stored = new Map<string, number>();
  const RADICALE = { calendar: '', book: '' };
  const XANDIKOS = { calendar: '/alice/calendars/calendar/', book: '/alice/contacts/addressbook/' };

  beforeAll(async () => {
    [mail, radicale, xandikos, bare, server] = await Promise.all([
      MailServers.start(),
      startRadicale(),
      startXandikos(),
      startBareDav(),
      startTestApp(),
    ]);
    proxy = await ImapProxy.start(mail.dovecot.ports.imap, {
      hidden: ['CONDSTORE', 'QRESYNC', 'ESEARCH'],
      rewrite: (text) => text.replaceAll(/RFC822\.SIZE \d+/g, `RFC822.SIZE ${REPORTED_BYTES}`),
    });
    application = await createApplication(server.app);
    const users = [await mail.addUser(), await mail.addUser(), await mail.addUser()] as const;
    const whole = MAIL.map(({ bytes }) => bytes);
    await append(users[0], [...whole, ...LARGE.map(({ bytes }) => enlarged(bytes))]);
    await append(users[1], whole);
    await fillRadicale(users[0]);
    await fill('xandikos', settingsAt(xandikos.url, users[1]), XANDIKOS);
    for (const { name, bytes } of CALENDARS) bare.files.set(`/home/personal/${name}.ics`, bytes);
    first = await connect(users[0], radicale.url, {}, MAIL.length + LARGE.length);
    second = await connect(users[1], xandikos.url, { imap_port: proxy.port }, MAIL.length);
    third = await connect(users[2], bare.url, { carddav_url: undefined }, 0);
  }, 2 * PATIENCE_MS);
  afterAll(async () => {
    await server.close();
    await Promise.all([proxy, mail, radicale, xandikos, bare].map((one) => one.stop()));
  });

  async function append(user: MailUser, messages: readonly Buffer[]): Promise<void> {
    const client = await mail.client(user);
    for (const message of messages) await client.append('INBOX', message);
    await client.logout();
  }

  const settingsAt = (url: string, user: MailUser) => ({
    settings: { ...mail.settingsOf(user), caldav_url: url, carddav_url: url },
  });

  async function fillRadicale(user: MailUser): Promise<void> {
    await radicale.addUser(user.email, user.password);
    const account = settingsAt(radicale.url, user);
    // Radicale lists its paths so.
    const listed = (path: string) => path.replace('@', '%40');
    RADICALE.calendar = listed(await makeCalendar(account));
    RADICALE.book = listed(await makeAddressBook(account));
    await fill('radicale', account, RADICALE);
  }

  async function fill(
    name: string,
    account: ReturnType<typeof settingsAt>,
    folders: typeof RADICALE,
  ): Promise<void> {
    const client = otherClient(account);
    const put = async (path: string, bytes: Buffer, type: string) => {
      const { status } = await client('PUT', path, Buffer.from(bytes), { 'content-type': type });
      stored.set(`${name}${path}`, status);
    };
    for (const one of CALENDARS)
      await put(`${folders.calendar}${one.name}.ics`, one.bytes, 'text/calendar; charset=utf-8');
    for (const one of CONTACTS)
      await put(`${folders.book}${one.name}.vcf`, one.bytes, 'text/vcard; charset=utf-8');
  }

  async function connect(
    user: MailUser,
    url: string,
    overrides: object,
    messages: number,
  ): Promise<MirroredFiles> {
    const settings = { ...settingsAt(url, user).settings, ...overrides };
    const account = await connectMailbox(server, application, user, settings);
    await until(
      `the first sync pass of ${url}`,
      async () => {
        const [row] = await server.app.get(Database).query<{ read: number; done: boolean }>(
          `select (select count(*)::int from message m where m.account_id = $1 and not m.listed) as read,
             coalesce(calendars_at > 'epoch' and state = 0, false) as done from sync_job where account_id = $1`,
          [account.id],
        );
        return row?.done && row.read === messages;
      },
      PATIENCE_MS,
    );
    return new MirroredFiles(server, account);
  }

  describe.each([
    ['small', 'whole', () => first, 0, MAIL],
    ['large', 'by its parts', () => first, MAIL.length, LARGE],
    ['small', 'by its parts', () => second, 0, MAIL],
  ] as const)('a %s message, read %s', (size, how, files, before, cases) => {
    it.each(cases.map((one, index) => [one.name, one.expected, index] as const))(
      'mail/%s.eml',
      async (_, expected, index) => {
        const answer = await files().message(before + index + 1);
        const own = answer.files.filter(({ filename }) => filename !== ADDED_FILE);
        expect(answer.files.length - own.length).toBe(size === 'large' ? 1 : 0);
        expectMail({ ...answer, files: own }, expected, how === 'whole');
        for (const word of expected.finds ?? [])
          expect(await files().found(word)).toContain(answer.id);
      },
    );
  });

  const SERVERS = [
    ['radicale', () => first, RADICALE],
    ['xandikos', () => second, XANDIKOS],
  ] as const;

  describe.each(SERVERS)('an object at %s', (name, files, folders) => {
    it.each(CALENDARS.map((one) => [one.name, one.expected] as const))(
      'calendars/%s.ics',
      async (file, expected) => {
        const path = `${folders.calendar}${file}.ics`;
        const isRefused = expected.refused_by?.[name] !== undefined;
        expect([stored.get(name + path), isRefused]).toEqual([
          isRefused ? expect.any(Number) : 201,
          isRefused,
        ]);
        const answer = await files().events(path);
        if (isRefused) expect(answer.events).toEqual([]);
        else if (expected.changed_by?.[name] === undefined) expectCalendar(answer, expected);
      },
    );

    it.each(CONTACTS.map((one) => [one.name, one.expected] as const))(
      'contacts/%s.vcf',
      async (file, expected) => {
        const path = `${folders.book}${file}.vcf`;
        const isRefused = expected.refused_by?.[name] !== undefined;
        const answer = await files().contacts(path);
        if (isRefused) expect(answer.contacts).toEqual([]);
        else if (expected.changed_by?.[name] === undefined) expectContacts(answer, expected);
      },
    );
  });

  it.each(CALENDARS.map((one) => [one.name, one.expected] as const))(
    'an object at a server that stores every file: calendars/%s.ics',
    async (file, expected) =>
      expectCalendar(await third.events(`/home/personal/${file}.ics`), expected),
  );
});
