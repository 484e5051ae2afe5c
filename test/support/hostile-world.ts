import { Database } from '../../src/database/sql.ts';
import { MailboxSyncDispatcher } from '../../src/sync/mailbox-sync-dispatcher.ts';
import type { ApiDocument, Operation } from './api-document.ts';
import { registerSandbox } from './connect.ts';
import { createAccount, createApplication, type TestAccount, type TestApplication } from './factories.ts';
import { syncAccount } from './sync.ts';
import type { TestApp } from './test-app.ts';

/** One of everything, of one account of one application. */
export interface Belongings {
  application: TestApplication;
  account: TestAccount;
  /** An account to be cancelled, revoked and changed. */
  spare: TestAccount;
  calendar: string;
  event: string;
  message: string;
  outbox: string;
  webhook: string;
  integration: string;
  /** Address of a SendGrid that takes its key. */
  sendgrid: string;
}

/** What an operation's id in the path belongs to. */
const KINDS: readonly [RegExp, (owner: Belongings) => string][] = [
  [/^\/a\/\{client_id\}\/accounts\/\{/, ({ spare }) => spare.id],
  [/^\/a\/\{client_id\}\/webhooks\/\{/, ({ webhook }) => webhook],
  [/^\/connect\/grants\/\{/, ({ spare }) => spare.id],
  [/^\/connect\/integrations\/\{/, ({ integration }) => integration],
  [/^\/calendars\/\{/, ({ calendar }) => calendar],
  [/^\/events\/\{/, ({ event }) => event],
  [/^\/messages\/\{/, ({ message }) => message],
  [/^\/(v2\/outbox|job-statuses)\/\{/, ({ outbox }) => outbox],
];

/** The id in the path that is the owner's; undefined: the operation has none. */
export function idIn({ path }: Operation, owner: Belongings): string | undefined {
  return KINDS.find(([pattern]) => pattern.test(path))?.[1](owner);
}

/** The address of an operation. @param id already encoded */
export function addressOf({ path }: Operation, owner: Belongings, id = ''): string {
  return path.replace('{client_id}', owner.application.clientId).replace(/\{\w+\}/, () => id);
}

/** Headers that the operation accepts from the owner. */
export function credentialsOf(operation: Operation, owner: Belongings): Record<string, string> {
  const [scheme] = operation.security;
  switch (scheme) {
    case 'application':
      return owner.application.basic;
    case 'applicationSecret':
      return owner.application.secretBasic;
    case 'accessToken':
      // Revoking is for a token nobody needs any more.
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

/** A body the operation accepts from the owner: of its example, or richer. */
export function bodyOf(document: ApiDocument, { body, path, method }: Operation, owner: Belongings): object {
  const { clientId: client_id, clientSecret: client_secret } = owner.application;
  const example = (body ? document.resolve(body).example : undefined) as Record<string, unknown> | undefined;
  const credentials = {
    ...(example && 'client_id' in example ? { client_id } : {}),
    ...(example && 'client_secret' in example ? { client_secret } : {}),
  };
  if (path.startsWith('/events'))
    return { ...EVENT, ...(path === '/events' ? { calendar_id: owner.calendar } : {}) };
  if (path.endsWith('/onboard/subuser')) return { email: owner.account.email };
  if (path.startsWith('/v2/outbox')) return MESSAGE;
  if (path === '/calendars/{id}')
    return { name: 'Team', timezone: 'Europe/Berlin', metadata: { team: 'sales' } };
  if (path.endsWith('/webhooks')) {
    return { ...example, callback_url: 'https://127.0.0.1:9/hooks', state: 'inactive' };
  }
  if (path.endsWith('/webhooks/{id}')) return { state: 'inactive' };
  if (path === '/connect/integrations' && method === 'POST') return { ...example, provider: 'imap' };
  if (path.endsWith('/relay'))
    return { kind: 'sendgrid', settings: { api_key: 'SG.good-key', base_url: owner.sendgrid } };
  if (path.endsWith('/token-info')) return { access_token: owner.spare.token };
  if (path.endsWith('/revoke-all')) return { keep_access_token: owner.spare.token };
  return { ...example, ...credentials };
}

const missing = (what: string): never => {
  throw new Error(`there is no ${what}`);
};

/**
 * Everything an application and an account can have.
 * @param sendgrid where a SendGrid stand-in listens. @param application default: a new one
 */
export async function createBelongings(
  server: TestApp,
  sendgrid: string,
  application?: TestApplication,
): Promise<Belongings> {
  const { app, url } = server;
  const owning = application ?? (await createApplication(app, { features: ['sms'] }));
  if (!application) await registerSandbox(server, owning);
  const account = await createAccount(app, owning, { settings: { sample_messages: true } });
  const spare = await createAccount(app, owning);
  await syncAccount(app, app.get(MailboxSyncDispatcher), account.id);
  const send = async <T>(method: string, path: string, headers: object, body?: object): Promise<T> => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers },
      body: body ? JSON.stringify(body) : null,
    });
    const answer = (await response.json()) as T;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const id = async (...request: Parameters<typeof send>) => (await send<{ id: string }>(...request)).id;
  const calendar = await id('POST', '/calendars', account.bearer, { name: 'Team' });
  const outbox = await send<{ job_status_id: string }>('POST', '/v2/outbox', account.bearer, MESSAGE);
  const [message] = await send<string[]>('GET', '/messages?view=ids', account.bearer);
  const integrations = await send<{ data: { id: string }[] }>('GET', '/connect/integrations', owning.basic);
  return {
    application: owning,
    sendgrid,
    account,
    spare,
    calendar,
    event: await id('POST', '/events', account.bearer, { ...EVENT, calendar_id: calendar }),
    message: message ?? missing('message'),
    outbox: outbox.job_status_id,
    webhook: await id('POST', `/a/${owning.clientId}/webhooks`, owning.secretBasic, {
      callback_url: `https://${account.id}.example.test/hooks`,
      triggers: ['job.failed'],
      state: 'inactive',
    }),
    integration: integrations.data[0]?.id ?? missing('integration'),
  };
}

/**
 * A fingerprint of everything that is stored: number of rows and versions of rows, table by table. Any write changes
 * it, also one that writes what was there before.
 */
export async function fingerprintOf(server: TestApp): Promise<() => Promise<string>> {
  const database = server.app.get(Database);
  const tables = await database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' and tablename <> 'worker'`,
  );
  const text = tables
    .map(
      ({ name }) =>
        `select '${name.replaceAll('"', '')}' as t, count(*) as n, sum(xmin::text::bigint) as v from ${name}`,
    )
    .join(' union all ');
  return async () => {
    const rows = await database.query<{ t: string; n: number; v: number }>(text);
    return rows.map(({ t, n, v }) => `${t}:${n}:${v ?? 0}`).join(' ');
  };
}
