import { Database } from '../../src/platform/database/sql.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import type { ApiDocument, Operation } from './api-document.ts';
import { registerSandbox } from './connect.ts';
import { deliver } from './deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from './factories.ts';
import { syncAccount } from './sync.ts';
import type { TestApp } from './test-app.ts';

/** One object of every kind, for one account of one application. */
export interface Belongings {
  application: TestApplication;
  account: TestAccount;
  /** A second account, for requests that cancel, revoke or change one. */
  spare: TestAccount;
  calendar: string;
  event: string;
  /** An event to which the account is invited. */
  invitation: string;
  message: string;
  thread: string;
  contact: string;
  folder: string;
  draft: string;
  file: string;
  outbox: string;
  webhook: string;
  /** A signing secret of the webhook. */
  webhookSecret: string;
  integration: string;
  conferencing: string;
  /** URL of a SendGrid stand-in that accepts the application's key. */
  sendgrid: string;
}

/** Pairs of a path pattern and the object whose id the path takes. */
const KINDS: readonly [RegExp, (owner: Belongings) => string][] = [
  [/^\/a\/\{client_id\}\/accounts\/\{/, ({ spare }) => spare.id],
  [/^\/a\/\{client_id\}\/webhooks\/\{/, ({ webhook }) => webhook],
  [/^\/a\/\{client_id\}\/conferencing\/\{/, ({ conferencing }) => conferencing],
  [/^\/connect\/grants\/\{/, ({ spare }) => spare.id],
  [/^\/connect\/integrations\/\{/, ({ integration }) => integration],
  [/^\/calendars\/\{/, ({ calendar }) => calendar],
  [/^\/events\/\{/, ({ event }) => event],
  [/^\/messages\/\{/, ({ message }) => message],
  [/^\/threads\/\{/, ({ thread }) => thread],
  [/^\/contacts\/\{/, ({ contact }) => contact],
  [/^\/drafts\/\{/, ({ draft }) => draft],
  [/^\/files\/\{/, ({ file }) => file],
  [/^\/(folders|labels)\/\{/, ({ folder }) => folder],
  [/^\/(v2\/outbox|job-statuses)\/\{/, ({ outbox }) => outbox],
];

/** The owner's id for the path of an operation, or `undefined` if the path has no id. */
export function idIn({ path }: Operation, owner: Belongings): string | undefined {
  return KINDS.find(([pattern]) => pattern.test(path))?.[1](owner);
}

/** Query parameters that operations require. */
const REQUIRED: readonly [RegExp, string, string | ((owner: Belongings) => string)][] = [
  [/^\/delta(\/|$)/, 'cursor', '0'],
  [/^\/(messages|threads)\/search$/, 'q', 'hello'],
  [/^\/a\/[^/]+\/events/, 'webhook_id', ({ webhook }) => webhook],
  [/^\/oauth\/token$/, 'client_id', 'nobody'],
  [/^\/oauth\/token$/, 'client_secret', 'wrong'],
  [/^\/oauth\/token$/, 'code', 'none'],
];

/**
 * The path and query of an operation.
 * @param id already encoded
 * @param without a required parameter to leave out
 */
export function addressOf(
  { path, queryParameters }: Operation,
  owner: Belongings,
  id = '',
  without?: string,
): string {
  const place = path
    .replace('{client_id}', owner.application.clientId)
    .replace('{secret_id}', owner.webhookSecret)
    .replace(/\{\w+\}/, () => id);
  const query = REQUIRED.filter(
    ([pattern, name]) => pattern.test(path) && name !== without && queryParameters.includes(name),
  );
  return query.length > 0
    ? `${place}?${query.map(([, name, value]) => `${name}=${typeof value === 'string' ? value : value(owner)}`).join('&')}`
    : place;
}

/** Headers with credentials of the owner that the operation accepts. */
export function credentialsOf(operation: Operation, owner: Belongings): Record<string, string> {
  const [scheme] = operation.security;
  switch (scheme) {
    case 'application':
      return owner.application.basic;
    case 'applicationSecret':
      return owner.application.secretBasic;
    case 'accessToken':
      // Only a spare token is revoked, because later requests need the other one.
      return (operation.path === '/oauth/revoke' ? owner.spare : owner.account).bearer;
    default:
      return {};
  }
}

const PERSON = { email: 'bo@example.test', name: 'Bo' };
const EVENT = {
  title: 'Review',
  when: { start_time: 1_900_000_000, end_time: 1_900_003_600, start_timezone: 'Europe/Berlin' },
  participants: [{ ...PERSON, phone_number: '+15550100', comment: 'gladly', status: 'yes' }],
  conferencing: {
    provider: 'Zoom Meeting',
    details: { meeting_code: '1', phone: ['+1'], url: 'https://a.test' },
  },
  notifications: [{ type: 'email', minutes_before_event: 60, subject: 'Soon', body: 'Soon' }],
  metadata: { team: 'sales' },
};
const MESSAGE = {
  to: [PERSON],
  cc: [PERSON],
  reply_to: [PERSON],
  subject: 'Hello',
  body: '<p>Hello</p>',
  send_at: 1_900_000_000,
  retry_limit_datetime: 1_900_086_400,
  metadata: { team: 'sales' },
  tracking: { opens: false, payload: 'x' },
};

const { send_at: _, retry_limit_datetime: __, ...SENT } = MESSAGE;

/**
 * A body that the operation accepts from the owner: the documented example, or one with more
 * fields.
 */
export function bodyOf(
  document: ApiDocument,
  { body, path, method }: Operation,
  owner: Belongings,
): object {
  const { clientId: client_id, clientSecret: client_secret } = owner.application;
  const example = (body ? document.resolve(body).example : undefined) as
    | Record<string, unknown>
    | undefined;
  const credentials = {
    ...(example && 'client_id' in example ? { client_id } : {}),
    ...(example && 'client_secret' in example ? { client_secret } : {}),
  };
  if (path.startsWith('/events'))
    return {
      ...EVENT,
      ...(path === '/events' || path.endsWith('/to-ics') ? { calendar_id: owner.calendar } : {}),
    };
  if (path.startsWith('/folders') || path.startsWith('/labels'))
    return { display_name: path.endsWith('{id}') ? 'Receipts' : 'Letters' };
  if (path.endsWith('/onboard/subuser')) return { email: owner.account.email };
  // The draft has been changed before it is deleted.
  if (path === '/drafts/{id}' && method === 'DELETE') return { version: 1 };
  if (path.startsWith('/v2/outbox')) return MESSAGE;
  if (path.endsWith('/send')) return SENT;
  if (path.startsWith('/calendars/') && example && 'start_time' in example) {
    const { email } = owner.account;
    const emails = path.endsWith('/consecutive') ? [[email], [email]] : [email];
    const calendars = [{ account_id: owner.account.id, calendar_ids: [owner.calendar] }];
    const hours = { emails: [email], days: [0], timezone: 'UTC', start: '9:00', end: '17:00' };
    const slots = [{ start_time: 1_900_000_000, end_time: 1_900_000_600 }];
    return path.endsWith('/free-busy')
      ? { ...example, emails, calendars }
      : {
          ...example,
          emails,
          calendars,
          open_hours: [hours],
          free_busy: [{ email, time_slots: slots }],
        };
  }
  if (path === '/send-rsvp')
    return { event_id: owner.invitation, status: 'yes', comment: 'gladly' };
  if (path === '/calendars/{id}')
    return { name: 'Team', timezone: 'Europe/Berlin', metadata: { team: 'sales' } };
  if (path.endsWith('/webhooks')) {
    return { ...example, callback_url: 'https://127.0.0.1:9/hooks', state: 'inactive' };
  }
  if (path.endsWith('/webhooks/{id}')) return { state: 'inactive' };
  if (path.endsWith('/events/ack')) return { webhook_id: owner.webhook, cursor: '0', rewind: true };
  if (path === '/connect/integrations' && method === 'POST')
    return { ...example, provider: 'imap' };
  if (path.endsWith('/relay'))
    return { kind: 'sendgrid', settings: { api_key: 'SG.good-key', base_url: owner.sendgrid } };
  if (path.endsWith('/token-info')) return { access_token: owner.spare.token };
  if (path.endsWith('/revoke-all')) return { keep_access_token: owner.spare.token };
  return { ...example, ...credentials };
}

const invitationTo = (email: string): string[] => [
  'Subject: Planning',
  'Content-Type: text/calendar; method=REQUEST',
  '',
  'BEGIN:VCALENDAR',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  `UID:${email}`,
  'DTSTAMP:20260101T000000Z',
  'DTSTART:20300601T100000Z',
  'ORGANIZER:mailto:zoe@example.test',
  `ATTENDEE:mailto:${email}`,
  'END:VEVENT',
  'END:VCALENDAR',
  '',
];

const missing = (what: string): never => {
  throw new Error(`there is no ${what}`);
};

/**
 * Creates everything that an application and an account can have.
 * @param sendgrid URL of the SendGrid stand-in
 * @param application default: a new one
 */
export async function createBelongings(
  server: TestApp,
  sendgrid: string,
  application?: TestApplication,
): Promise<Belongings> {
  const { app, url } = server;
  const owning = application ?? (await createApplication(app, { features: ['sms', 'neural'] }));
  if (!application) await registerSandbox(server, owning);
  const account = await createAccount(app, owning, { settings: { sample_messages: true } });
  const spare = await createAccount(app, owning);
  await deliver(server, account, invitationTo(account.email), 'zoe@example.test');
  await syncAccount(app, app.get(MailboxSyncDispatcher), account.id);
  const send = async <T>(
    method: string,
    path: string,
    headers: object,
    body?: object,
  ): Promise<T> => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers },
      body: body ? JSON.stringify(body) : null,
    });
    const answer = (await response.json()) as T;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const id = async (...request: Parameters<typeof send>) =>
    (await send<{ id: string }>(...request)).id;
  const calendar = await id('POST', '/calendars', account.bearer, { name: 'Team' });
  await send('POST', `/calendars/${calendar}/feed`, account.bearer);
  const outbox = await send<{ job_status_id: string }>(
    'POST',
    '/v2/outbox',
    account.bearer,
    MESSAGE,
  );
  const [message] = await send<string[]>('GET', '/messages?view=ids', account.bearer);
  const [thread] = await send<string[]>('GET', '/threads?view=ids', account.bearer);
  const [file] = await send<string[]>('GET', '/files?view=ids', account.bearer);
  const events = await send<{ id: string; message_id: string | null }[]>(
    'GET',
    '/events',
    account.bearer,
  );
  const integrations = await send<{ data: { id: string }[] }>(
    'GET',
    '/connect/integrations',
    owning.basic,
  );
  const webhook = await id('POST', `/a/${owning.clientId}/webhooks`, owning.secretBasic, {
    callback_url: `https://${account.id}.example.test/hooks`,
    triggers: ['job.failed'],
    state: 'inactive',
  });
  return {
    application: owning,
    sendgrid,
    account,
    spare,
    calendar,
    event: await id('POST', '/events', account.bearer, { ...EVENT, calendar_id: calendar }),
    invitation: events.find(({ message_id }) => message_id !== null)?.id ?? missing('invitation'),
    message: message ?? missing('message'),
    thread: thread ?? missing('thread'),
    contact: await id('POST', '/contacts', account.bearer, { given_name: 'Bo' }),
    draft: await id('POST', '/drafts', account.bearer, { subject: 'Hello' }),
    file: file ?? missing('file'),
    folder: await id('POST', '/folders', account.bearer, { display_name: 'Invoices' }),
    outbox: outbox.job_status_id,
    webhook,
    webhookSecret: await id(
      'POST',
      `/a/${owning.clientId}/webhooks/${webhook}/secrets`,
      owning.secretBasic,
      {},
    ),
    conferencing: await id('PUT', `/a/${owning.clientId}/conferencing`, owning.secretBasic, {
      provider: 'WebEx',
      kind: 'link',
      settings: { url_template: 'https://meet.example.test/{room}' },
    }),
    integration: integrations.data[0]?.id ?? missing('integration'),
  };
}

/** Expressions that detect changes, for tables whose row versions also change without a request. */
const VERSIONS: Readonly<Record<string, string>> = {
  access_token: 'count(revoked_at) + count(expires_at)',
};

/**
 * Returns a function that makes a fingerprint of everything that is stored: the number and versions
 * of the rows of each table. Any write changes it, even one that writes the same values. It leaves
 * out what the server writes by itself: sync passes, heartbeats, the last use of tokens, and the
 * numbers of requests and of refused requests.
 */
export async function fingerprintOf(server: TestApp): Promise<() => Promise<string>> {
  const database = server.app.get(Database);
  const tables = await database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' and tablename not in ('worker', 'running_process', 'sync_job', 'refusal', 'request_count')`,
  );
  const text = tables
    .map(
      ({ name }) =>
        `select '${name.replaceAll('"', '')}' as t, count(*) as n, ${VERSIONS[name] ?? 'sum(xmin::text::bigint)'} as v from ${name}`,
    )
    .join(' union all ');
  return async () => {
    const rows = await database.query<{ t: string; n: number; v: number }>(text);
    return rows.map(({ t, n, v }) => `${t}:${n}:${v ?? 0}`).join(' ');
  };
}
