import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { firstIdAt, isId } from '../../platform/base/ids/ids.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import { idsOf, type Sql } from '../../platform/database/sql.ts';
import { lastPassFailed } from '../../accounts/sync-schedule/last-pass-failed.ts';
import { QUARANTINE_PREFIX } from '../../job-statuses/job-status.ts';
import { RECIPIENTS_IN_LOWER_CASE, SUBJECT_WORDS } from '../../mail/outbox/outbox-columns.ts';
import type { JobFilter, JobKind, JobStateFilter } from './job-types.ts';
import { ROW_WAITING } from '../../platform/work/queue/row-state.ts';

/** Actions of jobs that send a message. All other actions are provider writes. */
export const MESSAGE_ACTIONS = ['new_outbox', 'send_message', 'send_invitation'] as const;
const IS_MESSAGE = `s.action in (${MESSAGE_ACTIONS.map((action) => `'${action}'`).join(', ')})`;

/** A job that was found. */
export interface FoundJob {
  id: string;
  kind: JobKind;
}

/** A filter whose account and application are resolved. */
interface Search extends Omit<JobFilter, 'account' | 'application'> {
  /** All accounts with the address, in whichever application. */
  accountIds: string[] | null;
  applicationId: string | null;
  /** Only jobs with a smaller id: the pages before had the others. */
  before: string | null;
  /** Only jobs with a larger id: enough jobs of other kinds are newer. */
  after: string | null;
  /** How many ids to find. */
  most: number;
}

/** States of jobs with a queue row. */
const WAITING: readonly JobStateFilter[] = [
  'open',
  'late',
  'running',
  'unknown',
  'pending',
  'delayed',
];
/** Kinds in which a list without `kind` looks. A mailbox always has its sync job. */
const LISTED_KINDS: readonly JobKind[] = ['message', 'write', 'reminder'];

/**
 * Finds jobs of all accounts, newest first, with statements that use indexes.
 * @param before id of the last job of the page before; `null` for the first page
 * @throws {NotFoundError} if there is no such account or application
 */
export async function findJobs(
  sql: Sql,
  filter: JobFilter,
  before: string | null,
  most: number,
): Promise<FoundJob[]> {
  const { account, application, ...rest } = filter;
  const search: Search = {
    ...rest,
    accountIds: account === undefined ? null : await accountsOf(sql, account),
    applicationId: application === undefined ? null : await applicationOf(sql, application),
    before,
    after: null,
    most,
  };
  if (filter.id !== undefined && !isId(filter.id)) return [];
  let found: FoundJob[] = [];
  for (const kind of kindsOf(search)) {
    // Without the limit, a kind that is rare would be looked for in all jobs that were ever stored.
    const after = found[most - 1]?.id ?? null;
    const ids = await FINDERS[kind](sql, { ...search, after });
    const all = [...found, ...ids.map((id) => ({ id, kind }))];
    found = all.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, most);
  }
  return found;
}

/** The kinds that can have what the filter asks for. */
function kindsOf({ kind, id, state, recipient, subject, messageId }: Search): readonly JobKind[] {
  const listed = id === undefined ? LISTED_KINDS : ([...LISTED_KINDS, 'sync'] as const);
  return (kind === undefined ? listed : [kind]).filter((each) => {
    if (subject !== undefined && each !== 'message') return false;
    if ((recipient !== undefined || messageId !== undefined) && !hasRecipients(each)) return false;
    if (state === 'skipped') return each === 'reminder';
    return each !== 'sync' || state === undefined || WAITING.includes(state);
  });
}

const hasRecipients = (kind: JobKind) => kind === 'message' || kind === 'reminder';

const ACCOUNTS = 'select id from "grant" where id::text = $1 or lower(email) = $1';
const APPLICATION = 'select id from application where id::text = $1 or client_id = $1 limit 1';

async function accountsOf(sql: Sql, account: string): Promise<string[]> {
  const ids = idsOf(await sql.query<{ id: string }>(ACCOUNTS, [account.toLowerCase()]));
  if (ids.length === 0) throw new NotFoundError('account', account);
  return ids;
}

async function applicationOf(sql: Sql, application: string): Promise<string> {
  const [row] = await sql.query<{ id: string }>(APPLICATION, [application]);
  if (!row) throw new NotFoundError('application', application);
  return row.id;
}

/** Adds the conditions on id, time and owner that all kinds have. */
function bounded(search: Search, id: string, accountId: string): Conditions {
  const conditions = new Conditions();
  if (search.id !== undefined) conditions.add(`${id} = ${conditions.value(search.id)}`);
  if (search.after !== null) conditions.add(`${id} > ${conditions.value(search.after)}::uuid`);
  if (search.before !== null) conditions.add(`${id} < ${conditions.value(search.before)}::uuid`);
  if (search.since) conditions.add(`${id} >= ${conditions.value(firstIdAt(search.since))}::uuid`);
  if (search.until) conditions.add(`${id} < ${conditions.value(firstIdAt(search.until))}::uuid`);
  if (search.accountIds !== null)
    conditions.add(`${accountId} = any(${conditions.value(search.accountIds)}::uuid[])`);
  if (search.applicationId !== null) {
    const application = conditions.value(search.applicationId);
    conditions.add(
      `${accountId} in (select g.id from "grant" g where g.application_id = ${application})`,
    );
  }
  return conditions;
}

async function idsFrom(
  sql: Sql,
  {
    from,
    id,
    conditions,
    most,
  }: { from: string; id: string; conditions: Conditions; most: number },
): Promise<string[]> {
  const text = `select ${id} as id from ${from} where ${conditions.text} order by ${id} desc limit ${conditions.value(most)}`;
  return idsOf(await sql.query<{ id: string }>(text, conditions.values, { prepared: false }));
}

/** The condition of a state on the queue row `q`. */
function waitingCondition(state: JobStateFilter): string {
  switch (state) {
    case 'late':
      return `q.due_at < now() - interval '1 minute'`;
    case 'running':
      return `q.state <> ${ROW_WAITING}`;
    case 'unknown':
      return 'q.ambiguous';
    case 'quarantined':
      return 'q.crashes > 0';
    // A message is delayed only after its time has come.
    case 'delayed':
      return 'q.due_at <= now()';
    default:
      return 'true';
  }
}

/** The condition of a state on the job status `s`. */
function statusCondition(state: JobStateFilter): string {
  switch (state) {
    case 'open':
    case 'late':
    case 'running':
    case 'unknown':
      return `s.status in ('pending', 'delayed')`;
    case 'quarantined':
      return `s.status = 'failed' and s.reason like '${QUARANTINE_PREFIX}%'`;
    default:
      return `s.status = '${state}'`;
  }
}

/** Where jobs that have a status are found: those of messages, or those of provider writes. */
interface StatusSource {
  queue: 'send_job' | 'provider_job';
  /** Condition on the job status `s`. */
  isKind: string;
}

/** Every sent message has a job that files its copy. A list of everything would be half copies. */
const IS_NO_COPY = `s.action <> 'save_sent_email'`;
const leavesOutCopies = ({ kind, state }: Search): boolean =>
  kind === undefined && (state === undefined || state === 'successful');

const MESSAGES: StatusSource = { queue: 'send_job', isKind: IS_MESSAGE };
const WRITES: StatusSource = { queue: 'provider_job', isKind: `not ${IS_MESSAGE}` };

async function findStatuses(sql: Sql, search: Search, source: StatusSource): Promise<string[]> {
  const { state, most } = search;
  if (state === 'quarantined') {
    const waiting = await findWaiting(sql, search, state, source);
    const ended = await findEnded(sql, search, source);
    return [...waiting, ...ended].toSorted().toReversed().slice(0, most);
  }
  return state !== undefined && WAITING.includes(state)
    ? findWaiting(sql, search, state, source)
    : findEnded(sql, search, source);
}

/** Every open job has a queue row, and there are few of these. */
function findWaiting(
  sql: Sql,
  search: Search,
  state: JobStateFilter,
  { queue, isKind }: StatusSource,
): Promise<string[]> {
  const conditions = bounded(search, 'q.id', 'q.account_id');
  conditions.add(waitingCondition(state));
  conditions.add(statusCondition(state === 'quarantined' ? 'open' : state));
  conditions.add(isKind);
  if (leavesOutCopies(search)) conditions.add(IS_NO_COPY);
  return idsFrom(sql, {
    from: `${queue} q join job_status s on s.id = q.id`,
    id: 'q.id',
    conditions,
    most: search.most,
  });
}

/** Jobs in a state that needs no queue row, or in any state. */
async function findEnded(sql: Sql, search: Search, { isKind }: StatusSource): Promise<string[]> {
  const { state, most } = search;
  if ((state === 'failed' || state === 'quarantined') && search.accountIds === null) {
    const conditions = bounded(search, 'a.job_id', 's.account_id');
    conditions.add(`a.next_at is null and a.outcome <> 'sent'`);
    conditions.add(statusCondition(state));
    conditions.add(isKind);
    // A message that was released and failed again has two such attempts.
    const id = 'distinct a.job_id';
    const text = `select ${id} as id from job_attempt a join job_status s on s.id = a.job_id where ${conditions.text} order by a.job_id desc limit ${conditions.value(most)}`;
    return idsOf(await sql.query<{ id: string }>(text, conditions.values, { prepared: false }));
  }
  const conditions = bounded(search, 's.id', 's.account_id');
  conditions.add(isKind);
  if (leavesOutCopies(search)) conditions.add(IS_NO_COPY);
  if (state !== undefined) conditions.add(statusCondition(state));
  return idsFrom(sql, { from: 'job_status s', id: 's.id', conditions, most });
}

/** Frequent words and recipients are found among so many of the newest messages. */
const NEWEST = 2_000;

/**
 * Finds messages by what they say. The indexes return all messages with a word, in no order. So
 * frequent words are first looked for in the newest messages with the other conditions (ADR 0053).
 */
async function findByContent(sql: Sql, search: Search): Promise<string[]> {
  // Cancelled messages are rare and have no index of their own.
  if (search.messageId === undefined && search.state !== 'cancelled') {
    const newest = await findStatuses(sql, { ...search, most: NEWEST }, MESSAGES);
    const found = await findAmong(sql, search, newest);
    if (newest.length < NEWEST || found.length === search.most) return found;
  }
  const conditions = bounded(search, 'm.id', 'm.account_id');
  const content = contentConditions(search, conditions);
  const state = search.state === undefined ? 'true' : stateOfMessage(search.state);
  const text = `
    with m as materialized (select m.id from outbox_message m where ${conditions.text} and ${content})
    select s.id from m join job_status s on s.id = m.id where ${state} and ${IS_MESSAGE}
    order by s.id desc limit ${conditions.value(search.most)}`;
  return idsOf(await sql.query<{ id: string }>(text, conditions.values, { prepared: false }));
}

/** Those of the given messages that have the content, in the same order. */
async function findAmong(sql: Sql, search: Search, ids: readonly string[]): Promise<string[]> {
  const conditions = new Conditions();
  conditions.add(`m.id = any(${conditions.value(ids)}::uuid[])`);
  conditions.add(contentConditions(search, conditions));
  return idsFrom(sql, { from: 'outbox_message m', id: 'm.id', conditions, most: search.most });
}

/** A state of a message that was found by its content. */
function stateOfMessage(state: JobStateFilter): string {
  const queued = `exists (select from send_job q where q.id = s.id and ${waitingCondition(state)})`;
  if (state === 'quarantined')
    return `(${statusCondition(state)} or ${statusCondition('open')} and ${queued})`;
  return WAITING.includes(state)
    ? `${statusCondition(state)} and ${queued}`
    : statusCondition(state);
}

function contentConditions(
  { recipient, subject, messageId }: Search,
  conditions: Conditions,
): string {
  const texts: string[] = [];
  if (recipient !== undefined) {
    const value = conditions.value(JSON.stringify([recipient.toLowerCase()]));
    texts.push(`(${RECIPIENTS_IN_LOWER_CASE('m.')}) @> ${value}::jsonb`);
  }
  if (subject !== undefined)
    texts.push(`${SUBJECT_WORDS('m.')} @@ (${subjectQuery(subject, conditions)})`);
  if (messageId !== undefined) {
    const header = conditions.value(bracketed(messageId));
    const own = ownId(messageId);
    const foreign = `m.foreign_header and m.message_id_header = ${header}`;
    texts.push(
      own === null
        ? `(${foreign})`
        : `(m.id = ${conditions.value(own)} and m.message_id_header = ${header} or ${foreign})`,
    );
  }
  return texts.join(' and ');
}

/**
 * SQL: all words of the text, in any case. In a database with the locale C, PostgreSQL changes the
 * case of ASCII letters only, so other words are looked for in each usual spelling.
 */
function subjectQuery(subject: string, conditions: Conditions): string {
  const words = subject.trim().split(/\s+/u);
  const spellings = words.map((word) => {
    const lower = word.toLowerCase();
    const [first = ''] = lower;
    const capitalized = first.toUpperCase() + lower.slice(first.length);
    return new Set([word, lower, word.toUpperCase(), capitalized]);
  });
  const query = (word: string) => `plainto_tsquery('simple', ${conditions.value(word)})`;
  return spellings.map((each) => `(${[...each].map(query).join(' || ')})`).join(' && ');
}

const bracketed = (messageId: string): string => `<${messageId.replace(/^<|>$/g, '')}>`;

/** The id of the row that gave a message its Message-ID; `null` if its sender chose the header. */
function ownId(messageId: string): string | null {
  const id = /^<?([0-9a-f-]{36})[.@]/i.exec(messageId)?.[1];
  return id !== undefined && isId(id) ? id : null;
}

const REMINDER_STATES: Partial<Record<JobStateFilter, string>> = {
  pending: `r.status = 'scheduled' and r.attempts = 0`,
  delayed: `r.status = 'scheduled' and r.attempts > 0`,
  successful: `r.status = 'sent'`,
  quarantined: `r.status = 'failed' and r.reason like '${QUARANTINE_PREFIX}%'`,
};

function findReminders(sql: Sql, search: Search): Promise<string[]> {
  const { state, recipient, messageId, most } = search;
  const waits = state !== undefined && WAITING.includes(state);
  const conditions = bounded(search, waits ? 'q.id' : 'r.id', 'r.account_id');
  if (recipient !== undefined)
    conditions.add(`lower(r.recipient) = ${conditions.value(recipient.toLowerCase())}`);
  if (messageId !== undefined) {
    const own = ownId(messageId);
    if (own === null) return Promise.resolve([]);
    conditions.add(`r.id = ${conditions.value(own)}`);
    conditions.add(`r.message_id_header = ${conditions.value(bracketed(messageId))}`);
  }
  if (waits) {
    conditions.add(`r.status = 'scheduled'`);
    conditions.add(waitingCondition(state === 'delayed' ? 'open' : state));
  }
  if (state !== undefined) {
    const same = `r.status in ('failed', 'cancelled', 'skipped') and r.status = '${state}'`;
    conditions.add(REMINDER_STATES[state] ?? (waits ? 'true' : same));
  }
  const from = waits ? 'reminder_job q join reminder r on r.id = q.id' : 'reminder r';
  return idsFrom(sql, { from, id: waits ? 'q.id' : 'r.id', conditions, most });
}

/** SQL condition: the last sync pass failed, and the next one waits. */
export const SYNC_IS_DELAYED = lastPassFailed('q');

function findSyncs(sql: Sql, search: Search): Promise<string[]> {
  const { state, most } = search;
  const conditions = bounded(search, 'q.id', 'q.account_id');
  if (state === 'pending') conditions.add(`not ${SYNC_IS_DELAYED}`);
  else if (state === 'delayed') conditions.add(SYNC_IS_DELAYED);
  else if (state === 'late')
    conditions.add(`q.state = ${ROW_WAITING} and q.run_at < now() - interval '1 minute'`);
  else if (state !== undefined) conditions.add(waitingCondition(state));
  return idsFrom(sql, { from: 'sync_job q', id: 'q.id', conditions, most });
}

const byContent = ({ recipient, subject, messageId }: Search): boolean =>
  recipient !== undefined || subject !== undefined || messageId !== undefined;

const FINDERS: Readonly<Record<JobKind, (sql: Sql, search: Search) => Promise<string[]>>> = {
  message: (sql, search) =>
    byContent(search) ? findByContent(sql, search) : findStatuses(sql, search, MESSAGES),
  write: (sql, search) => findStatuses(sql, search, WRITES),
  reminder: findReminders,
  sync: findSyncs,
};
