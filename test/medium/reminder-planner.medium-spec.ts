import type { Sql } from '../../src/platform/database/sql.ts';
import { ReminderPlanner } from '../../src/calendar/notifications/plan/reminder-planner.ts';
import type {
  PlannedReminder,
  ReminderEvent,
} from '../../src/calendar/events/ports/event-reminders.ts';
import { transitionReminders } from '../../src/calendar/notifications/send/reminder-transitions.ts';
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

  const claim = (id: string) =>
    fixture.database.query(
      'update reminder_job set state = 1, attempt = attempt + 1 where id = $1',
      [id],
    );

  it('are one per participant for email and SMS and one for a webhook, due before the start', async () => {
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
      name: 'Bo',
      content: { subject: 'Soon', body: '<b>Soon</b>' },
      expires_at: event.startsAt,
      message_id_header: `<${rows[0]?.id}@carillon.invalid>`,
    });
    expect(fates).toEqual([
      expect.objectContaining({
        type: 'email',
        status: 'scheduled',
        recipients: 2,
        dueAt: inMinutes(30),
      }),
      expect.objectContaining({
        type: 'sms',
        status: 'scheduled',
        recipients: 2,
        dueAt: inMinutes(40),
      }),
      expect.objectContaining({
        type: 'webhook',
        status: 'scheduled',
        recipients: 1,
        dueAt: inMinutes(50),
      }),
    ]);
  });

  it('stay as they are under a plan that changes nothing', async () => {
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

  describe('when the event changes', () => {
    it('are cancelled when the event is cancelled', async () => {
      const event = reminderEvent(fixture, now, {
        notifications: [notificationOf.email(), notificationOf.webhook()],
      });
      await plan(event);
      const fates = await plan({ ...event, cancelled: true });
      expect(fates.map(({ status, reason }) => [status, reason])).toEqual([
        ['cancelled', 'the event was cancelled'],
        ['cancelled', 'the event was cancelled'],
      ]);
      const rows = await fixture.reminders(event.eventId);
      expect(rows.map(({ status, reason, run_at }) => [status, reason, run_at])).toEqual(
        rows.map(() => ['cancelled', 'the event was cancelled', null]),
      );
      expect(rows).toHaveLength(3);
    });

    it('follow participants who are added and removed', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.email()] });
      await plan(event);
      const [bo] = event.participants;
      const dee = {
        email: 'Dee@Example.test',
        name: 'Dee',
        phone_number: null,
        status: 'noreply',
      } as const;
      await plan({ ...event, participants: [bo!, dee] });
      expect(await brief(event)).toEqual([
        'email bo@example.test scheduled 30 queued',
        'email cy@example.test cancelled 30',
        'email dee@example.test scheduled 30 queued',
      ]);
      const cy = (await fixture.reminders(event.eventId))[1];
      expect(cy?.reason).toBe('the participant was removed from the event');
      await plan(event);
      expect(await brief(event)).toEqual([
        'email bo@example.test scheduled 30 queued',
        'email cy@example.test scheduled 30 queued',
        'email dee@example.test cancelled 30',
      ]);
      expect((await fixture.reminders(event.eventId))[1]?.reason).toBeNull();
    });

    it('are removed when the list of notifications is emptied', async () => {
      const event = reminderEvent(fixture, now, {
        notifications: [notificationOf.email(), notificationOf.sms(), notificationOf.webhook()],
      });
      await plan(event);
      expect(await plan({ ...event, notifications: [] })).toEqual([]);
      const rows = await fixture.reminders(event.eventId);
      expect(new Set(rows.map(({ status, reason }) => `${status}: ${reason}`))).toEqual(
        new Set(['cancelled: the notification was removed from the event']),
      );
      expect(rows.filter(({ run_at }) => run_at)).toEqual([]);
    });

    it('receive new texts, recipients and names without being planned again', async () => {
      const [email, sms, webhook] = [
        notificationOf.email(),
        notificationOf.sms(),
        notificationOf.webhook(),
      ];
      const event = reminderEvent(fixture, now, { notifications: [email, sms, webhook] });
      await plan(event);
      const before = await fixture.reminders(event.eventId);
      await plan({
        ...event,
        notifications: [
          { ...email, type: 'email', subject: 'Other', body: 'text' },
          sms,
          { ...webhook, type: 'webhook', url: 'https://other.example.test/', payload: 'plain' },
        ],
        participants: event.participants.map((person) => ({
          ...person,
          name: 'New',
          phone_number: '+4917',
        })),
      });
      const after = await fixture.reminders(event.eventId);
      expect(after.map(({ id, run_at }) => [id, run_at])).toEqual(
        before.map(({ id, run_at }) => [id, run_at]),
      );
      expect(after.map(({ recipient, name, content }) => [recipient, name, content])).toEqual([
        ['bo@example.test', 'New', { subject: 'Other', body: 'text' }],
        ['cy@example.test', 'New', { subject: 'Other', body: 'text' }],
        ['+4917', 'New', { message: 'Soon!' }],
        ['+4917', 'New', { message: 'Soon!' }],
        ['https://other.example.test/', '', { payload: 'plain' }],
      ]);
    });

    it('are not sent to participants who decline, and are sent again when they accept later', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.email()] });
      await plan(event);
      const declined = event.participants.map((person) => ({ ...person, status: 'no' as const }));
      const [fate] = await plan({ ...event, participants: declined });
      expect(fate).toMatchObject({
        status: 'skipped',
        reason: 'the participant has declined',
        recipients: 0,
      });
      expect(await brief(event)).toEqual([
        'email bo@example.test skipped 30',
        'email cy@example.test skipped 30',
      ]);
      await plan(event);
      expect(await brief(event)).toEqual([
        'email bo@example.test scheduled 30 queued',
        'email cy@example.test scheduled 30 queued',
      ]);
    });

    it('are scheduled again when the event is moved away and back', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook()] });
      await plan(event);
      const [row] = await fixture.reminders(event.eventId);
      await claim(row!.id); // it is being sent, so the move cannot change it
      await plan({ ...event, startsAt: inMinutes(90) });
      expect(await brief(event)).toEqual([
        'webhook - cancelled 30 queued',
        'webhook - scheduled 60 queued',
      ]);
      await plan(event);
      expect(await brief(event)).toEqual([
        'webhook - scheduled 30 queued',
        'webhook - cancelled 60',
      ]);
    });
  });

  describe('that were sent', () => {
    it('are not sent again for the same time, but again for a new time', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook()] });
      await plan(event);
      const [row] = await fixture.reminders(event.eventId);
      await fixture.database.query('delete from reminder_job where id = $1', [row!.id]);
      await fixture.database.transaction((sql) =>
        transitionReminders(sql, [{ id: row!.id, to: 'sent', reason: null, attempts: 1 }], now),
      );
      expect(await plan({ ...event, title: 'Other' })).toMatchObject([
        { status: 'sent', recipients: 0 },
      ]);
      expect(await brief(event)).toEqual(['webhook - sent 30']);
      await plan({ ...event, startsAt: inMinutes(90) });
      expect(await brief(event)).toEqual(['webhook - sent 30', 'webhook - scheduled 60 queued']);
      await plan(event);
      expect(await brief(event)).toEqual(['webhook - sent 30', 'webhook - cancelled 60']);
    });

    it('remain sent when the event is cancelled', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook()] });
      await plan(event);
      const [row] = await fixture.reminders(event.eventId);
      await fixture.database.transaction((sql) =>
        transitionReminders(sql, [{ id: row!.id, to: 'sent', reason: null }], now),
      );
      await plan({ ...event, cancelled: true });
      expect(await brief(event)).toEqual(['webhook - sent 30']);
    });
  });

  describe('that are planned late', () => {
    it('are accepted up to five minutes after their due time', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook(59)] });
      expect(await plan(event)).toMatchObject([
        { status: 'scheduled', reason: null, dueAt: inMinutes(1) },
      ]);
    });

    it('are sent at once when they were due less than a minute ago', async () => {
      const event = reminderEvent(fixture, now, {
        notifications: [notificationOf.webhook(60)],
        startsAt: new Date(now.getTime() + 60 * MINUTE - 59_000),
      });
      expect(await plan(event)).toMatchObject([{ status: 'scheduled' }]);
      const [row] = await fixture.reminders(event.eventId);
      expect(row?.run_at!.getTime()).toBeGreaterThanOrEqual(row!.due_at.getTime());
    });

    it('are otherwise skipped with the reason, and nothing is queued', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook(90)] });
      const dueAt = inMinutes(-30);
      const reason = `too late: it would have been due at ${dueAt.toISOString().replace('.000Z', 'Z')}`;
      expect(await plan(event)).toMatchObject([
        { status: 'skipped', reason, dueAt, recipients: 0 },
      ]);
      expect(await brief(event)).toEqual(['webhook - skipped -30']);
    });

    it('are skipped when the event has begun', async () => {
      const event = reminderEvent(fixture, now, {
        notifications: [notificationOf.webhook(10)],
        startsAt: inMinutes(-5),
      });
      expect(await plan(event)).toMatchObject([
        { status: 'skipped', reason: 'too late: the event has already begun' },
      ]);
    });

    it('are left to the dispatcher when they were planned in time', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook(30)] });
      await plan(event);
      expect(await plan({ ...event, title: 'Other' }, inMinutes(45))).toMatchObject([
        { status: 'scheduled' },
      ]);
      expect(await brief(event)).toEqual(['webhook - scheduled 30 queued']);
    });

    it('are skipped when a move puts their due time into the past', async () => {
      const event = reminderEvent(fixture, now, { notifications: [notificationOf.webhook(50)] });
      await plan(event);
      expect(await plan({ ...event, startsAt: inMinutes(40) })).toMatchObject([
        { status: 'skipped' },
      ]);
      expect(await brief(event)).toEqual(['webhook - skipped -10']);
    });
  });

  it('report that there is no one to remind', async () => {
    const nobody = reminderEvent(fixture, now, {
      notifications: [notificationOf.email()],
      participants: [],
    });
    expect(await plan(nobody)).toMatchObject([
      { status: 'skipped', reason: 'the event has no participants', recipients: 0 },
    ]);
    const phoneless = reminderEvent(fixture, now, {
      notifications: [notificationOf.sms()],
      participants: [{ email: 'bo@example.test', name: '', phone_number: null, status: 'yes' }],
    });
    expect(await plan(phoneless)).toMatchObject([
      { status: 'skipped', reason: 'the participant has no phone number' },
    ]);
    expect(await brief(phoneless)).toEqual(['sms bo@example.test skipped 30']);
  });

  it('are planned in at most four round trips, whatever the number of participants', async () => {
    const participants = Array.from({ length: 300 }, (_, index) => ({
      email: `p${index}@example.test`,
      name: `P ${index}`,
      phone_number: `+1555${index}`,
      status: 'yes' as const,
    }));
    const event = reminderEvent(fixture, now, {
      participants,
      notifications: [notificationOf.email(), notificationOf.sms(), notificationOf.email(5)],
    });
    const trips = async (changed: ReminderEvent) => {
      let count = 0;
      await fixture.database.transaction((sql) =>
        planner.plan(
          {
            query(text, values) {
              count++;
              return sql.query(text, values);
            },
          },
          changed,
          now,
        ),
      );
      return count;
    };
    expect(await trips(event)).toBeLessThanOrEqual(4);
    expect(
      await trips({
        ...event,
        startsAt: inMinutes(120),
        participants: participants.slice(10, 299),
      }),
    ).toBeLessThanOrEqual(4);
    const rows = await fixture.reminders(event.eventId);
    expect(rows.filter(({ status, run_at }) => status === 'scheduled' && run_at)).toHaveLength(
      289 * 3,
    );
    expect(rows.filter(({ status }) => status === 'cancelled')).toHaveLength(11 * 3);
  });

  it('of many events of an account are planned together, in a few round trips', async () => {
    const events = Array.from({ length: 150 }, () =>
      reminderEvent(fixture, now, {
        notifications: [notificationOf.email(), notificationOf.webhook()],
      }),
    );
    let trips = 0;
    const planAll = (changed: ReminderEvent[]) =>
      fixture.database.transaction((sql) => {
        const counted: Sql = { query: (text, values) => (trips++, sql.query(text, values)) };
        return planner.planAll(counted, fixture.accountId, changed, now);
      });
    await planAll(events);
    const moved = events.map((event) => ({ ...event, startsAt: inMinutes(120) }));
    await planAll(moved);
    expect(trips).toBeLessThanOrEqual(6);
    for (const event of [moved[0]!, moved[149]!]) {
      expect(await brief(event)).toEqual([
        'email bo@example.test scheduled 90 queued',
        'email cy@example.test scheduled 90 queued',
        'webhook - scheduled 90 queued',
      ]);
    }
    const [count] = await fixture.database.query(
      `select count(distinct event_id) as events, count(*) as reminders from reminder where event_id = any($1::uuid[])`,
      [events.map(({ eventId }) => eventId)],
    );
    expect(count).toEqual({ events: 150, reminders: 450 });
  });

  it('are the same no matter how many plans run at the same time', async () => {
    const event = reminderEvent(fixture, now, {
      notifications: [notificationOf.email(), notificationOf.webhook()],
    });
    await Promise.all(Array.from({ length: 5 }, () => plan(event)));
    expect(await brief(event)).toEqual([
      'email bo@example.test scheduled 30 queued',
      'email cy@example.test scheduled 30 queued',
      'webhook - scheduled 30 queued',
    ]);
    await Promise.all(
      [90, 120, 150, 180].map((start) => plan({ ...event, startsAt: inMinutes(start) })),
    );
    const rows = await fixture.reminders(event.eventId);
    expect(rows).toHaveLength(3);
    expect(new Set(rows.map(({ due_at }) => due_at.getTime())).size).toBe(1);
  });

  it('are cancelled together for events that are deleted together, and only those of the account', async () => {
    const [one, two] = [1, 2].map(() =>
      reminderEvent(fixture, now, { notifications: [notificationOf.webhook()] }),
    );
    await plan(one!);
    await plan(two!);
    const ids = [one!.eventId, two!.eventId];
    const cancel = (accountId: string) =>
      fixture.database.transaction((sql) =>
        planner.cancelEvents(sql, accountId, ids, 'the calendar was deleted', now),
      );
    await cancel(one!.eventId);
    expect(await brief(one!)).toEqual(['webhook - scheduled 30 queued']);
    await cancel(fixture.accountId);
    expect([await brief(one!), await brief(two!)]).toEqual([
      ['webhook - cancelled 30'],
      ['webhook - cancelled 30'],
    ]);
  });
});
