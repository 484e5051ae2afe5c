import type { Scope } from '../../platform/auth/scopes.ts';
import type { Participant, StoredNotification } from '../event-store/event-values.ts';
import { EgressPolicy } from '../../platform/egress/egress-policy.ts';
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

const check = (
  event: Partial<Parameters<typeof assertNotificationsAllowed>[1]>,
  options: {
    before?: StoredNotification[];
    rights?: Partial<Omit<typeof rights, 'features'>> & { features?: readonly [] };
  } = {},
) =>
  assertNotificationsAllowed(
    options.before ?? [],
    { notifications: [], participants: [], recurrence: null, ...event },
    { ...rights, ...options.rights },
    new EgressPolicy([]),
  );

describe('assertNotificationsAllowed', () => {
  it('lets an event without notifications be, whatever it is', () => {
    const recurrence = { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' };
    expect(() => check({ recurrence }, { rights: { scopes: [], features: [] } })).not.toThrow();
  });

  it('refuses a new webhook that could not be called when it is due; one that is stored is left alone', () => {
    const inside = { ...webhook, url: 'https://169.254.169.254/latest' };
    const notifications = [email, inside];
    const participants = [reachable];
    expect(() => check({ notifications, participants })).toThrow(
      'notifications.1.url: must have a public host',
    );
    expect(() => check({ notifications, participants }, { before: [inside] })).not.toThrow();
  });

  it('refuses notifications of a recurring event', () => {
    const recurrence = { rrule: ['RRULE:FREQ=DAILY'], timezone: 'UTC' };
    expect(() => check({ notifications: [webhook], recurrence })).toThrow(
      'notifications: a recurring event cannot have notifications',
    );
    expect(() => check({ notifications: [webhook], recurrence }, { before: [webhook] })).toThrow(
      /recurring/,
    );
  });

  it.each([
    ['email', [email], [mute]],
    [
      'email and email',
      [email, { ...email, id: 'e2', minutes_before_event: 5 }],
      [mute, reachable],
    ],
    ['sms', [sms], [reachable]],
    ['webhook for nobody', [webhook], []],
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
  ])('needs somebody to remind: %#', (notifications, message) =>
    expect(() => check({ notifications, participants: [] })).toThrow(message),
  );

  it('names who cannot be reached by sms', () => {
    expect(() => check({ notifications: [sms], participants: [reachable, mute] })).toThrow(
      'participants: sms notifications need a phone_number of every participant; none: bo@example.test',
    );
  });

  it('needs email and phone of everybody for several types', () => {
    expect(() =>
      check({ notifications: [email, webhook], participants: [reachable, mute] }),
    ).toThrow(
      'participants: with notifications of several types every participant needs an email and a phone_number; no phone_number: bo@example.test',
    );
  });

  it('names the first ten of many', () => {
    const participants = Array.from({ length: 12 }, (_, index) => person(`p${index}@example.test`));
    expect(() => check({ notifications: [sms], participants })).toThrow(
      /p9@example\.test and 2 more$/,
    );
  });

  it.each([[[]], [['calendar']], [['email.modify', 'calendar']]] as Scope[][][])(
    'needs a scope to send: %j',
    (scopes) =>
      expect(() => check({ notifications: [webhook] }, { rights: { scopes } })).toThrow(
        /needs one of the scopes email, email\.send/,
      ),
  );

  it.each([[['email.send']], [['email']]] as Scope[][][])('is content with %j', (scopes) =>
    expect(() => check({ notifications: [webhook] }, { rights: { scopes } })).not.toThrow(),
  );

  it('needs the feature for sms only', () => {
    const without = { rights: { features: [] as const } };
    expect(() => check({ notifications: [sms], participants: [reachable] }, without)).toThrow(
      /not enabled/,
    );
    expect(() =>
      check({ notifications: [email], participants: [reachable] }, without),
    ).not.toThrow();
  });

  it('has no emails where there is no mailbox, and needs no scope of mail there', () => {
    const virtual = { rights: { hasMailbox: false, scopes: ['calendar' as const] } };
    expect(() => check({ notifications: [webhook] }, virtual)).not.toThrow();
    expect(() => check({ notifications: [email], participants: [reachable] }, virtual)).toThrow(
      /no mailbox/,
    );
  });

  it('asks for no right anew for what has not changed', () => {
    const none = { scopes: [] as Scope[], features: [] as const };
    const event = { notifications: [sms], participants: [reachable] };
    expect(() => check(event, { before: [sms], rights: none })).not.toThrow();
    expect(() => check(event, { before: [{ ...sms, message: 'other' }], rights: none })).toThrow(
      /scopes/,
    );
  });
});
