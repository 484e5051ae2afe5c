import request from 'supertest';
import { Database } from '../../src/platform/database/sql.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

interface Shown {
  id: string;
  ical_uid: string;
  title: string;
  master_event_id?: string;
  original_start_time?: number;
  when: { start_time?: number; date?: string };
  participants: { email: string; name: string; status: string; comment: string | null }[];
}

const BO = 'bo@corp.test';
const CY = 'cy@corp.test';
const DEE = 'dee@other.test';
const AT = {
  start_time: Date.UTC(2030, 5, 1, 10) / 1000,
  end_time: Date.UTC(2030, 5, 1, 11) / 1000,
};
const DAILY = { rrule: ['RRULE:FREQ=DAILY;COUNT=4'], timezone: 'Europe/Berlin' };

describe('answers by mail to events of the account', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let calendarId: string;
  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:1/', {
      triggers: ['event.created', 'event.updated', 'event.deleted'],
    });
    ada = await createAccount(server.app, application, { mirrored: true });
    calendarId = await until('the calendar', async () => (await call('get', '/calendars'))[0]?.id);
  });
  afterAll(() => server.close());

  const call = async (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) =>
    (await request(server.url)[method](path).set(ada.bearer).send(body).expect(200)).body;
  const create = async (more: object = {}): Promise<Shown> => {
    const created = await call('post', '/events', {
      calendar_id: calendarId,
      title: 'Plan',
      when: AT,
      participants: [{ email: BO, name: 'Bo' }, { email: CY }],
      ...more,
    });
    return until('the UID', async () => {
      const event: Shown = await call('get', `/events/${created.id}`);
      return event.ical_uid ? event : false;
    });
  };
  let stamp = 0;
  /** An answer by mail, whose ATTENDEE and other lines are given. */
  const reply = async (
    uid: string,
    from: string,
    lines: readonly string[],
    header: string[] = [],
  ) => {
    stamp += 1;
    const time = `2026020${Math.floor(stamp / 60) + 1}T00${String(stamp % 60).padStart(2, '0')}00Z`;
    const id = await deliver(
      server,
      ada,
      [
        ...header,
        'Subject: Answer',
        'MIME-Version: 1.0',
        'Content-Type: text/calendar; charset=utf-8; method=REPLY',
        '',
        'BEGIN:VCALENDAR',
        'VERSION:2.0',
        'METHOD:REPLY',
        'BEGIN:VEVENT',
        `UID:${uid}`,
        `DTSTAMP:${time}`,
        `ORGANIZER:mailto:${ada.email}`,
        ...lines,
        'END:VEVENT',
        'END:VCALENDAR',
        '',
      ],
      from,
    );
    server.app.get(Signals).wake('sync');
    await until('the message', async () => {
      const text = 'select 1 from message where account_id = $1 and message_id_header = $2';
      return (await server.app.get(Database).query(text, [ada.id, id])).length > 0;
    });
  };
  const statuses = async (id: string) => {
    const { participants }: Shown = await call('get', `/events/${id}`);
    return Object.fromEntries(participants.map(({ email, status }) => [email, status]));
  };
  const accepted = (email: string, parameters = '') =>
    `ATTENDEE;PARTSTAT=ACCEPTED${parameters}:mailto:${email}`;
  const webhooksOf = async (id: string) => {
    const text = `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`;
    const rows = await server.app.get(Database).query<{ type: string }>(text, [id]);
    return rows.map(({ type }) => type);
  };
  const instancesOf = async (uid: string): Promise<Shown[]> => {
    const range = `starts_after=${AT.start_time - 86_400}&starts_before=${AT.start_time + 10 * 86_400}`;
    const all: Shown[] = await call('get', `/events?expand_recurring=true&limit=1000&${range}`);
    return all.filter(({ ical_uid }) => ical_uid === uid);
  };

  describe('for one instance of a series', () => {
    it.each([
      [
        'with times',
        { when: AT, recurrence: DAILY },
        'RECURRENCE-ID:20300602T100000Z',
        '20300602T100000Z',
      ],
      [
        'named in a zone',
        { when: AT, recurrence: DAILY },
        'RECURRENCE-ID;TZID=Europe/Berlin:20300602T120000',
        '20300602T100000Z',
      ],
      [
        'named by its day',
        { when: AT, recurrence: DAILY },
        'RECURRENCE-ID;VALUE=DATE:20300602',
        '20300602T100000Z',
      ],
      [
        'of whole days',
        { when: { date: '2030-06-01' }, recurrence: DAILY },
        'RECURRENCE-ID;VALUE=DATE:20300602',
        '20300602',
      ],
    ])('change the status in that instance only: %s', async (_, fields, line, start) => {
      const { id, ical_uid: uid } = await create({ ...fields, metadata: { room: '7' } });
      await reply(uid, BO, [line, accepted(BO), 'COMMENT:Only then']);
      const instance: Shown = await call('get', `/events/${id}_${start}`);
      expect(instance).toMatchObject({
        title: 'Plan',
        master_event_id: id,
        metadata: { room: '7' },
        participants: [
          { email: BO, name: 'Bo', status: 'yes', comment: 'Only then' },
          { email: CY, status: 'noreply' },
        ],
      });
      expect(await statuses(id)).toEqual({ [BO]: 'noreply', [CY]: 'noreply' });
      const all = await instancesOf(uid);
      expect(all.map(({ participants: [bo] }) => bo?.status)).toEqual([
        'noreply',
        'yes',
        'noreply',
        'noreply',
      ]);
      expect(await webhooksOf(instance.id)).toEqual(['event.created']);
      await until('the instance at the provider', async () => {
        const text = `select 1 from event where id = $1 and provider_id is not null and provider_version = version`;
        return (await server.app.get(Database).query(text, [instance.id])).length > 0;
      });
      await reply(uid, CY, [line, `ATTENDEE;PARTSTAT=DECLINED:mailto:${CY}`]);
      expect(await statuses(instance.id)).toEqual({ [BO]: 'yes', [CY]: 'no' });
      expect(await webhooksOf(instance.id)).toEqual(['event.created', 'event.updated']);
    });

    it('change a moved instance, and later ones of the series with it', async () => {
      const { id, ical_uid: uid } = await create({ recurrence: DAILY });
      const moved = { start_time: AT.start_time + 90_000, end_time: AT.end_time + 90_000 };
      const { id: instance } = await call('put', `/events/${id}_20300602T100000Z`, { when: moved });
      await reply(uid, BO, ['RECURRENCE-ID:20300602T100000Z', accepted(BO)]);
      expect(await statuses(instance)).toMatchObject({ [BO]: 'yes' });
      await reply(uid, BO, [accepted(BO)]);
      expect((await instancesOf(uid)).every(({ participants: [bo] }) => bo?.status === 'yes')).toBe(
        true,
      );
    });

    it('are ignored if the series does not take place then, or nobody invited the sender', async () => {
      const { id, ical_uid: uid } = await create({ recurrence: DAILY });
      await call('delete', `/events/${id}_20300602T100000Z`);
      await reply(uid, BO, ['RECURRENCE-ID:20300602T100000Z', accepted(BO)]);
      await reply(uid, BO, ['RECURRENCE-ID:20300601T103000Z', accepted(BO)]);
      await reply(uid, BO, ['RECURRENCE-ID:20310601T100000Z', accepted(BO)]);
      await reply(uid, DEE, ['RECURRENCE-ID:20300603T100000Z', accepted(DEE), accepted(BO)]);
      const all = await instancesOf(uid);
      expect(all).toHaveLength(3);
      expect(all.every(({ id: one }) => one.startsWith(`${id}_`))).toBe(true);
    });

    it('make one row of several answers that arrive together', async () => {
      const { id, ical_uid: uid } = await create({ recurrence: DAILY });
      const line = 'RECURRENCE-ID:20300603T100000Z';
      await Promise.all([
        reply(uid, BO, [line, accepted(BO)]),
        reply(uid, CY, [line, accepted(CY)]),
      ]);
      expect(await statuses(`${id}_20300603T100000Z`)).toEqual({ [BO]: 'yes', [CY]: 'yes' });
      expect(await instancesOf(uid)).toHaveLength(4);
    });
  });

  describe('by another person', () => {
    const by = (email: string) => `;SENT-BY="mailto:${email}"`;

    it('count if the file names the sender of the same domain in SENT-BY', async () => {
      const { id, ical_uid: uid } = await create();
      await reply(uid, 'Assistant@corp.test', [accepted(BO, by('assistant@CORP.test'))]);
      expect(await statuses(id)).toEqual({ [BO]: 'yes', [CY]: 'noreply' });
      const series = await create({ recurrence: DAILY });
      await reply(series.ical_uid, 'assistant@corp.test', [
        'RECURRENCE-ID:20300602T100000Z',
        accepted(BO, by('assistant@corp.test')),
      ]);
      expect(await statuses(`${series.id}_20300602T100000Z`)).toMatchObject({ [BO]: 'yes' });
    });

    it.each([
      ['without SENT-BY', 'assistant@corp.test', '', []],
      ['with another SENT-BY', 'eve@corp.test', by('assistant@corp.test'), []],
      ['of another domain', 'eve@ext.test', by('eve@ext.test'), []],
      ['of a domain that ends alike', 'eve@evil-corp.test', by('eve@evil-corp.test'), []],
      [
        'with a second author',
        'eve@corp.test',
        by('assistant@corp.test'),
        ['From: assistant@corp.test, eve@corp.test'],
      ],
      ['in Sender', 'eve@ext.test', by('assistant@corp.test'), ['Sender: assistant@corp.test']],
    ])('do not count %s', async (_, from, parameters, header) => {
      const { id, ical_uid: uid } = await create();
      await reply(uid, from, [accepted(BO, parameters)], header);
      expect(await statuses(id)).toEqual({ [BO]: 'noreply', [CY]: 'noreply' });
    });

    it('add nobody in the name of the participant', async () => {
      const { id, ical_uid: uid } = await create();
      const delegated = `;PARTSTAT=DELEGATED;DELEGATED-TO="mailto:eve@ext.test"`;
      const line = `ATTENDEE${delegated}${by('assistant@corp.test')}:mailto:${BO}`;
      await reply(uid, 'assistant@corp.test', [line]);
      expect(await statuses(id)).toEqual({ [BO]: 'noreply', [CY]: 'noreply' });
    });

    it.each(['gmail.com', 'yahoo.co.uk'])('do not count between users of %s', async (domain) => {
      const [friend, eve] = [`friend@${domain}`, `eve@${domain}`];
      const { id, ical_uid: uid } = await create({ participants: [{ email: friend }] });
      await reply(uid, eve, [accepted(friend, by(eve))]);
      await reply(uid, eve, [accepted(eve, `;DELEGATED-FROM="mailto:${friend}"`)]);
      expect(await statuses(id)).toEqual({ [friend]: 'noreply' });
    });

    it('count for a delegate whom the participant has named, and not before', async () => {
      const { id, ical_uid: uid } = await create();
      const delegate = accepted(DEE, `;CN=Dee;DELEGATED-FROM="mailto:${BO}"`);
      await reply(uid, DEE, [delegate]);
      expect(await statuses(id)).toEqual({ [BO]: 'noreply', [CY]: 'noreply' });
      await reply(uid, BO, [
        `ATTENDEE;PARTSTAT=DELEGATED;DELEGATED-TO="mailto:${DEE}":mailto:${BO}`,
        `ATTENDEE;CN=Dee;DELEGATED-FROM="mailto:${BO}":mailto:${DEE}`,
      ]);
      expect(await statuses(id)).toEqual({ [BO]: 'noreply', [CY]: 'noreply', [DEE]: 'noreply' });
      await reply(uid, DEE, [delegate]);
      const event: Shown = await call('get', `/events/${id}`);
      expect(event.participants[2]).toMatchObject({ email: DEE, name: 'Dee', status: 'yes' });
    });

    it('count for a delegate of the same domain at once, also in one instance', async () => {
      const { id, ical_uid: uid } = await create({ recurrence: DAILY });
      const line = 'RECURRENCE-ID:20300602T100000Z';
      const parameters = `;DELEGATED-FROM="mailto:${BO}"`;
      await reply(uid, 'eli@corp.test', [line, accepted('eli@corp.test', parameters)]);
      const instance = await statuses(`${id}_20300602T100000Z`);
      expect(instance).toEqual({ [BO]: 'noreply', [CY]: 'noreply', 'eli@corp.test': 'yes' });
      expect(await statuses(id)).toEqual({ [BO]: 'noreply', [CY]: 'noreply' });
      await reply(uid, 'fay@corp.test', [
        accepted('fay@corp.test', ';DELEGATED-FROM="mailto:x@corp.test"'),
      ]);
      expect(Object.keys(await statuses(id))).toHaveLength(2);
    });
  });
});
