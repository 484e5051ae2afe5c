import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Shown {
  id: string;
  ical_uid: string;
  title: string;
  location: string;
  status: string;
  participants: { email: string; status: string }[];
}

const BOSS = 'boss@corp.test';
const CY = 'cy@corp.test';
const base64 = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
let count = 0;

const calendar = (method: string, uid: string, lines: readonly string[]) => [
  'Subject: Meeting',
  'MIME-Version: 1.0',
  'Content-Type: text/calendar; charset=utf-8',
  '',
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  `METHOD:${method}`,
  'BEGIN:VEVENT',
  `UID:${uid}`,
  'DTSTART:20300601T100000Z',
  'DTEND:20300601T110000Z',
  ...lines,
  'END:VEVENT',
  'END:VCALENDAR',
  '',
];

/** Headers that some readers take for those of an address, although another person wrote them. */
const doubtful = (address: string): [string, string[]][] => [
  ['a second author', [`From: Boss <${address}>, Eve <eve@ext.test>`]],
  ['a second author in front', [`From: Eve <eve@ext.test>, Boss <${address}>`]],
  ['a second From field', [`From: Boss <${address}>`, 'From: Eve <eve@ext.test>']],
  ['a second From field in front', ['From: Eve <eve@ext.test>', `from : Boss <${address}>`]],
  ['a group', [`From: Staff: Boss <${address}>, Eve <eve@ext.test>;`]],
  ['a group of one', [`From: Staff: Boss <${address}>;`]],
  ['a name that is the address', [`From: "${address}" <eve@ext.test>`]],
  ['an unquoted name that is the address', [`From: ${address} <eve@ext.test>`]],
  ['an encoded name that is the address', [`From: ${base64(`Boss <${address}>`)} <eve@ext.test>`]],
  ['an encoded address', [`From: ${base64(address)}`]],
  ['a comment with the address', [`From: eve@ext.test (${address})`]],
  ['a comment with another address', [`From: ${address} (eve@ext.test)`]],
  ['a route', [`From: <@${address.split('@')[1]}:eve@ext.test>`]],
  [
    'a Reply-To and a Sender with the address',
    ['From: eve@ext.test', `Sender: ${address}`, `Reply-To: ${address}`],
  ],
  [
    'a message sent again by another person',
    [`From: Boss <${address}>`, 'Resent-From: eve@ext.test'],
  ],
  ['very many authors', [`From: ${`${address}, `.repeat(500)}eve@ext.test`]],
];

describe('mail whose author is not certain', () => {
  let server: TestApp;
  let ada: TestAccount;
  let bo: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { mirrored: true });
    bo = await createAccount(server.app, application, { mirrored: true });
  });
  afterAll(() => server.close());

  const mail = async (to: TestAccount, lines: readonly string[], from = BOSS) => {
    const header = await deliver(server, to, lines, from);
    server.app.get(Signals).wake('sync');
    return until('the message', async () => {
      const text = 'select id from message where account_id = $1 and message_id_header = $2';
      const [row] = await server.app.get(Database).query<{ id: string }>(text, [to.id, header]);
      return row?.id;
    });
  };
  const get = async (path: string, by: TestAccount) =>
    (await request(server.url).get(path).set(by.bearer).expect(200)).body;
  const meeting = async (uid: string) => {
    const all: Shown[] = await get('/events?limit=1000&show_cancelled=true', bo);
    return all.filter((one) => one.ical_uid === uid);
  };
  const invite = async (lines: readonly string[] = []) => {
    const uid = `author-${++count}@corp.test`;
    const organizer = [`ORGANIZER:mailto:${BOSS}`, `ATTENDEE:mailto:${bo.email}`];
    await mail(
      bo,
      calendar('REQUEST', uid, [
        ...organizer,
        'DTSTAMP:20260101T000000Z',
        'SUMMARY:Plan',
        ...lines,
      ]),
    );
    const later = ['SEQUENCE:5', 'DTSTAMP:20260202T000000Z', ...organizer];
    return { uid, later };
  };

  it.each(doubtful(BOSS))('neither moves nor cancels a meeting: %s', async (_, header) => {
    const { uid, later } = await invite();
    const moved = ['SUMMARY:Moved', 'LOCATION:Elsewhere', ...later];
    await mail(bo, [...header, ...calendar('REQUEST', uid, moved)], 'eve@ext.test');
    await mail(bo, [...header, ...calendar('CANCEL', uid, later)], 'eve@ext.test');
    await mail(bo, [...header, ...calendar('ADD', uid, moved)], 'eve@ext.test');
    const all = await meeting(uid);
    expect(all.map(({ title, location, status }) => [title, location, status])).toEqual([
      ['Plan', '', 'confirmed'],
    ]);
  });

  it('lists every author of every From field', async () => {
    const id = await mail(bo, [
      'From: Staff: Boss <boss@corp.test>;',
      'From: Eve <eve@ext.test>',
      'Subject: x',
      '',
      'x',
    ]);
    expect((await get(`/messages/${id}`, bo)).from).toMatchObject([
      { email: BOSS },
      { email: 'eve@ext.test' },
    ]);
  });

  it.each([
    ['with a name', ['From: "Boss, Big" <BOSS@corp.test>']],
    ['with a folded name that is the address', ['From: "boss@corp.test"', ' <boss@corp.test>']],
    ['with a comment as the name', ['From: boss@corp.test (Big Boss)']],
    [
      'through a calendar service, automatically',
      [
        'From: Boss <boss@corp.test>',
        'Sender: Calendar <calendar@service.test>',
        'Return-Path: <>',
        'Auto-Submitted: auto-generated',
      ],
    ],
  ])('is unlike mail of the organizer %s, which cancels the meeting', async (_, header) => {
    const { uid, later } = await invite();
    await mail(bo, [...header, ...calendar('CANCEL', uid, later)]);
    expect(await meeting(uid)).toMatchObject([{ status: 'cancelled' }]);
  });

  it.each(doubtful(CY))("does not answer in a participant's name: %s", async (_, header) => {
    const [{ id: calendar_id }] = await get('/calendars', ada);
    const { body } = await request(server.url)
      .post('/events')
      .set(ada.bearer)
      .send({
        calendar_id,
        title: 'Plan',
        when: { start_time: 1_900_000_000, end_time: 1_900_003_600 },
        participants: [{ email: CY }],
      })
      .expect(200);
    const reply = calendar('REPLY', body.ical_uid ?? body.id, [
      `ORGANIZER:mailto:${ada.email}`,
      `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${CY}`,
      'DTSTAMP:20260202T000000Z',
    ]);
    await mail(ada, [...header, ...reply], 'eve@ext.test');
    const status = async () => (await get(`/events/${body.id}`, ada)).participants[0].status;
    expect(await status()).toBe('noreply');
    await mail(ada, reply, CY);
    expect(await status()).toBe('yes');
  });
});
