import type { EmulatedAccount, EmulatorWorld } from './emulator-world.ts';
import {
  describeReadFaults,
  describeWriteFaults,
  type FaultyProvider,
  type FaultyReading,
  type FaultyWork,
} from './fault-tables.ts';
import type { GoogleEmulator } from './google-emulator.ts';

const ME = '/gmail/v1/users/me';
const EVENTS = '/calendar/v3/calendars/primary/events';

const REASONS: Readonly<Record<number, string>> = {
  401: 'authError',
  403: 'forbidden',
  404: 'notFound',
  410: 'deleted',
  429: 'rateLimitExceeded',
  500: 'backendError',
};
const GOOGLE: FaultyProvider = {
  refusal: (status, retryAfter) => ({
    status,
    body: { error: { code: status, message: 'No', errors: [{ reason: REASONS[status] }] } },
    ...(retryAfter && { headers: { 'retry-after': String(retryAfter) } }),
  }),
  usualPause: 5,
};
// oxlint-disable-next-line typescript/no-explicit-any -- fields of any answer
type Any = any;

/**
 * Registers the tests of what Carillon does when Google fails at a named request. What was done is
 * asked of the emulator.
 */
export function describeGoogleFaults(
  start: () => { world: EmulatorWorld; google: GoogleEmulator },
): void {
  let world: EmulatorWorld;
  let google: GoogleEmulator;
  let one: EmulatedAccount;
  let meeting: string;
  const fixture = () => ({ world, one });
  beforeAll(async () => {
    ({ world, google } = start());
    one = await world.connect(google);
    await createEvent('Meeting');
    await world.running(one);
    meeting = (await world.eventually(one, 'the meeting', () => eventOf('Meeting'))).id;
  });

  const web = async (method: string, path: string, json?: unknown): Promise<Any> =>
    (await google.web(one, method, path, json)).body;
  const idsOf = async (query: Record<string, string>): Promise<string[]> => {
    const found = await web('GET', `${ME}/messages?${new URLSearchParams(query)}`);
    return (found.messages ?? []).map(({ id }: { id: string }) => id);
  };
  const withLabel = async (label: string, subject: string): Promise<number> =>
    (await idsOf({ labelIds: label, q: `subject:${subject}` })).length;
  const deliver = (subject: string) =>
    google.deliver(one, `From: bo@x.test\r\nTo: ${one.email}\r\nSubject: ${subject}\r\n\r\nHi\r\n`);
  const createEvent = async (summary: string): Promise<void> => {
    const [start, end] = [10, 11].map((hour) => ({ dateTime: `2030-05-01T${hour}:00:00Z` }));
    await web('POST', EVENTS, { summary, start, end });
  };
  const eventOf = async (title: string): Promise<Any> =>
    (await world.api(one, 'get', `/events?title=${title}`))[0];

  const works: FaultyWork[] = [
    {
      what: 'send a message',
      faults: {
        401: 'renewed',
        403: 'failed',
        404: 'repeated',
        410: 'repeated',
        '429 for 6 s': 'repeated',
        429: 'repeated',
        500: 'repeated',
        '504 after done': 'found',
        'cut after done': 'found',
      },
      request: /^POST \/gmail\/v1\/users\/me\/messages\/send$/,
      async begin(account, subject) {
        const message = { to: [{ email: 'bo@elsewhere.test' }], subject, body: 'Hello' };
        return (await world.api(account, 'post', '/v2/outbox', message)).job_status_id;
      },
      count: (_account, subject) => withLabel('SENT', subject),
    },
    {
      what: 'create a label',
      faults: { 403: 'failed', '504 after done': 'found' },
      request: /^POST \/gmail\/v1\/users\/me\/labels$/,
      begin: async (account, display_name) =>
        (await world.api(account, 'post', '/labels', { display_name })).job_status_id,
      async count(_account, name) {
        const { labels } = await web('GET', `${ME}/labels`);
        return (labels as Any[]).filter((label) => label.name === name).length;
      },
    },
    {
      what: 'save a draft',
      faults: { 401: 'renewed', 404: 'failed', '504 after done': 'found' },
      request: /^POST \/gmail\/v1\/users\/me\/drafts$/,
      async begin(account, subject) {
        // The emulator finds every draft for every Message-ID, so there must be no other one.
        const { drafts = [] } = await web('GET', `${ME}/drafts`);
        for (const { id } of drafts as Any[]) await web('DELETE', `${ME}/drafts/${id}`);
        return (await world.api(account, 'post', '/drafts', { subject })).job_status_id;
      },
      count: (_account, subject) => withLabel('DRAFT', subject),
    },
    {
      what: 'star a message',
      faults: { 410: 'repeated', '504 after done': 'repeated' },
      request: /^POST \/gmail\/v1\/users\/me\/messages\/[^/]+\/modify$/,
      async begin(account, subject) {
        await deliver(subject);
        const { id } = await world.arrived(account, subject);
        const changed = await world.api(account, 'put', `/messages/${id}`, { starred: true });
        return changed.job_status_id;
      },
      count: (_account, subject) => withLabel('STARRED', subject),
    },
  ];
  for (const work of works) describeWriteFaults(work, GOOGLE, fixture);

  const shownWith = async (subject: string): Promise<unknown[]> =>
    world.api(one, 'get', `/messages?subject=${subject}`);
  const mail: Pick<FaultyReading, 'prepare' | 'change' | 'shown'> = {
    async prepare(account, name) {
      await deliver(`Old${name}`);
      await world.arrived(account, `Old${name}`);
    },
    async change(_account, name) {
      const [old] = await idsOf({ q: `subject:Old${name}` });
      await deliver(`New${name}`);
      await web('DELETE', `${ME}/messages/${old}`);
    },
    async shown(account, name) {
      await world.arrived(account, `New${name}`);
      const isRemoved = async () => (await shownWith(`Old${name}`)).length === 0;
      await world.eventually(account, 'the deletion', isRemoved);
      expect(await shownWith(`New${name}`)).toHaveLength(1);
    },
  };
  const readings: FaultyReading[] = [
    {
      what: 'the changes of a mailbox',
      faults: ['401', '404', '410', '500', '504 after done'],
      request: /^GET \/gmail\/v1\/users\/me\/history$/,
      ...mail,
    },
    {
      what: 'the content of a message',
      faults: ['500'],
      request: /^GET \/gmail\/v1\/users\/me\/messages\/[^/]+$/,
      ...mail,
    },
    {
      what: 'the events of a calendar',
      faults: ['404', '410'],
      request: /^GET \/calendar\/v3\/calendars\/[^/]+\/events$/,
      change: (_account, summary) => createEvent(summary),
      async shown(account, title) {
        const event = await world.eventually(account, 'the event', () => eventOf(title));
        expect(await eventOf('Meeting')).toMatchObject({ id: meeting });
        expect(event.id).not.toBe(meeting);
      },
    },
  ];
  for (const reading of readings) describeReadFaults(reading, GOOGLE, fixture);
}
