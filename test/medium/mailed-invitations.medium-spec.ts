import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { Database, type Sql } from '../../src/platform/database/sql.ts';
import {
  MailedInvitations,
  type MirroredMail,
} from '../../src/calendar/rsvp/mailed-invitations.ts';
import { readItip } from '../../src/formats/ical/itip.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const ORGANIZER = 'zoe@elsewhere.test';

describe('invitations in a batch of mails', () => {
  let server: TestApp;
  let application: TestApplication;
  let bo: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    bo = await createAccount(server.app, application);
  });
  afterAll(() => server.close());

  const mailAbout = (uid: string, title: string, invited = bo): MirroredMail => ({
    id: newId(),
    draft: false,
    author: ORGANIZER,
    remote: { folderIds: [], receivedAt: new Date() },
    itip: readItip([
      [
        'BEGIN:VCALENDAR',
        'VERSION:2.0',
        'PRODID:-//T//T//EN',
        'METHOD:REQUEST',
        'BEGIN:VEVENT',
        `UID:${uid}`,
        'DTSTAMP:20260101T000000Z',
        'DTSTART:20300601T100000Z',
        'DTEND:20300601T110000Z',
        'SEQUENCE:0',
        `SUMMARY:${title}`,
        `ORGANIZER:mailto:${ORGANIZER}`,
        `ATTENDEE:mailto:${invited.email}`,
        'END:VEVENT',
        'END:VCALENDAR',
        '',
      ].join('\r\n'),
    ]),
  });
  const nowhere = { sent: undefined, spam: undefined, trash: undefined };
  /** The transaction, with a database that refuses rows that contain a text. */
  const refusing = (sql: Sql, text: string): Sql =>
    new Proxy(sql, {
      get: (target, name) =>
        name === 'query'
          ? async (statement: string, values: unknown[] = []) => {
              if (/insert into event\b/.test(statement) && JSON.stringify(values).includes(text))
                throw new Error(`a row with ${text} cannot be stored`);
              return target.query(statement, values);
            }
          : (Reflect.get(target, name) as unknown),
    });

  const apply = (
    sql: Sql,
    mails: MirroredMail[],
    ignored: Record<'sent' | 'spam' | 'trash', string | undefined>,
    { id: accountId, email } = bo,
  ) => {
    const account = { accountId, applicationId: application.id, email, provider: 'sandbox' };
    const owner = { account, newsSince: null, at: new Date() };
    return server.app.get(MailedInvitations).applyBatch(sql, owner, mails, ignored);
  };

  it('are applied although one of them fails', async () => {
    const mails = ['First', 'Broken', 'Last'].map((title, n) => mailAbout(`uid-${n}`, title));
    const { changes } = await server.app
      .get(Database)
      .transaction((sql) => apply(refusing(sql, 'Broken'), mails, nowhere));
    const listed = await request(server.url).get('/events').set(bo.bearer);
    expect(listed.body.map(({ title }: { title: string }) => title)).toEqual(['First', 'Last']);
    expect(changes.map(({ object, event }) => `${object} ${event}`)).toEqual([
      'calendar create',
      'event create',
      'event create',
    ]);
  });

  it.each(['mailed', "provider's"])(
    'make an event of its own for an account, although another account has the meeting in its %s calendar',
    async (kind) => {
      const first = await createAccount(server.app, application);
      const second = await createAccount(server.app, application);
      for (const invited of [first, second]) {
        const mails = [mailAbout(`shared ${kind}`, `Of ${invited.id}`, invited)];
        await server.app.get(Database).transaction((sql) => apply(sql, mails, nowhere, invited));
        const listed = await request(server.url).get('/events').set(invited.bearer);
        expect(listed.body).toMatchObject([{ title: `Of ${invited.id}`, account_id: invited.id }]);
        await server.app
          .get(Database)
          .query('update calendar set is_emailed = $2 where account_id = $1', [
            invited.id,
            kind === 'mailed',
          ]);
      }
    },
  );

  it('are ignored in the folders for sent mail, spam and trash', async () => {
    const folders = { sent: 'f-sent', spam: 'f-spam', trash: 'f-trash' };
    const mailIn = (...folderIds: string[]) => ({
      ...mailAbout(folderIds.join(), 'Elsewhere'),
      remote: { folderIds, receivedAt: new Date() },
    });
    const eventsOf = (mails: MirroredMail[]) =>
      server.app
        .get(Database)
        .transaction(async (sql) => (await apply(sql, mails, folders)).events.length);
    const ignored = Object.values(folders).map((folder) => mailIn('f-all', folder));
    expect(await eventsOf(ignored)).toBe(0);
    expect(await eventsOf([mailIn('f-all')])).toBe(1);
  });
});
