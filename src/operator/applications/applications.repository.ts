import { Conditions } from '../../platform/database/conditions.ts';
import type { Sql } from '../../platform/database/sql.ts';
import { countOf } from '../search/search-limit.ts';
import type {
  ApplicationDeletionState,
  ApplicationDetail,
  ApplicationFilter,
  ApplicationItem,
  OperatorHold,
} from './application-item.ts';

/** Counts do not go beyond these numbers. */
const MOST_ACCOUNTS = 100_000;
const MOST_MESSAGES = 10_000;

const hold = (at: string, reason: string) =>
  `case when ${at} is not null then jsonb_build_object('since', ${at}, 'reason', ${reason}) end`;

export const DELETION_COLUMNS = `
  d.application_id as "applicationId", d.client_id as "clientId", d.name, d.requested_at as "requestedAt",
  d.requested_by as "requestedBy", d.accounts, d.accounts_deleted as "accountsDeleted", d.step,
  d.finished_at as "finishedAt", d.last_error as "lastError"`;

const accounts = (condition: string) =>
  `(select count(*)::int from (select from "grant" g where g.application_id = a.id ${condition} limit ${MOST_ACCOUNTS}) c)`;

const COLUMNS = `
  a.id, a.client_id as "clientId", a.name, a.plan, a.features, a.region, a.created_at as "createdAt",
  ${accounts('')} as accounts, ${accounts(`and g.status = 'invalid'`)} as "invalidAccounts",
  ${hold('a.sending_paused_at', 'a.sending_pause_reason')} as "sendingPaused",
  ${hold('a.suspended_at', 'a.suspension_reason')} as suspended`;

type StoredHold = { since: string; reason: string | null } | null;
type Row = Omit<ApplicationItem, 'sendingPaused' | 'suspended' | 'deletion'> & {
  sendingPaused: StoredHold;
  suspended: StoredHold;
};

const toHold = (stored: StoredHold): OperatorHold | null =>
  stored && { ...stored, since: new Date(stored.since) };

const CONDITIONS: Readonly<Record<NonNullable<ApplicationFilter['state']>, string>> = {
  active: 'a.sending_paused_at is null and a.suspended_at is null',
  'sending-paused': 'a.sending_paused_at is not null',
  suspended: 'a.suspended_at is not null',
  deleting: 'exists (select from application_deletion d where d.application_id = a.id)',
};

const literally = (text: string) => text.replace(/[\\%_]/g, '\\$&');

/**
 * Applications, oldest first.
 * @param after id of the last application of the page before; `null` for the first page
 */
export async function listOperatorApplications(
  sql: Sql,
  filter: ApplicationFilter,
  after: string | null,
  most: number,
): Promise<ApplicationItem[]> {
  const where = conditionsOf(filter);
  if (after !== null) where.add(`a.id > ${where.value(after)}`);
  const rows = await sql.query<Row>(
    `select ${COLUMNS} from application a where ${where.text} order by a.id limit ${where.value(most)}`,
    where.values,
    { prepared: false },
  );
  const deletions = await readDeletions(
    sql,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => ({
    ...row,
    sendingPaused: toHold(row.sendingPaused),
    suspended: toHold(row.suspended),
    deletion: deletions.get(row.id) ?? null,
  }));
}

/** Counts the applications of a list. @param most counts no further */
export function countOperatorApplications(
  sql: Sql,
  filter: ApplicationFilter,
  most: number,
): Promise<number> {
  const where = conditionsOf(filter);
  const text = `select count(*)::int as n from (select from application a where ${where.text} limit ${where.value(most)}) c`;
  return countOf(sql, text, where.values);
}

function conditionsOf({ state, search }: ApplicationFilter): Conditions {
  const where = new Conditions();
  if (state !== undefined) where.add(CONDITIONS[state]);
  if (search !== undefined) {
    const like = where.value(`%${literally(search.toLowerCase())}%`);
    where.add(`lower(a.name) like ${like} or lower(a.client_id) like ${like}`);
  }
  return where;
}

async function readDeletions(
  sql: Sql,
  ids: readonly string[],
): Promise<Map<string, ApplicationDeletionState>> {
  const rows = await sql.query<ApplicationDeletionState>(
    `select ${DELETION_COLUMNS} from application_deletion d where d.application_id = any($1::uuid[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row.applicationId, row]));
}

const DETAIL = `
  select ${COLUMNS}, a.contact_email as "contactEmail",
    (select jsonb_build_object('at', m.failed_at, 'reason', m.failure) from webhook_mail m
     where m.application_id = a.id and m.failed_at is not null) as "mailFailure",
    a.redirect_uris as "redirectUris", a.allowed_scopes as "allowedScopes",
    a.token_lifetime as "tokenLifetime", a.allows_token_response as "allowsTokenResponse",
    a.revokes_older_tokens as "revokesOlderTokens",
    coalesce((select jsonb_agg(jsonb_build_object('provider', i.provider, 'name', i.name) order by i.provider)
      from integration i where i.application_id = a.id), '[]') as integrations,
    (select jsonb_build_object(
       'active', count(*) filter (where w.state = 'active'),
       'failing', count(*) filter (where w.state = 'failing'),
       'failed', count(*) filter (where w.state = 'failed'))
     from webhook w where w.application_id = a.id) as webhooks,
    (select count(*)::int from (
       select from "grant" g join send_job j on j.account_id = g.id and j.paused
       where g.application_id = a.id limit ${MOST_MESSAGES}) m) as "pausedMessages"
  from application a where a.client_id = $1 or a.id::text = $1`;

/** @param idOrClientId id or client id */
export async function readApplication(
  sql: Sql,
  idOrClientId: string,
): Promise<ApplicationDetail | undefined> {
  if (idOrClientId.includes('\0')) return undefined;
  type DetailRow = Row & { mailFailure: { at: string; reason: string } | null } & Pick<
      ApplicationDetail,
      | 'contactEmail'
      | 'redirectUris'
      | 'allowedScopes'
      | 'tokenLifetime'
      | 'allowsTokenResponse'
      | 'revokesOlderTokens'
      | 'integrations'
      | 'webhooks'
      | 'pausedMessages'
    >;
  const [row] = await sql.query<DetailRow>(DETAIL, [idOrClientId]);
  if (!row) return undefined;
  const deletions = await readDeletions(sql, [row.id]);
  return {
    ...row,
    mailFailure: row.mailFailure && { ...row.mailFailure, at: new Date(row.mailFailure.at) },
    sendingPaused: toHold(row.sendingPaused),
    suspended: toHold(row.suspended),
    deletion: deletions.get(row.id) ?? null,
  };
}

/**
 * Deletions of applications, newest first, the finished ones of the last 90 days included.
 * @param most maximum number
 */
export function listDeletions(sql: Sql, most: number): Promise<ApplicationDeletionState[]> {
  return sql.query<ApplicationDeletionState>(
    `select ${DELETION_COLUMNS} from application_deletion d order by d.requested_at desc, d.application_id limit $1`,
    [most],
  );
}
