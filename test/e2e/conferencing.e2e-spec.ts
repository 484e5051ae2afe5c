import { SchedulerRegistry } from '@nestjs/schedule';
import request from 'supertest';
import { Signals } from '../../src/platform/work/signals.ts';
import { MeetingUpkeep } from '../../src/calendar/conferencing/meeting-upkeep.ts';
import { rowsOf, subscribe } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { ZoomServer } from '../support/zoom-server.ts';

const START = 1_900_000_000;
const TEMPLATE = 'https://meet.example.test/{room}';
const POST_MEETING = 'POST /v2/users/me/meetings';

interface EventView {
  id: string;
  job_status_id: string;
  status: string;
  conferencing: {
    provider: string;
    details?: { url?: string; meeting_code?: string };
    autocreate?: object;
  } | null;
}

describe('conferencing', () => {
  let server: TestApp;
  let zoom: ZoomServer;
  let application: TestApplication;
  let ada: TestAccount;
  let calendarId: string;

  beforeAll(async () => {
    [server, zoom] = await Promise.all([startTestApp(), ZoomServer.start()]);
    // The upkeep of meetings must run only when a test starts it.
    for (const name of ['meetings', 'meetings without events'])
      server.app.get(SchedulerRegistry, { strict: false }).deleteCronJob(name);
  });
  afterAll(async () => {
    await server.close();
    await zoom.stop();
  });
  beforeEach(async () => {
    zoom.reset();
    application = await createApplication(server.app);
    ada = await createAccount(server.app, application, { name: 'Ada' });
    calendarId = (await call('post', '/calendars').send({ name: 'Team' })).body.id;
  });

  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string) =>
    request(server.url)[method](path).set(ada.bearer);
  const services = (method: 'get' | 'put' | 'delete', id = '', owner = application) =>
    request(server.url)
      [method](`/a/${application.clientId}/conferencing${id && `/${id}`}`)
      .set(owner.secretBasic);
  const setUp = (body: object) => services('put').send(body);
  const setUpLink = (provider = 'Google Meet') =>
    setUp({ provider, kind: 'link', settings: { url_template: TEMPLATE } }).expect(200);
  const setUpZoom = (change: object = {}) =>
    setUp({ provider: 'Zoom Meeting', kind: 'zoom', settings: { ...zoom.settings, ...change } });
  const post = (conferencing: object, fields: object = {}) =>
    call('post', '/events').send({
      calendar_id: calendarId,
      title: 'Review',
      when: {
        start_time: START,
        end_time: START + 5400,
        start_timezone: 'Europe/Berlin',
        end_timezone: 'Europe/Berlin',
      },
      conferencing,
      ...fields,
    });
  const create = async (
    provider: string,
    settings: object = {},
    fields: object = {},
  ): Promise<EventView> => {
    const answer = await post({ provider, autocreate: { settings } }, fields);
    expect(answer.status).toBe(200);
    expect(answer.body.conferencing).toEqual({ provider, autocreate: { settings } });
    return answer.body as EventView;
  };
  const read = async ({ id }: { id: string }): Promise<EventView> =>
    (await call('get', `/events/${id}`)).body;
  /** The status and reason of a job, as soon as its status is no longer `from`. */
  const outcome = (id: string, from = 'pending') =>
    until(`job ${id}`, async () => {
      const { body } = await call('get', `/job-statuses/${id}`);
      return body.status !== from && (body as { status: string; reason?: string });
    });
  const successful = async (event: EventView) => {
    expect(await outcome(event.job_status_id)).toMatchObject({ status: 'successful' });
    return read(event);
  };
  const runNow = async (id: string) => {
    await rowsOf(server, 'update provider_job set run_at = now() where id = $1', [id]);
    server.app.get(Signals).wake('provider');
    return outcome(id, 'delayed');
  };
  const put = async (event: EventView, body: object): Promise<EventView> => {
    const answer = await call('put', `/events/${event.id}`).send(body);
    expect(answer.status).toBe(200);
    return answer.body as EventView;
  };
  /** The event as the calendar's provider stores it. */
  const atProvider = async ({ id }: EventView) => {
    const [row] = await rowsOf<{ data: Record<string, unknown> }>(
      server,
      'select s.data from sandbox_event s join event e on e.provider_id = s.id::text where e.id = $1',
      [id],
    );
    return row?.data;
  };
  const runUpkeep = async () => {
    await server.app.get(MeetingUpkeep).reconcile();
    await server.app.get(MeetingUpkeep).run();
  };
  const meetings = () => [...zoom.meetings.values()];

  describe('services of an application', () => {
    it('are set up, shown without secrets, listed, replaced and deleted', async () => {
      await setUpLink();
      const shown = await setUpZoom().expect(200);
      expect(shown.body).toMatchObject({
        provider: 'Zoom Meeting',
        kind: 'zoom',
        last_error: null,
      });
      expect(shown.body.settings).toEqual({
        account_id: 'acc',
        client_id: 'cid',
        user: 'me',
        base_url: zoom.origin,
        token_url: `${zoom.origin}/oauth/token`,
      });
      const listed = await services('get');
      expect(listed.body.map(({ provider }: { provider: string }) => provider)).toEqual([
        'Google Meet',
        'Zoom Meeting',
      ]);
      expect(listed.text).not.toContain('zoom-secret');
      const replaced = await setUpLink('Zoom Meeting');
      expect(replaced.body).toMatchObject({ id: shown.body.id, kind: 'link' });
      expect((await services('get', shown.body.id)).body).toEqual(replaced.body);
      expect((await services('delete', shown.body.id)).body).toEqual({ success: true });
      await services('get', shown.body.id).expect(404);
      await services('delete', shown.body.id).expect(404);
      expect((await services('get')).body).toHaveLength(1);
    });

    it.each([
      ['an unknown name', 'Skype', { kind: 'link', settings: { url_template: TEMPLATE } }, 400, 'provider'],
      ['an unknown kind', 'WebEx', { kind: 'webex', settings: {} }, 400, 'kind'],
      ['Zoom under another name', 'WebEx', { kind: 'zoom', settings: {} }, 400, 'kind: zoom supports Zoom Meeting only'],
      ['no template', 'WebEx', { kind: 'link', settings: {} }, 400, 'settings.url_template'],
      ['a template without {room}', 'WebEx', { kind: 'link', settings: { url_template: 'https://a.test/x' } }, 400, '{room}'],
      ['{room} in the host', 'WebEx', { kind: 'link', settings: { url_template: 'https://{room}.a.test/x' } }, 400, 'after the host'],
      ['{room} in the host and no path after it', 'WebEx', { kind: 'link', settings: { url_template: 'https://{room}.a.test' } }, 400, 'after the host'],
      ['a javascript: template', 'WebEx', { kind: 'link', settings: { url_template: 'javascript:{room}' } }, 400, 'https'],
      ['unknown settings', 'WebEx', { kind: 'link', settings: { url_template: TEMPLATE, surprise: 1 } }, 400, 'settings'],
      ['Zoom without credentials', 'Zoom Meeting', { kind: 'zoom', settings: {} }, 400, 'settings.account_id'],
      ['a Zoom address in the private network', 'Zoom Meeting', { kind: 'zoom', settings: { account_id: 'a', client_id: 'b', client_secret: 'c', base_url: 'https://169.254.169.254' } }, 400, 'public'],
    ])('are not stored with %s', async (_, provider, body, status, words) => {
      const refused = await setUp({ provider, ...body });
      expect([refused.status, refused.body.message]).toEqual([status, expect.stringContaining(words)]);
      expect((await services('get')).body).toEqual([]);
    }); // oxfmt-ignore

    it('are verified first, with 400 if Zoom refuses the credentials and 503 if Zoom does not respond', async () => {
      const refused = await setUpZoom({ client_secret: 'wrong-secret' });
      expect([refused.status, refused.body.message]).toEqual([
        400,
        expect.stringContaining('Invalid client_id'),
      ]);
      expect(refused.text).not.toContain('wrong-secret');
      zoom.refuse('POST /oauth/token', 500, {});
      await setUpZoom().expect(503);
    });

    it('can be managed only with the credentials of their application', async () => {
      const other = await createApplication(server.app);
      await setUpLink();
      await services('get', '', other).expect(401);
      await request(server.url)
        .get(`/a/${application.clientId}/conferencing`)
        .set(ada.bearer)
        .expect(401);
    });
  });

  describe('a meeting of kind "link"', () => {
    it('has a template address without spaces, quotes and line breaks', async () => {
      const template = 'https://Meet.example.test/a b"\n<c>/{room}?x=1#ä';
      const shown = await setUp({
        provider: 'Google Meet',
        kind: 'link',
        settings: { url_template: template },
      });
      expect(shown.body.settings.url_template).toBe(
        'https://meet.example.test/a%20b%22%3Cc%3E/{room}?x=1#%C3%A4',
      );
    });

    it("gets an unguessable room, sends a webhook, and is written to the provider's calendar", async () => {
      await setUpLink();
      await subscribe(server, application, ['event.updated']);
      const event = await successful(await create('Google Meet'));
      expect(event.conferencing).toEqual({
        provider: 'Google Meet',
        details: {
          url: expect.stringMatching(/^https:\/\/meet\.example\.test\/[0-9a-z]{25}$/),
          meeting_code: expect.any(String),
        },
      });
      expect(await atProvider(event)).toMatchObject({
        title: 'Review',
        conferencing: event.conferencing,
      });
      const webhookEvents = await rowsOf(
        server,
        'select type from webhook_event where application_id = $1',
        [application.id],
      );
      expect(webhookEvents).toEqual([{ type: 'event.updated' }]);
      const other = await successful(await create('Google Meet'));
      expect(other.conferencing?.details?.url).not.toBe(event.conferencing?.details?.url);
    });

    it('keeps its address after every change, even when clients send back what they have read', async () => {
      await setUpLink();
      const event = await successful(await create('Google Meet'));
      for (const body of [
        { title: 'Moved', when: { time: START } },
        { conferencing: event.conferencing },
        { conferencing: { provider: 'Google Meet', autocreate: { settings: {} } } },
      ]) {
        const changed = await put(event, body);
        expect(changed.conferencing).toEqual(event.conferencing);
        const stored = changed.job_status_id ? await successful(changed) : await read(changed);
        expect(stored.conferencing).toEqual(event.conferencing);
      }
      await runUpkeep();
      const kept = await rowsOf(server, 'select released from event_meeting where event_id = $1', [
        event.id,
      ]);
      expect(kept).toEqual([{ released: false }]);
    });

    it('is created for an event that asks for one later', async () => {
      await setUpLink();
      const plain = await post({
        provider: 'WebEx',
        details: { url: 'https://webex.example.test/1' },
      });
      const changed = await put(plain.body, {
        conferencing: { provider: 'Google Meet', autocreate: {} },
      });
      expect(changed.conferencing).toEqual({
        provider: 'Google Meet',
        autocreate: { settings: {} },
      });
      expect((await successful(changed)).conferencing?.details?.url).toContain('meet.example.test');
    });
  });

  describe('a Zoom meeting', () => {
    it("is created with the event's title and time and the requested settings", async () => {
      await setUpZoom().expect(200);
      const settings = {
        password: 'Pw_1',
        settings: { mute_upon_entry: true, waiting_room: false },
      };
      const event = await successful(await create('Zoom Meeting', settings));
      const [meeting] = meetings();
      expect(meeting).toMatchObject({
        user: 'me',
        topic: 'Review',
        type: 2,
        start_time: '2030-03-17T17:46:40Z',
        duration: 90,
        timezone: 'Europe/Berlin',
        ...settings,
      });
      expect(event.conferencing).toEqual({
        provider: 'Zoom Meeting',
        details: {
          url: `https://zoom.example.test/j/${meeting?.id}?pwd=Pw_1`,
          meeting_code: String(meeting?.id),
          password: 'Pw_1',
          phone: ['+49 69 1234567'],
        },
      });
      expect(await atProvider(event)).toMatchObject({ conferencing: event.conferencing });
      expect(zoom.countOf('POST /oauth/token')).toBe(1);
    });

    it('follows the title, time and settings of its event, and is deleted with the event', async () => {
      await setUpZoom().expect(200);
      const event = await successful(await create('Zoom Meeting'));
      const moved = await successful(
        await put(event, { title: 'Moved', when: { time: START + 60 } }),
      );
      expect(moved.conferencing).toEqual(event.conferencing);
      expect(meetings()).toMatchObject([
        { topic: 'Moved', start_time: '2030-03-17T17:47:40Z', duration: 60 },
      ]);
      await successful(await put(event, { description: 'Nothing Zoom has to know' }));
      expect(zoom.countOf('PATCH')).toBe(1);
      const autocreate = { settings: { password: 'other' } };
      const secured = await successful(
        await put(event, { conferencing: { provider: 'Zoom Meeting', autocreate } }),
      );
      expect(secured.conferencing?.details).toMatchObject({
        password: 'other',
        url: expect.stringContaining('=other'),
      });
      expect(await atProvider(event)).toMatchObject({ conferencing: secured.conferencing });
      const deleted = await call('delete', `/events/${event.id}`);
      expect((await outcome(deleted.body.job_status_id)).status).toBe('successful');
      await server.app.get(MeetingUpkeep).run();
      expect(meetings()).toEqual([]);
      expect(
        await rowsOf(server, 'select 1 from event_meeting where event_id = $1', [event.id]),
      ).toEqual([]);
    });

    it.each([
      ['recurs', { recurrence: { rrule: ['RRULE:FREQ=DAILY;COUNT=3'], timezone: 'UTC' } }],
      ['lasts all day', { when: { date: '2030-03-17' } }],
    ])('has one address and no start time for an event that %s', async (_, fields) => {
      await setUpZoom({ user: '{email}' }).expect(200);
      await successful(await create('Zoom Meeting', {}, fields));
      expect(meetings()).toMatchObject([{ type: 3, user: ada.email }]);
      expect(meetings()[0]).not.toHaveProperty('start_time');
    });

    it('is never created for an address that is not proven to belong to the account', async () => {
      await setUpZoom({ user: '{email}' }).expect(200);
      await rowsOf(server, 'update "grant" set proof = null where id = $1', [ada.id]);
      const event = await create('Zoom Meeting');
      expect(await outcome(event.job_status_id)).toMatchObject({
        status: 'failed',
        reason: expect.stringContaining(
          'the address of this account is not proven to belong to its mailbox',
        ),
      });
      expect(meetings()).toEqual([]);
      expect(zoom.countOf(POST_MEETING)).toBe(0);
    });

    it('is not created twice when the response to its creation is lost', async () => {
      await setUpZoom().expect(200);
      zoom.loseResponse(POST_MEETING);
      const event = await create('Zoom Meeting');
      expect(await outcome(event.job_status_id)).toMatchObject({ status: 'delayed' });
      // The provider write of the event did not wait for the meeting.
      expect(await atProvider(event)).toMatchObject({ title: 'Review', conferencing: null });
      expect(await runNow(event.job_status_id)).toMatchObject({ status: 'successful' });
      expect([zoom.countOf(POST_MEETING), meetings().length]).toEqual([1, 1]);
      expect((await read(event)).conferencing?.details?.url).toContain(String(meetings()[0]?.id));
    });

    it("fails the job with Zoom's error text if Zoom refuses it, and is created by a later change", async () => {
      await setUpZoom().expect(200);
      const event = await create('Zoom Meeting', { settings: { bad: true } });
      expect(await outcome(event.job_status_id)).toMatchObject({
        status: 'failed',
        reason: 'Zoom: 400 Validation Failed. (code 300)',
      });
      expect(await atProvider(event)).toMatchObject({ title: 'Review' });
      expect(await read(event)).toMatchObject({
        status: 'confirmed',
        conferencing: event.conferencing,
      });
      const repaired = await put(event, {
        conferencing: { provider: 'Zoom Meeting', autocreate: {} },
      });
      expect((await successful(repaired)).conferencing?.details).toBeDefined();
      expect(meetings()).toHaveLength(1);
    });

    it('is delayed until the owner corrects refused Zoom credentials, while the account keeps running', async () => {
      await setUpZoom().expect(200);
      zoom.secret = 'rotated';
      zoom.expireTokens();
      const event = await create('Zoom Meeting');
      const { status, reason } = await outcome(event.job_status_id);
      expect([status, reason]).toEqual([
        'delayed',
        expect.stringContaining('refused its credentials'),
      ]);
      expect((await services('get')).body[0].last_error).toContain('Invalid client_id');
      expect((await call('get', '/account')).body.sync_state).toBe('running');
      await setUpZoom().expect(200);
      expect((await runNow(event.job_status_id)).status).toBe('successful');
      expect((await services('get')).body[0].last_error).toBeNull();
    });

    it('is created with a new Zoom token when the first has expired', async () => {
      await setUpZoom().expect(200);
      zoom.expireTokens();
      await successful(await create('Zoom Meeting'));
      expect([zoom.countOf('POST /oauth/token'), meetings().length]).toEqual([2, 1]);
    });

    it.each([
      [429, { code: 429, message: 'You have exceeded the limit.' }, 'delayed'],
      [500, {}, 'delayed'],
      [404, { code: 1001, message: 'User does not exist: me.' }, 'failed'],
      [200, { nothing: 'of use' }, 'delayed'],
    ])('gets the response %s %j from Zoom, and its job is %s', async (status, body, expected) => {
      await setUpZoom().expect(200);
      zoom.refuse(POST_MEETING, status, body);
      const event = await create('Zoom Meeting');
      expect((await outcome(event.job_status_id)).status).toBe(expected);
    });

    it('is shown without characters that are not allowed in the database, in addresses or in calendars', async () => {
      await setUpZoom().expect(200);
      zoom.refuse(POST_MEETING, 201, {
        id: '1\0',
        join_url: 'https://zoom.example.test/j/1?pwd=a\0"\nb',
        password: 'p\0\ud800',
        settings: { global_dial_in_numbers: [{ number: '+49\0' }] },
      });
      const event = await successful(await create('Zoom Meeting'));
      expect(event.conferencing?.details).toEqual({
        url: 'https://zoom.example.test/j/1?pwd=a%00%22b',
        meeting_code: '1',
        password: 'p\ufffd',
        phone: ['+49'],
      });
    });

    it('is created again if a person deleted it at Zoom and the event then changes', async () => {
      await setUpZoom().expect(200);
      const event = await successful(await create('Zoom Meeting'));
      zoom.meetings.clear();
      const moved = await successful(await put(event, { title: 'Moved' }));
      expect(meetings()).toMatchObject([{ topic: 'Moved' }]);
      expect(moved.conferencing?.details?.url).toContain(String(meetings()[0]?.id));
    });

    it('is deleted when the event gets other meeting details, and when its calendar is deleted', async () => {
      await setUpZoom().expect(200);
      const first = await successful(await create('Zoom Meeting'));
      const second = await successful(await create('Zoom Meeting'));
      const details = { url: 'https://zoom.example.test/j/mine' };
      const replaced = await successful(
        await put(first, { conferencing: { provider: 'Zoom Meeting', details } }),
      );
      expect(replaced.conferencing).toEqual({ provider: 'Zoom Meeting', details });
      await runUpkeep();
      expect(meetings().map(({ id }) => String(id))).toEqual([
        second.conferencing?.details?.meeting_code,
      ]);
      const gone = await call('delete', `/calendars/${calendarId}`);
      expect((await outcome(gone.body.job_status_id)).status).toBe('successful');
      zoom.refuse('DELETE', 500, {});
      await runUpkeep();
      expect(meetings()).toHaveLength(1);
      await rowsOf(server, 'update event_meeting set due_at = now() where due_at is not null');
      await server.app.get(MeetingUpkeep).run();
      expect(meetings()).toEqual([]);
    });

    it("follows an event that was changed at the calendar's provider", async () => {
      await setUpZoom().expect(200);
      const event = await successful(await create('Zoom Meeting'));
      await rowsOf(
        server,
        `update event set title = 'From elsewhere', version = version + 1, provider_version = version + 1 where id = $1`,
        [event.id],
      );
      await runUpkeep();
      expect(meetings()).toMatchObject([{ topic: 'From elsewhere' }]);
      await runUpkeep();
      expect(zoom.countOf('PATCH')).toBe(1);
    });

    it('is not updated again after a failed update until its event changes again', async () => {
      await setUpZoom().expect(200);
      const event = await successful(await create('Zoom Meeting'));
      const changedElsewhere = () =>
        rowsOf(
          server,
          `update event set title = title || '!', version = version + 1, provider_version = version + 1 where id = $1`,
          [event.id],
        );
      zoom.meetings.clear();
      await changedElsewhere();
      await runUpkeep();
      await runUpkeep();
      expect(zoom.countOf('PATCH')).toBe(1);
      await changedElsewhere();
      await runUpkeep();
      expect(zoom.countOf('PATCH')).toBe(2);
      // The provider is now of kind "link", so there is nothing to update at Zoom.
      await setUpLink('Zoom Meeting');
      await changedElsewhere();
      await runUpkeep();
      expect(
        await rowsOf(server, 'select attempts, due_at from event_meeting where event_id = $1', [
          event.id,
        ]),
      ).toEqual([{ attempts: 0, due_at: null }]);
      expect((await read(event)).conferencing).toEqual(event.conferencing);
    });

    it('is updated even if the update of another meeting fails', async () => {
      await setUpZoom().expect(200);
      const [broken, other] = [
        await successful(await create('Zoom Meeting')),
        await successful(await create('Zoom Meeting')),
      ];
      for (const { id } of [broken, other])
        await rowsOf(
          server,
          `update event set title = 'New', version = version + 1, provider_version = version + 1 where id = $1`,
          [id],
        );
      await rowsOf(server, `update event set autocreate = autocreate - 'settings' where id = $1`, [
        broken.id,
      ]);
      await server.app.get(MeetingUpkeep).reconcile();
      await server.app.get(MeetingUpkeep).run();
      expect(meetings().map(({ topic }) => topic)).toContain('New');
    });

    it('fails its job if its service was deleted in the meantime', async () => {
      const { id } = (await setUpZoom().expect(200)).body as { id: string };
      zoom.refuse(POST_MEETING, 500, {});
      const event = await create('Zoom Meeting');
      await outcome(event.job_status_id);
      await services('delete', id).expect(200);
      expect(await runNow(event.job_status_id)).toMatchObject({
        status: 'failed',
        reason: 'No conferencing service is set up for Zoom Meeting',
      });
    });
  });

  it.each([
    [
      'both details and autocreate',
      { provider: 'Google Meet', details: { url: 'https://x.test' }, autocreate: {} },
      'cannot be used together',
    ],
    [
      'neither details nor autocreate',
      { provider: 'Google Meet' },
      'details or autocreate is required',
    ],
    [
      'a provider that has not been set up',
      { provider: 'WebEx', autocreate: {} },
      'no conferencing service is set up for WebEx',
    ],
    [
      'an unknown provider name',
      { provider: 'Jitsi', autocreate: {} },
      'must be one of Zoom Meeting',
    ],
    [
      'settings for a meeting of kind "link"',
      { provider: 'Google Meet', autocreate: { settings: { password: 'x' } } },
      'no settings',
    ],
    [
      'a long password',
      { provider: 'Zoom Meeting', autocreate: { settings: { password: 'x'.repeat(11) } } },
      'autocreate.settings.password',
    ],
    [
      'nested settings',
      { provider: 'Zoom Meeting', autocreate: { settings: { settings: { a: { b: 1 } } } } },
      'autocreate.settings.settings.a',
    ],
    [
      'settings that are a string',
      { provider: 'Zoom Meeting', autocreate: { settings: 'x' } },
      'autocreate.settings',
    ],
    [
      'settings that are too long',
      { provider: 'Zoom Meeting', autocreate: { settings: { x: 'y'.repeat(9000) } } },
      'autocreate.settings',
    ],
  ])('refuses an event with %s', async (_, conferencing, words) => {
    await setUpLink();
    await setUpZoom().expect(200);
    const refused = await post(conferencing);
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(words)]);
  });
});
