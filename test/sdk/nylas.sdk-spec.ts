import Nylas from 'nylas';
import calendarModule from 'nylas/lib/models/calendar.js';
import draftModule from 'nylas/lib/models/draft.js';
import eventNotificationModule from 'nylas/lib/models/event-notification.js';
import eventModule from 'nylas/lib/models/event.js';
import notificationModule from 'nylas/lib/models/webhook-notification.js';
import webhookModule from 'nylas/lib/models/webhook.js';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { Receiver } from '../support/receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const { default: Calendar } = calendarModule;
const { default: Draft } = draftModule;
const { default: Event } = eventModule;
const { EventNotificationType } = eventNotificationModule;
const { default: Webhook } = webhookModule;
const { default: WebhookNotification } = notificationModule;

/** Runs the unchanged official Node client against a running server. */
describe('nylas@6.11.1', () => {
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;
  let receiver: Receiver;
  let nylas: ReturnType<typeof Nylas.with>;

  beforeAll(async () => {
    server = await startTestApp();
    receiver = await Receiver.start();
    application = await createApplication(server.app, { features: ['sms'] });
    ada = await createAccount(server.app, application, {
      email: 'ada@sandbox.test',
      name: 'Ada',
      mirrored: true,
    });
    await createAccount(server.app, application, { email: 'bo@sandbox.test', name: 'Bo' });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    nylas = Nylas.with(ada.token);
  });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
  });

  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
  const draft = (subject: string) =>
    new Draft(nylas, {
      subject,
      body: '<p>Hello</p>',
      to: [{ email: 'bo@sandbox.test', name: 'Bo' }],
    });
  const ended = (id: string | undefined, status: string) =>
    until(`job ${id} to be ${status}`, async () => {
      const job = await nylas.jobStatuses.find(id ?? '');
      return job.status === status && job;
    });

  it('sends a message now and finds its job', async () => {
    const sent = await nylas.outbox.send(draft('SDK now'), { sendAt: 0 });
    expect(sent.status).toBe('pending');
    expect(sent.originalData?.subject).toBe('SDK now');
    const job = await ended(sent.jobStatusId, 'successful');
    expect(job.action).toBe('new_outbox');
    expect(job.isSuccessful()).toBe(true);
  });

  it('schedules, edits and cancels a message', async () => {
    const sendAt = inSeconds(3600);
    const sent = await nylas.outbox.send(draft('SDK later'), {
      sendAt,
      retryLimitDatetime: sendAt + 600,
    });
    expect(sent.sendAt).toEqual(new Date(sendAt * 1000));
    expect(sent.originalData?.retryLimitDatetime).toEqual(new Date((sendAt + 600) * 1000));
    const moved = inSeconds(7200);
    const edited = await nylas.outbox.update(sent.jobStatusId ?? '', {
      updatedMessage: new Draft(nylas, { subject: 'SDK edited', to: [] }),
      sendAt: moved,
    });
    expect(edited.originalData?.subject).toBe('SDK edited');
    expect(edited.originalData?.to?.[0]?.email).toBe('bo@sandbox.test');
    expect(edited.sendAt).toEqual(new Date(moved * 1000));
    expect(edited.originalSendAt).toEqual(new Date(moved * 1000));
    await nylas.outbox.delete(sent.jobStatusId ?? '');
    await ended(sent.jobStatusId, 'cancelled');
    // A client whose first response was lost repeats the request.
    await expect(nylas.outbox.delete(sent.jobStatusId ?? '')).resolves.toMatchObject({
      status: 'cancelled',
    });
  });

  it('lists all jobs in pages of a hundred', async () => {
    const jobs = await nylas.jobStatuses.list();
    expect(jobs.length).toBeGreaterThanOrEqual(2);
    expect(jobs.every(({ jobStatusId }) => jobStatusId)).toBe(true);
    expect(await nylas.jobStatuses.count()).toBe(jobs.length);
  });

  it('creates, reads, changes and deletes events', async () => {
    const calendar = new Calendar(nylas, {
      name: 'SDK events',
      description: '',
      location: '',
      timezone: 'UTC',
    });
    await calendar.save();
    const start = inSeconds(86_400);
    const event = new Event(nylas, {
      calendarId: calendar.id ?? '',
      title: 'Review',
      when: { startTime: start, endTime: start + 3600 },
      participants: [{ email: 'bo@sandbox.test', name: 'Bo', phoneNumber: '+15550100' }],
      metadata: { team: 'a' },
      notifications: [
        {
          type: EventNotificationType.Email,
          minutesBeforeEvent: 60,
          subject: 'Soon',
          body: '<b>Soon</b>',
        },
        { type: EventNotificationType.Sms, minutesBeforeEvent: 30, message: 'Soon' },
      ],
    });
    await event.save();
    expect(event.id).toBeTruthy();
    await ended(event.jobStatusId, 'successful');

    const found = await nylas.events.find(event.id ?? '');
    expect(found).toMatchObject({ title: 'Review', busy: true, status: 'confirmed' });
    expect(found.when).toMatchObject({
      startTime: start,
      endTime: start + 3600,
      object: 'timespan',
    });
    expect(found.participants?.[0]).toMatchObject({ email: 'bo@sandbox.test', status: 'noreply' });
    expect(found.notifications?.map(({ type }) => type)).toEqual(['email', 'sms']);
    found.title = 'Review, moved';
    found.start = start + 7200;
    found.end = start + 10_800;
    await found.save();
    const [listed] = await nylas.events.list({
      calendar_id: calendar.id ?? '',
      starts_after: String(start),
    });
    expect(listed).toMatchObject({ title: 'Review, moved' });
    await nylas.events.delete(event.id ?? '');
    expect(await nylas.events.list({ calendar_id: calendar.id ?? '' })).toEqual([]);
  });

  it('keeps every field of a simple event when it reads and saves the event', async () => {
    const [calendar] = await nylas.calendars.list();
    const event = new Event(nylas, {
      calendarId: calendar?.id ?? '',
      title: 'Plain',
      when: { date: '2030-05-01' },
    });
    await event.save();
    // The provider assigns its own identifier to the event, so the test waits for the provider
    // write.
    await ended(event.jobStatusId, 'successful');
    const before = await nylas.events.find(event.id ?? '');
    await before.save();
    const after = await nylas.events.find(event.id ?? '');
    expect({ ...after.toJSON(), updated_at: null }).toEqual({
      ...before.toJSON(),
      job_status_id: after.jobStatusId,
      updated_at: null,
    });
  });

  it('manages webhooks and receives signed notifications about jobs', async () => {
    const webhook = new Webhook(nylas, application.clientId, {
      callbackUrl: `${receiver.origin}/hooks`,
      state: 'active',
      triggers: ['job.successful', 'job.failed'],
    });
    await webhook.save();
    expect(webhook.id).toBeTruthy();
    const sent = await nylas.outbox.send(draft('SDK webhook'), { sendAt: 0 });
    const delivery = await until('the notification', async () =>
      receiver.posted.find(({ body }) => body.includes(sent.jobStatusId ?? '')),
    );
    expect(JSON.parse(delivery.body.toString())).toMatchObject({
      deltas: [
        { object: 'job_status', type: 'job.successful', object_data: { account_id: ada.id } },
      ],
    });
    // The client itself verifies the signature.
    const signature = String(delivery.headers['x-nylas-signature']);
    expect(WebhookNotification.verifyWebhookSignature(signature, delivery.body)).toBe(true);
    expect(WebhookNotification.verifyWebhookSignature(signature, Buffer.from('{}'))).toBe(false);

    const [listed] = await Nylas.webhooks.list();
    expect(listed).toMatchObject({
      callbackUrl: `${receiver.origin}/hooks`,
      state: 'active',
      version: '2.0',
    });
    const stored = await Nylas.webhooks.find(webhook.id ?? '');
    stored.state = 'inactive';
    await stored.save();
    expect((await Nylas.webhooks.find(webhook.id ?? '')).state).toBe('inactive');
    await Nylas.webhooks.delete(stored);
    await expect(Nylas.webhooks.find(webhook.id ?? '')).rejects.toMatchObject({ statusCode: 404 });
  });

  it('reports errors with status, type and message', async () => {
    await expect(nylas.calendars.find('nothing')).rejects.toMatchObject({
      statusCode: 404,
      type: 'invalid_request_error',
      message: expect.stringContaining("Couldn't find calendar nothing"),
    });
    await expect(Nylas.with('wrong').account.get()).rejects.toMatchObject({ statusCode: 401 });
  });
});
