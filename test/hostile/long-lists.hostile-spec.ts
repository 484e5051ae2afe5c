import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { rowsOf } from '../support/connect.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** Messages from a sender who has written to 6,000 people each time. */
const FILL = `
  insert into message (id, account_id, thread_id, date, from_addresses, to_addresses, cc_addresses, bcc_addresses,
    reply_to_addresses, unread, starred, draft, deleting, has_attachments, metadata, reference_ids, subject, snippet, participants)
  select gen_random_uuid(), $1, $2, now(), a.people, a.people, a.people, '[]', '[]',
    true, false, false, false, false, '{}', '{}', 'x', 'x', '{}'
  from generate_series(1, 60),
    (select jsonb_agg(jsonb_build_object('email', 'someone' || n || '@example.test', 'name', 'Someone ' || n)) as people
     from generate_series(1, 2000) n) a`;

describe('lists of messages with thousands of recipients', () => {
  let server: TestApp;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({ ROLES: 'api' });
    ada = await createAccount(server.app, await createApplication(server.app));
    const thread = newId();
    const now = new Date();
    await rowsOf(
      server,
      `insert into thread (id, account_id, subject, first_message_at, last_message_at, message_count)
       values ($1, $2, 'x', $3, $3, 60)`,
      [thread, ada.id, now],
    );
    await rowsOf(
      server,
      `insert into thread_summary (thread_id, people, message_ids, snippet, has_attachments, length)
       values ($1, '[]', '{}', '', false, 100)`,
      [thread],
    );
    await rowsOf(server, FILL, [ada.id, thread]);
  });
  afterAll(() => server.close());

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);

  it('are refused if all addresses together would take too much memory, and returned in smaller pages', async () => {
    const { status, body } = await get('/messages');
    expect({ status, message: (body as { message: string }).message }).toEqual({
      status: 400,
      message: 'The requested items are longer than 32 MB together: request fewer at a time',
    });
    const few = await get('/messages?limit=20').expect(200);
    expect(few.body).toHaveLength(20);
    expect((few.body as { to: unknown[] }[])[0]?.to).toHaveLength(2_000);
    expect((await get('/messages?view=ids').expect(200)).body).toHaveLength(60);
  });

  it('are returned whole for a single thread, however many addresses its messages have', async () => {
    const { body } = await get('/threads?view=expanded').expect(200);
    expect((body as { messages: unknown[] }[])[0]?.messages).toHaveLength(60);
  });

  it('are refused if the instances of one series repeat a long description too often', async () => {
    const start = 1_900_000_000;
    const calendar = await request(server.url)
      .post('/calendars')
      .set(ada.bearer)
      .send({ name: 'Work' })
      .expect(200);
    const { body } = await request(server.url)
      .post('/events')
      .set(ada.bearer)
      .send({
        calendar_id: (calendar.body as { id: string }).id,
        title: 'Daily',
        when: { start_time: start, end_time: start + 600 },
        recurrence: { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' },
      })
      .expect(200);
    // As long as the file of a mailed invitation may be.
    await rowsOf(server, `update event set description = repeat('d', 490000) where id = $1`, [
      (body as { id: string }).id,
    ]);
    const list = (limit: number) =>
      get(
        `/events?expand_recurring=true&starts_after=${start - 1}&ends_before=${start + 86_400 * 300}&limit=${limit}`,
      );
    expect((await list(200)).status).toBe(400);
    expect((await list(50).expect(200)).body).toHaveLength(50);
    expect((await list(200).query({ view: 'ids' }).expect(200)).body).toHaveLength(200);
  });
});
