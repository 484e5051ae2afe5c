import { SchedulerRegistry } from '@nestjs/schedule';
import request from 'supertest';
import { registerSandbox, rowsOf, subscribe } from '../support/connect.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { type DeliveredEvent, undocumented } from '../support/delivered-events.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { ZoomServer } from '../support/zoom-server.ts';

const TEXTS = 5;
const REMINDERS = 8;
const MEETINGS = 2;
const now = () => Math.floor(Date.now() / 1000);
const people = (count: number, phone = '+15550100') =>
  Array.from({ length: count }, (_, index) => ({
    email: `p${index}@sandbox.test`,
    name: '',
    phone_number: phone,
  }));
const text = { type: 'sms', minutes_before_event: 10, message: 'Call me' };

interface Listed {
  status: string;
  reason: string | null;
}

describe("an access token used to spend the operator's money", () => {
  let server: TestApp;
  let zoom: ZoomServer;
  let receiver: Receiver;
  let application: TestApplication;
  let mallory: TestAccount;
  let calendarId: string;

  beforeAll(async () => {
    [server, zoom, receiver] = await Promise.all([
      startTestApp({
        QUOTA_ACCOUNT_SMS: String(TEXTS),
        QUOTA_ACCOUNT_REMINDERS: String(REMINDERS),
        QUOTA_ACCOUNT_MEETINGS: String(MEETINGS),
        QUOTA_EVENT_REMINDERS: '50',
        QUOTA_EVENT_SMS: '10',
        SMS_COUNTRIES: '',
      }),
      ZoomServer.start(),
      Receiver.start(),
    ]);
    for (const name of ['meetings', 'meetings without events'])
      server.app.get(SchedulerRegistry, { strict: false }).deleteCronJob(name);
  });
  beforeEach(async () => {
    receiver.received.length = 0;
    application = await createApplication(server.app, { features: ['sms'] });
    mallory = await createAccount(server.app, application);
    calendarId = (await call('post', '/calendars', { name: 'Team' })).body.id;
    await subscribe(server, application, ['quota.reached']);
  });
  afterAll(async () => {
    await server.close();
    await Promise.all([zoom.stop(), receiver.stop()]);
  });

  const call = (method: 'get' | 'post' | 'put', path: string, body?: object) =>
    request(server.url)[method](path).set(mallory.bearer).send(body);
  const event = (fields: object) =>
    call('post', '/events', { calendar_id: calendarId, when: { time: now() + 601 }, ...fields });
  const fates = async (ids: readonly string[]): Promise<Listed[]> => {
    const answers = await Promise.all(ids.map((id) => call('get', `/events/${id}/notifications`)));
    return answers.flatMap(({ body }) => body as Listed[]);
  };
  const settled = (ids: readonly string[]) =>
    until('the reminders to be settled', async () => {
      const all = await fates(ids);
      return all.every(({ status }) => status !== 'scheduled') && all;
    });
  const alerts = async () => {
    const rows = await rowsOf<{ body: Buffer }>(
      server,
      `select body from webhook_event where application_id = $1 and type = 'quota.reached'`,
      [application.id],
    );
    const events = rows.map(
      ({ body }) => (JSON.parse(body.toString()) as { deltas: [DeliveredEvent] }).deltas[0],
    );
    expect(undocumented(server, events)).toEqual([]);
    return events.map(({ object_data: { account_id, attributes } }) => {
      return { account_id, quota: attributes?.['quota'], per: attributes?.['per'] };
    });
  };

  it('sends no more texts than the quota allows when many events text one number, and each refusal is reported', async () => {
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        event({ participants: people(3), notifications: [text] }).expect(200),
      ),
    );
    const all = await settled(made.map(({ body }) => body.id));
    expect(all).toHaveLength(12);
    expect(all.filter(({ status }) => status === 'sent')).toHaveLength(TEXTS);
    const refused = all.filter(({ status }) => status === 'skipped');
    expect(refused).toHaveLength(12 - TEXTS);
    for (const { reason } of refused)
      expect(reason).toMatch(
        /^not sent: quota sms: the account has used the 5 text messages it may use in a day/,
      );
    const texts = await rowsOf(server, 'select from sms_message where account_id = $1', [
      mallory.id,
    ]);
    expect(texts).toHaveLength(TEXTS);
    expect(await alerts()).toEqual([{ account_id: mallory.id, quota: 'sms', per: 'account' }]);
  });

  it('posts no more webhook reminders to a foreign address than the quota allows', async () => {
    const url = `${receiver.origin}/victim`;
    const hook = { type: 'webhook', minutes_before_event: 10, url, payload: '{}' };
    const notifications = Array.from({ length: 20 }, (_, index) => ({
      ...hook,
      payload: `{"n":${index}}`,
    }));
    const { body } = await event({ notifications }).expect(200);
    const all = await settled([body.id]);
    expect(all.filter(({ status }) => status === 'sent')).toHaveLength(REMINDERS);
    expect(all.filter(({ status }) => status === 'skipped')).toHaveLength(20 - REMINDERS);
    expect(receiver.received).toHaveLength(REMINDERS);
  });

  it('cannot get a refused reminder sent by changing the event', async () => {
    const spend = await event({ participants: people(TEXTS), notifications: [text] }).expect(200);
    await settled([spend.body.id]);
    const more = await event({ participants: people(1), notifications: [text] }).expect(200);
    await settled([more.body.id]);
    await call('put', `/events/${more.body.id}`, { participants: people(2) }).expect(200);
    const all = await settled([more.body.id]);
    expect(all.map(({ status }) => status)).toEqual(['skipped', 'skipped']);
    expect(await alerts()).toHaveLength(1);
  });

  it('cannot create an event with more texts or reminders than allowed, and nothing is stored', async () => {
    const texts = await event({ participants: people(11), notifications: [text] });
    expect(texts.status).toBe(400);
    expect(texts.body.message).toMatch(
      /^notifications: .* 11 text messages; at most 10 are allowed/,
    );
    const mail = { type: 'email', minutes_before_event: 10, subject: '', body: '' };
    const mails = await event({
      participants: people(26),
      notifications: [mail, { ...mail, minutes_before_event: 20 }],
    });
    expect(mails.status).toBe(400);
    expect(mails.body.message).toMatch(/^notifications: .* 52 reminders; at most 50 are allowed/);
    expect(
      await rowsOf(server, 'select from reminder where account_id = $1', [mallory.id]),
    ).toEqual([]);
  });

  it('cannot exceed the limits per event by changing an event', async () => {
    const { body } = await event({ participants: people(2), notifications: [text] }).expect(200);
    const grown = await call('put', `/events/${body.id}`, { participants: people(11) });
    expect(grown.status).toBe(400);
    expect((await call('get', `/events/${body.id}`)).body.participants).toHaveLength(2);
  });

  it.each([
    ['+499001234567', /premium-rate/],
    ['+19002345678', /premium-rate/],
    ['+979123456789', /premium-rate/],
    ['+8816512345678', /satellites/],
    ['+8821612345678', /satellites/],
    ['+883510012345678', /satellites/],
  ])(
    'cannot create an event that would text %s, which is costlier than any number of a country',
    async (phone, reason) => {
      const answer = await event({ participants: people(1, phone), notifications: [text] });
      expect(answer.status).toBe(400);
      expect(answer.body.message).toMatch(/^participants: the phone_number of p0@sandbox.test /);
      expect(answer.body.message).toMatch(reason);
    },
  );

  it('gets no more meetings than the quota allows, and later requests get 429', async () => {
    await request(server.url)
      .put(`/a/${application.clientId}/conferencing`)
      .set(application.secretBasic)
      .send({ provider: 'Zoom Meeting', kind: 'zoom', settings: zoom.settings })
      .expect(200);
    const conferencing = { provider: 'Zoom Meeting', autocreate: {} };
    const made = await Promise.all(Array.from({ length: 5 }, () => event({ conferencing })));
    const accepted = made.filter(({ status }) => status === 200);
    expect(accepted.length).toBeGreaterThanOrEqual(MEETINGS);
    const jobs: { status: string; reason?: string }[] = await until('the jobs to end', async () => {
      const answers = await Promise.all(
        accepted.map(({ body }) => call('get', `/job-statuses/${body.job_status_id}`)),
      );
      return (
        answers.every(({ body }) => ['successful', 'failed'].includes(body.status)) &&
        answers.map(({ body }) => body)
      );
    });
    expect(jobs.filter(({ status }) => status === 'successful')).toHaveLength(MEETINGS);
    for (const { reason } of jobs.filter(({ status }) => status === 'failed'))
      expect(reason).toMatch(
        /the meeting was not made: quota meetings: the account has used the 2 online meetings/,
      );
    expect(zoom.meetings.size).toBe(MEETINGS);
    const late = await event({ conferencing });
    expect(late.status).toBe(429);
    expect(late.body.message).toMatch(/^conferencing.autocreate: quota meetings:/);
    expect(Number(late.headers['retry-after'])).toBeGreaterThan(0);
    expect(zoom.meetings.size).toBe(MEETINGS);
    expect(await alerts()).toEqual([{ account_id: mallory.id, quota: 'meetings', per: 'account' }]);
  });
});

describe('a server whose operator restricts texts to certain countries', () => {
  let server: TestApp;
  afterAll(() => server.close());

  it('refuses an event that would text a number of another country, and names the country', async () => {
    server = await startTestApp({ SMS_COUNTRIES: 'de, us' });
    const application = await createApplication(server.app, { features: ['sms'] });
    const ada = await createAccount(server.app, application);
    const post = (path: string, body: object) =>
      request(server.url).post(path).set(ada.bearer).send(body);
    const { id } = (await post('/calendars', { name: 'Team' })).body;
    const event = (phone: string) =>
      post('/events', {
        calendar_id: id,
        when: { time: now() + 86_400 },
        participants: people(1, phone),
        notifications: [text],
      });
    await event('+4915112345678').expect(200);
    const refused = await event('+18762345678').expect(400);
    expect(refused.body.message).toMatch(
      /it belongs to JM; this server sends texts to DE, US only/,
    );
  });
});

describe('a server with limits on what is stored', () => {
  let server: TestApp;
  let receiver: Receiver;
  let application: TestApplication;
  let mallory: TestAccount;

  beforeAll(async () => {
    receiver = await Receiver.start();
    server = await startTestApp({
      ROLES: 'api',
      QUOTA_APPLICATION_WEBHOOKS: '2',
      QUOTA_ACCOUNT_DRAFTS: '2',
      QUOTA_ACCOUNT_TOKENS: '2',
    });
  });
  beforeEach(async () => {
    application = await createApplication(server.app);
    mallory = await createAccount(server.app, application);
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const post = (path: string, headers: Record<string, string>, body: object) =>
    request(server.url).post(path).set(headers).send(body);

  it('refuses another webhook of an application, until one is deleted', async () => {
    const path = `/a/${application.clientId}/webhooks`;
    const create = (name: string) =>
      post(path, application.secretBasic, {
        callback_url: `${receiver.origin}/${name}`,
        triggers: ['message.created'],
        state: 'inactive',
      });
    const first = await create('a').expect(200);
    await create('b').expect(200);
    const refused = await create('c').expect(409);
    expect(refused.body.message).toBe(
      'webhooks of this application: there are 2 already, the most that this server allows (QUOTA_APPLICATION_WEBHOOKS): delete one first',
    );
    const other = await createApplication(server.app);
    await post(`/a/${other.clientId}/webhooks`, other.secretBasic, {
      callback_url: `${receiver.origin}/c`,
      triggers: ['message.created'],
      state: 'inactive',
    }).expect(200);
    await request(server.url)
      .delete(`${path}/${first.body.id}`)
      .set(application.secretBasic)
      .expect(200);
    await create('c').expect(200);
  });

  it('refuses another draft of an account, and still lets drafts be changed', async () => {
    const create = () => post('/drafts', mallory.bearer, { subject: 'Later' });
    const first = await create().expect(200);
    await create().expect(200);
    const refused = await create().expect(409);
    expect(refused.body.message).toContain('QUOTA_ACCOUNT_DRAFTS');
    await request(server.url)
      .put(`/drafts/${first.body.id}`)
      .set(mallory.bearer)
      .send({ subject: 'Sooner', version: first.body.version })
      .expect(200);
    const { body } = await request(server.url).get('/drafts?view=ids').set(mallory.bearer);
    expect(body).toHaveLength(2);
  });

  it('refuses another token of an account, but no sign-in, which ends the token that was unused for longest', async () => {
    await registerSandbox(server, application);
    const signIn = async () => {
      const { body } = await post('/connect/grants', application.basic, {
        provider: 'sandbox',
        settings: { email: 'eve@sandbox.test', password: 'x' },
      }).expect(200);
      return body.data as { id: string; access_token: string };
    };
    const works = async ({ access_token: token }: { access_token: string }) =>
      (await request(server.url).get('/account').set('authorization', `Bearer ${token}`)).status;
    const first = await signIn();
    const second = await signIn();
    const refused = await post(`/connect/grants/${first.id}/tokens`, application.basic, {});
    expect(refused.status).toBe(409);
    expect(JSON.stringify(refused.body)).toContain('QUOTA_ACCOUNT_TOKENS');
    const third = await signIn();
    expect(await Promise.all([first, second, third].map(works))).toEqual([401, 200, 200]);
  });
});
