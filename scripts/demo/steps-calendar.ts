import { field, items, only, text } from '../lib/api-client.ts';
import { type Cast, clock, unixNow } from './context.ts';
import { until } from '../lib/report.ts';

/**
 * Seconds. Reminders are set in whole minutes, so the event begins one minute after they are due.
 */
const MINUTE = 60;
const AHEAD_SECONDS = 6;
const PHONE = '+15550100';

/**
 * Creates a calendar and waits until it exists at the provider.
 * @returns its id
 */
export async function createCalendar({ report, api, ada }: Cast): Promise<string> {
  report.step('Ada creates a calendar');
  const { status, body } = await api.call(ada, 'POST', '/calendars', {
    body: {
      name: 'Team',
      description: 'What we do together',
      location: 'Berlin',
      timezone: 'Europe/Berlin',
    },
    show: only('id', 'name', 'timezone', 'read_only', 'job_status_id'),
  });
  report.verify('created', status === 200 && field(body, 'name') === 'Team', body);
  const job = await until('the calendar at the provider', async () => {
    const answer = await api.call(ada, 'GET', `/job-statuses/${text(body, 'job_status_id')}`, {
      silent: true,
    });
    return field(answer.body, 'status') === 'pending' ? undefined : answer.body;
  });
  report.received('job status', only('action', 'object', 'status')(job));
  report.verify(
    'and the calendar exists at the provider',
    field(job, 'status') === 'successful',
    job,
  );
  return text(body, 'id');
}

/** Creates an event with reminders and verifies that they are sent on time. */
export async function remind(cast: Cast, calendarId: string): Promise<void> {
  const { report, api, ada, bo } = cast;
  report.step(
    'Ada creates an event with an email, an SMS and a webhook reminder, each a minute before it',
  );
  const start = unixNow() + MINUTE + AHEAD_SECONDS;
  const due = start - MINUTE;
  const { status, body } = await api.call(ada, 'POST', '/events', {
    body: {
      calendar_id: calendarId,
      title: 'Standup',
      when: { start_time: start, end_time: start + 900 },
      participants: [{ name: 'Bo', email: bo.email, phone_number: PHONE }],
      notifications: [
        {
          type: 'email',
          minutes_before_event: 1,
          subject: 'Standup in a minute',
          body: '<b>Room 1</b>',
        },
        { type: 'sms', minutes_before_event: 1, message: 'Standup in a minute, room 1' },
        {
          type: 'webhook',
          minutes_before_event: 1,
          url: `${cast.receiver.url}/reminders`,
          payload: '{"event":"standup"}',
        },
      ],
    },
    show: (event) => ({
      ...only('id', 'title', 'when', 'job_status_id')(event),
      notifications: items(field(event, 'notifications')).length,
    }),
  });
  report.verify(
    `created; the reminders are due at ${clock(due)}`,
    status === 200 && items(field(body, 'notifications')).length === 3,
    body,
  );
  await verifyReminders(cast, text(body, 'id'), due);
}

async function verifyReminders(
  { report, api, ada, bo, server, receiver }: Cast,
  eventId: string,
  due: number,
): Promise<void> {
  report.step('The reminders are sent');
  const reminders = await until('the reminders', async () => {
    const { body } = await api.call(ada, 'GET', `/events/${eventId}/notifications`, {
      silent: true,
    });
    return items(body).every((reminder) => field(reminder, 'status') !== 'scheduled')
      ? items(body)
      : undefined;
  });
  report.sent(`GET /events/${eventId}/notifications   as ${ada.name}`);
  for (const reminder of reminders)
    report.received('', only('type', 'recipient', 'status', 'due_at', 'sent_at')(reminder));
  report.verify(
    'there are three reminders, all sent',
    reminders.length === 3 && reminders.every((reminder) => field(reminder, 'status') === 'sent'),
    reminders,
  );
  report.verify(
    `none was sent before ${clock(due)}, and none more than ${server.patienceSeconds} s after`,
    reminders.every(
      (reminder) =>
        Number(field(reminder, 'sent_at')) >= due &&
        Number(field(reminder, 'sent_at')) <= due + server.patienceSeconds,
    ),
    reminders,
  );
  const email = await until("the reminder in Bo's inbox", async () => {
    const { body } = await api.call(bo, 'GET', '/messages?subject=Standup+in+a+minute&in=inbox', {
      silent: true,
    });
    return items(body)[0];
  });
  report.verify(
    `the email is in Bo's inbox: "${text(email, 'subject')}"`,
    String(field(email, 'body')).includes('Room 1'),
  );
  const texts: unknown = JSON.parse(await server.operator(['--json', 'sms', 'list']));
  const sms = items(texts).find((one) => field(one, 'phone_number') === PHONE);
  report.verify(
    `the recording SMS gateway has "${String(field(sms, 'text'))}" for ${PHONE}`,
    field(sms, 'text') === 'Standup in a minute, room 1',
  );
  report.verify(
    `the receiver got the payload ${receiver.reminders[0]}`,
    receiver.reminders.length > 0 &&
      receiver.reminders.every((payload) => payload === '{"event":"standup"}'),
  );
}
