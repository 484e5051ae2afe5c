import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import request from 'supertest';
import type { Scope } from '../../src/platform/auth/scopes.ts';
import { SqlPool } from '../../src/platform/database/sql.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { syncAccount } from '../support/sync.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

interface Event {
  id: string;
  ical_uid: string;
  title: string;
}

interface Message {
  id: string;
  subject: string;
  thread_id: string;
  events: Event[];
}

const ORGANIZER = 'zoe@elsewhere.test';

describe('the events of a message', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  const get = async (path: string, by = ada) => {
    const response = await request(server.url).get(path).set(by.bearer);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const account = (scope?: Scope[]) =>
    createAccount(server.app, application, {
      settings: { sample_messages: false },
      ...(scope ? { scope } : {}),
    });

  /** Delivers a mail with an invitation and mirrors the mailbox. @returns the message */
  async function invite(
    to: TestAccount,
    subject: string,
    event: { uid: string; method?: string; lines?: readonly string[]; more?: readonly string[] },
    from = ORGANIZER,
  ): Promise<Message> {
    const { uid, method = 'REQUEST', lines = [], more = [] } = event;
    const ics = [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//T//T//EN',
      `METHOD:${method}`,
      'BEGIN:VEVENT',
      `UID:${uid}`,
      'DTSTAMP:20260101T000000Z',
      'DTSTART:20300601T100000Z',
      'DTEND:20300601T110000Z',
      `ORGANIZER:mailto:${ORGANIZER}`,
      `ATTENDEE:mailto:${to.email}`,
      ...lines,
      'END:VEVENT',
      ...more,
      'END:VCALENDAR',
      '',
    ];
    const content = [`Content-Type: text/calendar; charset=utf-8; method=${method}`, '', ...ics];
    await deliver(server, to, [`Subject: ${subject}`, 'MIME-Version: 1.0', ...content], from);
    await syncAccount(server.app, server.app.get(MailboxSyncDispatcher), to.id);
    const [message] = (await get(`/messages?subject=${subject}`, to)) as Message[];
    if (!message) throw new Error('no message');
    return message;
  }

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    application = await createApplication(server.app);
    ada = await account();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => server.close());

  it('are those that its invitation made, in the same form as events have, wherever the message is shown', async () => {
    const uid = randomUUID();
    const listed = await invite(ada, 'Kick-off', { uid, lines: ['SUMMARY:Planning'] });
    const [event] = listed.events;
    expect(event).toMatchObject({
      object: 'event',
      ical_uid: uid,
      title: 'Planning',
      message_id: listed.id,
    });
    expect(listed.events).toEqual([await get(`/events/${event?.id}`)]);

    const { id, thread_id: threadId } = listed;
    expect(await get(`/messages/${id}`)).toMatchObject({ events: [event] });
    expect(await get(`/messages/${id},${id}?view=expanded`)).toMatchObject([{ events: [event] }]);
    expect(await get('/messages/search?q=kick-off')).toMatchObject([{ id, events: [event] }]);
    expect(await get('/threads/search?q=kick-off&view=expanded')).toMatchObject([
      { messages: [{ id, events: [event] }] },
    ]);
    for (const threads of [
      await get(`/threads?thread_id=${threadId}&view=expanded`),
      [await get(`/threads/${threadId}?view=expanded`)],
    ])
      expect(threads).toMatchObject([{ messages: [{ id, events: [event] }] }]);
    const { deltas } = (await get('/delta?cursor=0&include_types=message')) as {
      deltas: { id: string; attributes: Message }[];
    };
    expect(deltas.find((delta) => delta.id === id)?.attributes.events).toEqual([event]);
    const changed = await request(server.url)
      .put(`/messages/${id}`)
      .set(ada.bearer)
      .send({ unread: false });
    expect(changed.body).toMatchObject({ id, events: [event] });
  });

  it('belong to every mail about the meeting that its organizer sent, in its current state', async () => {
    const uid = randomUUID();
    const first = await invite(ada, 'First', { uid, lines: ['SUMMARY:Draft'] });
    const second = await invite(ada, 'Second', { uid, lines: ['SEQUENCE:1', 'SUMMARY:Final'] });
    const forged = await invite(ada, 'Forged', { uid, lines: ['SEQUENCE:2'] }, 'eve@other.test');
    expect(second.events).toMatchObject([{ id: first.events[0]?.id, title: 'Final' }]);
    expect((await get(`/messages/${first.id}`)).events).toEqual(second.events);
    expect(forged.events).toEqual([]);

    const cancelled = await invite(ada, 'Cancelled', {
      uid,
      method: 'CANCEL',
      lines: ['SEQUENCE:3'],
    });
    expect(cancelled.events).toEqual([]);
    expect((await get(`/messages/${first.id}`)).events).toEqual([]);
  });

  it('include the changed instances of a series, and at most 25 events', async () => {
    const uid = randomUUID();
    const instance = (number: number) => {
      const day = String(number).padStart(2, '0');
      return [
        'BEGIN:VEVENT',
        `UID:${uid}`,
        'DTSTAMP:20260101T000000Z',
        `RECURRENCE-ID:203006${day}T100000Z`,
        `DTSTART:203006${day}T120000Z`,
        `DTEND:203006${day}T130000Z`,
        `ORGANIZER:mailto:${ORGANIZER}`,
        `ATTENDEE:mailto:${ada.email}`,
        `SUMMARY:Day ${day}`,
        'END:VEVENT',
      ];
    };
    const lines = ['SUMMARY:Daily', 'RRULE:FREQ=DAILY;COUNT=60'];
    const few = await invite(ada, 'Few', { uid, lines, more: instance(12) });
    expect(few.events.map(({ title }) => title)).toEqual(['Daily', 'Day 12']);
    const more = Array.from({ length: 28 }, (_, day) => instance(day + 3)).flat();
    const many = await invite(ada, 'Many', { uid, lines: [...lines, 'SEQUENCE:1'], more });
    expect(many.events).toHaveLength(25);
    expect(many.events.map(({ title }) => title)).toEqual(
      expect.arrayContaining(['Daily', 'Day 12']),
    );
  });

  it('are shown only to tokens that may read events', async () => {
    const uid = randomUUID();
    const reader = await account(['email.read_only', 'calendar.read_only']);
    const mailOnly = await account(['email', 'calendar.free_busy']);
    expect((await invite(reader, 'Shown', { uid })).events).toHaveLength(1);
    const { thread_id: threadId, events } = await invite(mailOnly, 'Hidden', { uid });
    expect(events).toEqual([]);
    expect(await get(`/threads/${threadId}?view=expanded`, mailOnly)).toMatchObject({
      messages: [{ events: [] }],
    });
  });

  it('are read with one statement for a page, and with none if no message has events', async () => {
    const bo = await account();
    await deliver(server, bo, ['Subject: Plain', '', 'Hello']);
    const messages = [
      await invite(bo, 'One', { uid: randomUUID() }),
      await invite(bo, 'Two', { uid: randomUUID() }),
    ];
    const asked = jest.spyOn(SqlPool.prototype, 'query');
    const reads = () =>
      asked.mock.calls.filter(
        ([text, values]) => text.includes('from event e') && values?.includes(bo.id),
      ).length;
    const listed = (await get('/messages', bo)) as Message[];
    expect(listed.filter(({ events }) => events.length === 1)).toHaveLength(messages.length);
    expect(reads()).toBe(1);
    await get('/threads?view=expanded', bo);
    expect(reads()).toBe(2);
    for (const path of ['/messages?subject=Plain', '/messages?view=ids', '/threads', '/drafts'])
      await get(path, bo);
    expect(reads()).toBe(2);
  });
});
