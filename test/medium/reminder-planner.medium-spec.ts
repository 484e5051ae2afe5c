import { ReminderPlanner } from '../../src/notifications/reminder-planner.ts';
import type { PlannedReminder, ReminderEvent } from '../../src/notifications/reminder-plan.ts';
import {
  notificationOf,
  reminderEvent,
  type ReminderFixture,
  startReminderFixture,
} from '../support/reminder-fixture.ts';

const MINUTE = 60_000;
const now = new Date(Math.floor(Date.now() / 1000) * 1000);
const inMinutes = (minutes: number) => new Date(now.getTime() + minutes * MINUTE);

describe('the reminders of an event', () => {
  let fixture: ReminderFixture;
  let planner: ReminderPlanner;
  beforeAll(async () => {
    fixture = await startReminderFixture();
    planner = new ReminderPlanner(fixture.config);
  });
  afterAll(() => fixture.close());

  const plan = (event: ReminderEvent, at = now): Promise<PlannedReminder[]> =>
    fixture.database.transaction((sql) => planner.plan(sql, event, at));
  const brief = async (event: ReminderEvent) =>
    (await fixture.reminders(event.eventId)).map(
      ({ type, participant, status, due_at, run_at }) =>
        `${type} ${participant || '-'} ${status} ${(due_at.getTime() - now.getTime()) / MINUTE}${run_at ? ' queued' : ''}`,
    );

  it('are one per participant for email and sms and one for a webhook, due before the start', async () => {
    const event = reminderEvent(fixture, now, {
      notifications: [notificationOf.email(30), notificationOf.sms(20), notificationOf.webhook(10)],
    });
    const fates = await plan(event);
    expect(await brief(event)).toEqual([
      'email bo@example.test scheduled 30 queued',
      'email cy@example.test scheduled 30 queued',
      'sms bo@example.test scheduled 40 queued',
      'sms cy@example.test scheduled 40 queued',
      'webhook - scheduled 50 queued',
    ]);
    const rows = await fixture.reminders(event.eventId);
    expect(rows.map(({ recipient }) => recipient)).toEqual([
      'bo@example.test',
      'cy@example.test',
      '+15550100',
      '+15550101',
      'https://hooks.example.test/r',
    ]);
    expect(rows[0]).toMatchObject({
      content: { subject: 'Soon', body: '<b>Soon</b>', name: 'Bo' },
      expires_at: event.startsAt,
      message_id_header: `<${rows[0]?.id}@carillon.invalid>`,
    });
    expect(fates).toEqual([
      expect.objectContaining({ type: 'email', status: 'scheduled', recipients: 2, dueAt: inMinutes(30) }),
      expect.objectContaining({ type: 'sms', status: 'scheduled', recipients: 2, dueAt: inMinutes(40) }),
      expect.objectContaining({ type: 'webhook', status: 'scheduled', recipients: 1, dueAt: inMinutes(50) }),
    ]);
  });

  it('are left alone by a plan that changes nothing', async () => {
    const event = reminderEvent(fixture, now, {
      notifications: [notificationOf.email(), notificationOf.webhook()],
    });
    await plan(event);
    const before = await fixture.reminders(event.eventId);
    await plan(event, inMinutes(1));
    expect(await fixture.reminders(event.eventId)).toEqual(before);
  });

  it('move with the event', async () => {
    const event = reminderEvent(fixture, now, { notifications: [notificationOf.email()] });
    await plan(event);
    const before = await fixture.reminders(event.eventId);
    await plan({ ...event, startsAt: inMinutes(120) });
    expect(await brief(event)).toEqual([
      'email bo@example.test scheduled 90 queued',
      'email cy@example.test scheduled 90 queued',
    ]);
    const after = await fixture.reminders(event.eventId);
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(after.map(({ run_at }) => run_at)).toEqual([inMinutes(90), inMinutes(90)]);
  });
});
