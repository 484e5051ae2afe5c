import type { Scope } from '../../../platform/auth/scopes.ts';
import type { Participant, StoredNotification } from '../../events/event-values.ts';
import { EgressPolicy } from '../../../platform/egress/egress-policy.ts';
import { assertNotificationsAllowed } from './notification-rules.ts';

const email: StoredNotification = {
  id: 'e',
  type: 'email',
  minutes_before_event: 10,
  subject: 's',
  body: 'b',
};
const sms: StoredNotification = { id: 's', type: 'sms', minutes_before_event: 10, message: 'm' };
const webhook: StoredNotification = {
  id: 'w',
  type: 'webhook',
  minutes_before_event: 10,
  url: 'https://hooks.example.test/',
  payload: 'p',
};
const person = (address: string, phone: string | null = null): Participant => ({
  email: address,
  name: '',
  phone_number: phone,
  status: 'noreply',
  comment: null,
});
const reachable = person('ada@example.test', '+15550100');
const mute = person('bo@example.test');
const rights = {
  scopes: null as readonly Scope[] | null,
  features: ['sms'] as const,
  hasMailbox: true,
  quotas: { event: { reminders: 0, texts: 0 }, smsCountries: [] as readonly string[] },
};

const DAILY = { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' };

const check = (
  event: Partial<Parameters<typeof assertNotificationsAllowed>[1]>,
  options: {
    /** The stored event; `null` for a new one. */
    before?: StoredNotification[] | null;
    wasRecurring?: boolean;
    rights?: Partial<Omit<typeof rights, 'features'>> & { features?: readonly [] };
  } = {},
) =>
  assertNotificationsAllowed(
    options.before === null
      ? null
      : {
          notifications: options.before ?? [],
          recurrence: options.wasRecurring ? DAILY : null,
        },
    { notifications: [], participants: [], recurrence: null, ...event },
    { ...rights, ...options.rights },
    new EgressPolicy([]),
  );

describe('assertNotificationsAllowed', () => {
  it('allows an event without notifications in every case', () => {
    const recurrence = { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' };
    expect(() => check({ recurrence }, { rights: { scopes: [], features: [] } })).not.toThrow();
  });

  it('refuses a new webhook whose address is not public, and keeps one that is already stored', () => {
    const inside = { ...webhook, url: 'https://169.254.169.254/latest' };
    const notifications = [email, inside];
    const participants = [reachable];
    expect(() => check({ notifications, participants })).toThrow(
      'notifications.1.url: must have a public host',
    );
    expect(() => check({ notifications, participants }, { before: [inside] })).not.toThrow();
  });

  it('refuses an update that makes a recurring event use notifications', () => {
    const recurring = { notifications: [webhook], recurrence: DAILY };
    const refusal = 'notifications: a recurring event cannot be updated to use notifications';
    expect(() => check(recurring)).toThrow(refusal);
    expect(() => check(recurring, { before: [webhook] })).toThrow(refusal);
    expect(() => check(recurring, { before: [email], wasRecurring: true })).toThrow(refusal);
  });

  it('allows notifications of a new recurring event, and to send them back unchanged', () => {
    const recurring = { notifications: [webhook], recurrence: DAILY };
    expect(() => check(recurring, { before: null })).not.toThrow();
    expect(() => check(recurring, { before: [webhook], wasRecurring: true })).not.toThrow();
    const none = { notifications: [], recurrence: DAILY };
    expect(() => check(none, { before: [webhook], wasRecurring: true })).not.toThrow();
  });

  it.each([
    ['email', [email], [mute]],
    [
      'email and email',
      [email, { ...email, id: 'e2', minutes_before_event: 5 }],
      [mute, reachable],
    ],
    ['sms', [sms], [reachable]],
    ['webhook without participants', [webhook], []],
    ['webhook', [webhook], [mute]],
    ['all types', [email, sms, webhook], [reachable]],
  ])('allows %s', (_name, notifications, participants) =>
    expect(() => check({ notifications, participants })).not.toThrow(),
  );

  it.each([
    [[email], 'participants: email notifications need at least one participant'],
    [[sms], 'participants: sms notifications need at least one participant'],
    [[email, sms], 'participants: email and sms notifications need at least one participant'],
    [[email, webhook], 'participants: email notifications need at least one participant'],
  ])('requires a participant to remind: case %#', (notifications, message) =>
    expect(() => check({ notifications, participants: [] })).toThrow(message),
  );

  it('names the participants who cannot be reached by sms', () => {
    expect(() => check({ notifications: [sms], participants: [reachable, mute] })).toThrow(
      'participants: sms notifications need a phone_number for every participant; missing for: bo@example.test',
    );
  });

  it('requires a phone number of every participant if there are several types', () => {
    expect(() =>
      check({ notifications: [email, webhook], participants: [reachable, mute] }),
    ).toThrow(
      'participants: an event with notifications of several types needs an email and a phone_number for every participant; missing for: bo@example.test',
    );
  });

  it('names the first ten participants without a phone number and counts the others', () => {
    const participants = Array.from({ length: 12 }, (_, index) => person(`p${index}@example.test`));
    expect(() => check({ notifications: [sms], participants })).toThrow(
      /p9@example\.test and 2 more$/,
    );
  });

  it.each([[[]], [['calendar']], [['email.modify', 'calendar']]] as Scope[][][])(
    'refuses new notifications for an account with the scopes %j',
    (scopes) =>
      expect(() => check({ notifications: [webhook] }, { rights: { scopes } })).toThrow(
        /needs one of the scopes email, email\.send/,
      ),
  );

  it.each([[['email.send']], [['email']]] as Scope[][][])(
    'allows new notifications for an account with the scopes %j',
    (scopes) =>
      expect(() => check({ notifications: [webhook] }, { rights: { scopes } })).not.toThrow(),
  );

  it('requires the feature sms for sms notifications only', () => {
    const without = { rights: { features: [] as const } };
    expect(() => check({ notifications: [sms], participants: [reachable] }, without)).toThrow(
      /not enabled/,
    );
    expect(() =>
      check({ notifications: [email], participants: [reachable] }, without),
    ).not.toThrow();
  });

  it('refuses email notifications for an account without a mailbox, and requires no mail scope there', () => {
    const virtual = { rights: { hasMailbox: false, scopes: ['calendar' as const] } };
    expect(() => check({ notifications: [webhook] }, virtual)).not.toThrow();
    expect(() => check({ notifications: [email], participants: [reachable] }, virtual)).toThrow(
      /no mailbox/,
    );
  });

  it('requires rights only for notifications that are new or changed', () => {
    const none = { scopes: [] as Scope[], features: [] as const };
    const event = { notifications: [sms], participants: [reachable] };
    expect(() => check(event, { before: [sms], rights: none })).not.toThrow();
    expect(() => check(event, { before: [{ ...sms, message: 'other' }], rights: none })).toThrow(
      /scopes/,
    );
  });
});
