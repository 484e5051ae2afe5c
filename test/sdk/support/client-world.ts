import { connectSendGrid, rowsOf } from '../../support/connect.ts';
import { deliver } from '../../support/deliver.ts';
import { createAccount, type TestAccount, type TestApplication } from '../../support/factories.ts';
import { SCAN_PNG } from '../../support/neural/pdf.ts';
import { Receiver } from '../../support/receiver.ts';
import { SendGridServer } from '../../support/sendgrid-server.ts';
import type { TestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';
import type { Values } from './recorded-client.ts';

/** Accounts that a suite may change, revoke or delete. */
const SPARE_ACCOUNTS = 6;
const START = 1_900_000_000;

const HTML = [
  '<p>Hi Ada,</p><p>I love the <a href="https://plan.example/a">new plan</a>, it is great!</p>',
  '<p><img src="cid:scan@x" alt="the invoice"></p>',
  '<p>Best regards,</p><p>Bo Smith<br>Head of Sales<br>+1 415 555 2671<br>',
  '<a href="https://acme.example">Acme</a><br>bo@acme.example</p>',
  '<div class="gmail_quote">On Monday Ada wrote:<blockquote>What do you think?</blockquote></div>',
].join('');

const INVITATION = [
  'Subject: Invitation',
  'Content-Type: text/calendar; method=REQUEST',
  '',
  'BEGIN:VCALENDAR',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:invited',
  'DTSTART:20300601T100000Z',
  'DTSTAMP:20260101T000000Z',
  'SUMMARY:Invited',
  'ORGANIZER:mailto:zoe@elsewhere.test',
];

/**
 * Starts a world before the tests and stops it after them.
 * @returns `prepare` of that world
 */
export function useClientWorld(): ClientWorld['prepare'] {
  let world: ClientWorld;
  beforeAll(async () => {
    world = await ClientWorld.start();
  });
  afterAll(() => world.stop());
  return (server, values) => world.prepare(server, values);
}

/** Receives webhooks, and stands in for the mailing service. */
export class ClientWorld {
  private constructor(
    readonly receiver: Receiver,
    private readonly service: SendGridServer,
  ) {}

  static async start(): Promise<ClientWorld> {
    return new ClientWorld(await Receiver.start(), await SendGridServer.start());
  }

  async stop(): Promise<void> {
    await this.receiver.stop();
    await this.service.stop();
  }

  /**
   * Adds mail, events, a third account with labels, spare accounts, a conferencing service and a
   * mailing service to the two accounts of `values`.
   * @returns names for everything, for the placeholders of recorded requests
   */
  async prepare(server: TestApp, values: Values): Promise<Values> {
    const application = await applicationOf(server, values);
    const ada = accountOf(values);
    const lea = await createAccount(server.app, application, {
      email: 'lea@sandbox.test',
      name: 'Lea',
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label', sample_messages: false },
    });
    const spare = await spareAccounts(server, application);
    await this.#setUp(server, application, values);
    for (const account of [ada, lea]) await fillMailbox(server, account);
    return {
      ...spare,
      receiver: this.receiver.origin,
      labelsToken: lea.token,
      labelsId: lea.id,
      ...(await mailOf(server, ada)),
      ...prefixed('labels', await mailOf(server, lea)),
      ...(await eventsOf(server, ada)),
    };
  }

  async #setUp(server: TestApp, application: TestApplication, values: Values): Promise<void> {
    const features = `update application set features = '{sms,neural}' where id = $1`;
    await rowsOf(server, features, [application.id]);
    const path = `/a/${application.clientId}`;
    const put = (url: string, body: object) =>
      request(server, 'PUT', url, application.secretBasic, body);
    await put(path, { redirect_uris: ['https://app.example.test/callback'] });
    await put(`${path}/conferencing`, {
      provider: 'Google Meet',
      kind: 'link',
      settings: { url_template: 'https://meet.example.test/{room}' },
    });
    await put(`${path}/accounts/${values['otherAccountId']}`, {
      metadata: { room: 'true', room_name: 'Aquarium', room_capacity: '8' },
    });
    await connectSendGrid(server, application, this.service);
  }
}

async function applicationOf(server: TestApp, values: Values): Promise<TestApplication> {
  const { clientId = '', clientSecret = '' } = values;
  const [row] = await rowsOf<{ id: string }>(
    server,
    'select id from application where client_id = $1',
    [clientId],
  );
  const header = (text: string) => ({
    authorization: `Basic ${Buffer.from(text).toString('base64')}`,
  });
  return {
    id: row?.id ?? '',
    clientId,
    clientSecret,
    basic: header(`${clientId}:${clientSecret}`),
    secretBasic: header(`${clientSecret}:`),
  };
}

const accountOf = ({ accountId = '', email = '', accessToken = '' }: Values): TestAccount => ({
  id: accountId,
  email,
  token: accessToken,
  bearer: { authorization: `Bearer ${accessToken}` },
});

async function spareAccounts(server: TestApp, application: TestApplication): Promise<Values> {
  const values: Values = {};
  for (let index = 0; index < SPARE_ACCOUNTS; index += 1) {
    const email = `spare${index}@sandbox.test`;
    const account = await createAccount(server.app, application, { email });
    values[`spare${index}Id`] = account.id;
    values[`spare${index}Token`] = account.token;
  }
  return values;
}

async function fillMailbox(server: TestApp, account: TestAccount): Promise<void> {
  const first = await deliver(server, account, ['Subject: Hello', '', 'Good day.']);
  const again = [`In-Reply-To: ${first}`, `References: ${first}`, '', 'And again.'];
  await deliver(server, account, ['Subject: Re: Hello', ...again]);
  await deliver(server, account, [
    'Subject: A file',
    'Content-Type: text/plain; name="a.txt"',
    'Content-Disposition: attachment; filename="a.txt"',
    '',
    'Attached text.',
  ]);
  const scan = SCAN_PNG.toString('base64').replaceAll(/.{76}/g, '$&\r\n');
  await deliver(server, account, [
    'Subject: Re: The plan',
    'In-Reply-To: <plan@elsewhere.test>',
    'Content-Type: multipart/related; boundary=b',
    '',
    `--b\r\nContent-Type: text/html\r\n\r\n${HTML}\r\n`,
    '--b\r\nContent-Type: image/png\r\nContent-ID: <scan@x>',
    'Content-Disposition: inline; filename="scan.png"',
    `Content-Transfer-Encoding: base64\r\n\r\n${scan}\r\n--b--`,
  ]);
  const attendee = [`ATTENDEE:mailto:${account.email}`, 'END:VEVENT', 'END:VCALENDAR', ''];
  await deliver(server, account, [...INVITATION, ...attendee]);
}

interface Mail {
  id: string;
  thread_id: string;
  files: { id: string }[];
}

async function mailOf(server: TestApp, { bearer }: TestAccount): Promise<Values> {
  const find = (subject: string) =>
    until(subject, async () => {
      const path = `/messages?subject=${encodeURIComponent(subject)}`;
      const [found] = await request<Mail[]>(server, 'GET', path, bearer);
      return found;
    });
  const [hello, again, file, plan, invitation] = await Promise.all(
    ['Hello', 'Re: Hello', 'A file', 'Re: The plan', 'Invitation'].map(find),
  );
  return {
    helloId: hello?.id ?? '',
    threadId: hello?.thread_id ?? '',
    againId: again?.id ?? '',
    fileMessageId: file?.id ?? '',
    textFileId: file?.files[0]?.id ?? '',
    planId: plan?.id ?? '',
    scanId: plan?.files[0]?.id ?? '',
    invitationMessageId: invitation?.id ?? '',
  };
}

const prefixed = (prefix: string, values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      `${prefix}${name[0]?.toUpperCase()}${name.slice(1)}`,
      value,
    ]),
  );

/** Events of every form of `when`, in a calendar of their own, and the one of the invitation. */
async function eventsOf(server: TestApp, { bearer }: TestAccount): Promise<Values> {
  const post = (path: string, body: object) =>
    request<{ id: string }>(server, 'POST', path, bearer, body);
  const { id: calendarId } = await post('/calendars', { name: 'Team', timezone: 'Europe/Berlin' });
  const span = { start_time: START, end_time: START + 3600 };
  const zone = 'Europe/Berlin';
  const recurrence = { rrule: ['RRULE:FREQ=DAILY;COUNT=5'], timezone: 'UTC' };
  const forms: Record<string, object> = {
    timespan: { when: span, participants: [{ email: 'bo@sandbox.test', name: 'Bo' }] },
    zoned: { when: { ...span, start_timezone: zone, end_timezone: zone } },
    time: { when: { time: START } },
    timeZoned: { when: { time: START, timezone: zone } },
    date: { when: { date: '2030-05-01' } },
    datespan: { when: { start_date: '2030-05-01', end_date: '2030-05-03' } },
    series: { when: span, recurrence },
  };
  const values: Values = { calendarId };
  for (const [title, fields] of Object.entries(forms)) {
    const event = { calendar_id: calendarId, title, metadata: { k: 'v' }, ...fields };
    values[`${title}Id`] = (await post('/events', event)).id;
  }
  const invitation = await until('the event of the invitation', async () => {
    const [found] = await request<{ id: string }[]>(server, 'GET', '/events?title=Invited', bearer);
    return found;
  });
  return { ...values, invitationId: invitation.id };
}

async function request<T>(
  server: TestApp,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<T> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...headers, 'Content-Type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
