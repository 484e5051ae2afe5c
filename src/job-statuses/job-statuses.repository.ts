import { Injectable } from '@nestjs/common';
import { Conditions } from '../platform/database/conditions.ts';
import { type Listing, type Page, runListing } from '../platform/database/listing.ts';
import { Database } from '../platform/database/sql.ts';
import type { RefusedRecipient } from '../platform/base/errors/provider-error.ts';
import type { AttemptRecord } from './job-attempts.ts';
import type { JobAction, JobState, SendRoute } from './job-status.ts';
import { ROW_WAITING } from '../platform/work/queue/row-state.ts';

/** A job status as it is read. `content` is set only for outbox messages. */
export interface JobRow {
  id: string;
  accountId: string;
  action: string;
  object: string;
  objectId: string | null;
  status: JobState;
  reason: string | null;
  sendAt: Date | null;
  originalSendAt: Date | null;
  retryLimitAt: Date | null;
  messageId: string | null;
  threadId: string | null;
  /**
   * Route of the message; `null` if no recipient has accepted it yet, or if the job is not about a
   * message.
   */
  route: SendRoute | null;
  createdAt: Date;
  content: Record<string, unknown> | null;
  /** Only with `view=expanded`: the timeline. */
  attempts?: AttemptRow[];
  /** Only with `view=expanded`: `null` if the job is not about a message. */
  recipients?: RecipientsRow | null;
}

/** A page of jobs, with their attempts and recipients if the view is `expanded`. */
export interface ListedJobs extends Page {
  view?: 'ids' | 'count' | 'expanded' | undefined;
}

/** One attempt in the timeline of a job status. */
export type AttemptRow = Omit<AttemptRecord, 'id' | 'jobId' | 'server'>;

/** A job as the database returns it: JSON has numbers instead of dates. */
interface StoredJobRow extends Omit<JobRow, 'attempts'> {
  attempts?: (Omit<AttemptRow, 'startedAt' | 'endedAt' | 'nextAt'> & {
    startedAt: number;
    endedAt: number;
    nextAt: number | null;
  })[];
}

/** Recipients that have accepted a message, and recipients that have refused it permanently. */
export interface RecipientsRow {
  accepted: string[];
  refused: RefusedRecipient[];
}

const millis = (instant: string) => `floor(extract(epoch from ${instant}) * 1000)`;

const COLUMNS = `
  s.id, s.account_id as "accountId", s.action, s.object, s.object_id as "objectId", s.status, s.reason,
  s.send_at as "sendAt", s.original_send_at as "originalSendAt", s.retry_limit_at as "retryLimitAt",
  s.message_id as "messageId", s.thread_id as "threadId", s.route, s.created_at as "createdAt",
  s.content`;
const CONTENT = 'left join outbox_message m on m.id = s.id';
/** What is read of a job and its message, if it has one. All have the alias `s` afterwards. */
const FIELDS = 's.*, m.content, m.envelope, m.accepted, m.refused';

const findText = (columns: string) => `
  select ${columns} from (select ${FIELDS} from job_status s ${CONTENT}) s where s.id = $1 and s.account_id = $2`;
const FIND = findText(COLUMNS);
// The next attempt may have been moved since the last one ended. While the rate gate of the account
// is closed, only an attempt at the deadline is made. An ended job has no next attempt.
const NEXT_AT = `
  case when exists (select 1 from job_attempt l where l.job_id = a.job_id and (l.attempt, l.id) > (a.attempt, a.id)) then a.next_at
       when s.status in ('successful', 'failed', 'cancelled') then null
       else coalesce((
         select case when g.closed_until is null then q.run_at
                     else greatest(q.run_at, least(g.closed_until, q.retry_limit_at)) end
         from send_job q left join account_gate g on g.account_id = q.account_id and g.closed_until > now()
         where q.id = s.id and q.state = ${ROW_WAITING}), a.next_at) end`;

// A sent message was accepted by every recipient that did not refuse it, so ordinary messages
// store no list of their own.
const RECIPIENTS = `
  json_build_object('refused', s.refused, 'accepted',
    case when s.status = 'successful' then to_json(array(
      select r from jsonb_array_elements_text(s.envelope -> 'recipients') with ordinality x(r, n)
      where lower(r) not in (select lower(f ->> 'email') from jsonb_array_elements(s.refused) f) order by n))
    else to_json(s.accepted) end)`;

/** What `view=expanded` adds. Times are Unix milliseconds, because JSON has no times. */
const DETAILS = `
  (select coalesce(json_agg(json_build_object('attempt', a.attempt, 'startedAt', ${millis('a.started_at')},
     'endedAt', ${millis('a.ended_at')}, 'outcome', a.outcome, 'route', a.route, 'phase', a.phase, 'code', a.code,
     'detail', a.detail, 'nextAt', ${millis(NEXT_AT)}, 'rule', a.rule) order by a.attempt, a.id), '[]')
   from job_attempt a where a.job_id = s.id) as attempts,
  case when s.content is not null then ${RECIPIENTS} end as recipients`;
const DETAIL_BYTES = `
  coalesce((select sum(coalesce(octet_length(a.detail), 0) + 300) from job_attempt a where a.job_id = s.id), 0)`;
// The MIME text is about as long as the content, and PostgreSQL knows its length without reading
// it.
const CONTENT_BYTES = 'coalesce(octet_length(m.mime), 0)';
const FIND_EXPANDED = findText(`${COLUMNS}, ${DETAILS}`);

const LISTED = {
  from: 'job_status s',
  id: 's.id',
  orderBy: 's.id desc',
};

/** Reads job statuses. Only `jobs.ts` writes them. */
@Injectable()
export class JobStatusesRepository {
  constructor(private readonly database: Database) {}

  /** @param expanded whether to read the attempts and recipients, too */
  async find(accountId: string, id: string, expanded: boolean): Promise<JobRow | undefined> {
    const text = expanded ? FIND_EXPANDED : FIND;
    const [row] = await this.database.query<StoredJobRow>(text, [id, accountId]);
    return row && toJobRow(row);
  }

  /**
   * Newest first.
   * @param actions only jobs with these actions; `null` = all
   */
  async list(
    accountId: string,
    { view, ...page }: ListedJobs,
    actions: readonly JobAction[] | null,
  ): Promise<Listing<JobRow>> {
    const expanded = view === 'expanded';
    const conditions = new Conditions();
    conditions.add(`s.account_id = ${conditions.value(accountId)}`);
    if (actions) conditions.add(`s.action = any(${conditions.value(actions)}::text[])`);
    const listing = await runListing<StoredJobRow>(this.database, {
      columns: expanded ? `${COLUMNS}, ${DETAILS}` : COLUMNS,
      ...LISTED,
      items: { ...LISTED, with: CONTENT, fields: FIELDS },
      bytes: expanded ? `${CONTENT_BYTES} + ${DETAIL_BYTES}` : CONTENT_BYTES,
      conditions,
      page,
      view: expanded ? undefined : view,
    });
    return listing.view === 'items' ? { ...listing, items: listing.items.map(toJobRow) } : listing;
  }
}

function toJobRow({ attempts, ...row }: StoredJobRow): JobRow {
  if (!attempts) return row;
  const read = attempts.map(({ startedAt, endedAt, nextAt, ...attempt }) => ({
    ...attempt,
    startedAt: new Date(startedAt),
    endedAt: new Date(endedAt),
    nextAt: nextAt === null ? null : new Date(nextAt),
  }));
  return { ...row, attempts: read };
}
