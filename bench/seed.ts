import type pg from 'pg';
import { hashToken } from '../src/platform/base/crypto/token-hash.ts';
import { SecretBox } from '../src/platform/base/crypto/secret-box.ts';
import { newId, randomBase36, SECRET_LENGTH } from '../src/platform/base/ids/ids.ts';
import { sealGrantSettings } from '../src/accounts/grants/credentials/grant-secrets.ts';
import { createDeliveryRateGate } from '../src/platform/webhooks/delivery/delivery.repository.ts';
import { notifyDue } from '../src/platform/work/due-notification.ts';
import { sampleMime } from './sample.ts';

/** A connected account with a token. */
export interface BenchAccount {
  id: string;
  applicationId: string;
  email: string;
  token: string;
}

/**
 * Credentials of outbox accounts. The connector of the bench's processes decides where their mail
 * goes.
 */
const SETTINGS = { username: 'bench', password: 'bench' };

/** An application with connected accounts. */
export interface BenchApplication {
  id: string;
  clientId: string;
  clientSecret: string;
}

/** Inserts an application. */
export async function seedApplication(sql: pg.Client, box: SecretBox): Promise<BenchApplication> {
  const applicationId = newId();
  const clientId = randomBase36(25);
  const secret = randomBase36(SECRET_LENGTH);
  await sql.query(
    `insert into application (id, client_id, name, secret_hash, secret_sealed, plan, features, region, redirect_uris,
                              created_at, updated_at)
     values ($1, $2, 'Bench', $3, $4, 'standard', '{}', 'us', '{}', now(), now())`,
    [
      applicationId,
      clientId,
      hashToken(secret),
      box.seal(secret, `application.secret:${applicationId}`),
    ],
  );
  return { id: applicationId, clientId, clientSecret: secret };
}

/**
 * Inserts accounts of one provider, each with a token.
 * @param settingsOf settings of an account by its number
 */
export async function seedAccounts(
  sql: pg.Client,
  box: SecretBox,
  applicationId: string,
  provider: 'imap' | 'sandbox',
  count: number,
  settingsOf: (index: number) => object = () => SETTINGS,
): Promise<BenchAccount[]> {
  const accounts = Array.from({ length: count }, (_, index) => ({
    id: newId(),
    applicationId,
    email: `${provider}-${index}@bench.test`,
    token: randomBase36(SECRET_LENGTH),
  }));
  await sql.query(
    `insert into "grant" (id, application_id, provider, email, name, status, sync_state, organization_unit,
                          billing_state, metadata, settings_sealed, proof, linked_at, created_at, updated_at)
     select id, $1, $5, email, 'Bench', 'valid', 'running', 'folder', 'paid', '{}', sealed,
       case when $5 = 'sandbox' then 'sandbox' else 'integration' end, now(), now(), now()
     from unnest($2::uuid[], $3::text[], $4::text[]) a(id, email, sealed)`,
    [
      applicationId,
      accounts.map(({ id }) => id),
      accounts.map(({ email }) => email),
      accounts.map(({ id }, index) => sealGrantSettings(box, id, { ...settingsOf(index) })),
      provider,
    ],
  );
  await sql.query(
    `insert into access_token (id, grant_id, hash, created_at)
     select id, grant_id, hash, now() from unnest($1::uuid[], $2::uuid[], $3::bytea[]) a(id, grant_id, hash)`,
    [
      accounts.map(() => newId()),
      accounts.map(({ id }) => id),
      accounts.map(({ token }) => hashToken(token)),
    ],
  );
  return accounts;
}

/**
 * Subscribes the application to the results of its messages, at the usual pace of webhooks.
 * @param name path of the callback URL; each webhook needs one of its own
 */
export async function seedWebhook(
  sql: pg.Client,
  applicationId: string,
  port: number,
  name = 'hook',
): Promise<void> {
  const id = newId();
  await sql.query(
    `insert into webhook (id, application_id, callback_url, state, triggers, subscribed_at, created_at, updated_at)
     values ($1, $2, $3, 'active', '{job.successful,job.failed}', now(), now(), now())`,
    [id, applicationId, `http://127.0.0.1:${port}/${name}`],
  );
  await createDeliveryRateGate(
    { query: async (text, values = []) => (await sql.query(text, [...values])).rows },
    id,
  );
}

/** Messages to insert, one per entry of `dueMs`. */
export interface DueMessages {
  /** Part of the Message-IDs. Distinguishes the groups of messages of a row. */
  tag: string;
  accounts: readonly BenchAccount[];
  /**
   * Due time of each message: database time in milliseconds since 1970. The messages are
   * distributed over the accounts in rotation.
   */
  dueMs: readonly number[];
}

const MESSAGES = `
  with asked as (
    select a.id, a.account_id, to_timestamp(a.due_ms / 1000) as at, g.email,
      format('<%s.%s.%s@bench.test>', $4::text, a.due_ms, a.n) as message_id_header
    from unnest($1::uuid[], $2::uuid[], $3::float8[]) with ordinality a(id, account_id, due_ms, n)
    join "grant" g on g.id = a.account_id),
  status as (
    insert into job_status (id, account_id, action, object, status, send_at, original_send_at, retry_limit_at,
                            message_id, thread_id, created_at, updated_at)
    select id, account_id, 'new_outbox', 'message', 'pending', at, at, at + interval '1 day', gen_random_uuid(),
      gen_random_uuid(), now(), now() from asked),
  content as (
    insert into outbox_message (id, account_id, content, envelope, mime, message_id_header)
    select id, account_id, $5::jsonb, jsonb_build_object('from', email, 'recipients', '["bo@example.test"]'::jsonb),
      $6, message_id_header from asked)
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
  select id, account_id, at, at, at + interval '1 day' from asked`;

const CONTENT = JSON.stringify({
  from: [{ email: 'ada@bench.test', name: 'Ada' }],
  to: [{ email: 'bo@example.test', name: 'Bo' }],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: 'The figures of last month',
  body: '<p>Hello Bo</p>'.padEnd(1_100, 'x'),
});

/**
 * Inserts messages as accepting them does, in one transaction, and wakes workers as the product
 * does.
 */
export async function seedMessages(
  sql: pg.Client,
  { tag, accounts, dueMs }: DueMessages,
): Promise<void> {
  const mime = await sampleMime();
  await sql.query('begin');
  await sql.query(MESSAGES, [
    dueMs.map(() => newId()),
    dueMs.map((_, index) => accounts[index % accounts.length]?.id),
    dueMs,
    tag,
    CONTENT,
    mime,
  ]);
  await sql.query('commit');
  await notifyDue(
    { query: async (text, values = []) => (await sql.query(text, [...values])).rows },
    ['send'],
  );
}

const BATCH = 500_000;

// Ids as the product makes them: the first 48 bits are milliseconds, so that ids grow with the
// rows.
const PENDING = `
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
  select (lpad(to_hex($3::bigint + i), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid,
    ($4::uuid[])[1 + i % array_length($4::uuid[], 1)], at, at, at + interval '1 day'
  from generate_series($1::int, $2::int) i, lateral (select now() + interval '1 day' + i * interval '0.5 s' as at) x`;

/**
 * Adds waiting rows, due from tomorrow on, until the queue has `total`. Only queue rows are
 * written, because no other table is read for them.
 */
export async function seedPending(
  sql: pg.Client,
  accounts: readonly BenchAccount[],
  from: number,
  total: number,
): Promise<void> {
  const firstIdMs = Date.now() - 2 * 86_400_000;
  const ids = accounts.map(({ id }) => id);
  for (let low = from + 1; low <= total; low += BATCH) {
    await sql.query(PENDING, [low, Math.min(low + BATCH - 1, total), firstIdMs, ids]);
  }
  await sql.query('vacuum (analyze) send_job');
}

const OPEN = `
  select exists (select 1 from send_job where state = 0 and run_at < now() + interval '1 hour')
      or exists (select 1 from send_job where state = 1) as open`;

/**
 * Waits until every row due within the hour is settled.
 * @returns when, by `performance.now()`
 * @throws {Error} after `limitMs`
 */
export async function untilSettled(sql: pg.Client, limitMs: number, everyMs = 10): Promise<number> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const { rows } = await sql.query<{ open: boolean }>({ name: 'open', text: OPEN });
    const now = performance.now();
    if (!rows[0]?.open) return now;
    if (now > deadline)
      throw new Error(`the queue did not become empty within ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Number of jobs with a status. */
export async function countJobs(sql: pg.Client, status: string): Promise<number> {
  const { rows } = await sql.query<{ n: number }>(
    'select count(*)::int as n from job_status where status = $1',
    [status],
  );
  return rows[0]?.n ?? 0;
}

/** Time of the database's clock, in milliseconds since 1970. */
export async function databaseNowMs(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return rows[0]?.ms ?? 0;
}
