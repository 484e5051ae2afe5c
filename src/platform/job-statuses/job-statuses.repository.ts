import { Injectable } from '@nestjs/common';
import { Conditions } from '../database/conditions.ts';
import { type Listing, type PageOfView, runListing } from '../database/listing.ts';
import { Database } from '../database/sql.ts';
import type { RefusedRecipient } from '../base/errors/provider-error.ts';
import type { JobAction, JobState, SendRoute } from './job-status.ts';

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
}

/** One attempt in the timeline of a job status. */
export interface AttemptRow {
  attempt: number;
  startedAt: Date;
  endedAt: Date;
  outcome: 'sent' | 'not-sent' | 'unknown';
  route: SendRoute | null;
  phase: string | null;
  code: string | null;
  detail: string | null;
  nextAt: Date | null;
  rule: string | null;
}

/** Recipients that have accepted a message, and recipients that have refused it permanently. */
export interface RecipientsRow {
  accepted: string[];
  refused: RefusedRecipient[];
}

const COLUMNS = `
  s.id, s.account_id as "accountId", s.action, s.object, s.object_id as "objectId", s.status, s.reason,
  s.send_at as "sendAt", s.original_send_at as "originalSendAt", s.retry_limit_at as "retryLimitAt",
  s.message_id as "messageId", s.thread_id as "threadId", s.route, s.created_at as "createdAt",
  (select m.content from outbox_message m where m.id = s.id) as content`;

const FIND = `select ${COLUMNS} from job_status s where s.id = $1 and s.account_id = $2`;
// The next attempt may have been moved since the last one ended. While the rate gate of the account
// is closed, only an attempt at the deadline is made. An ended job has no next attempt.
const NEXT_AT = `
  case when exists (select 1 from job_attempt l where l.job_id = a.job_id and l.id > a.id) then a.next_at
       when s.status in ('successful', 'failed', 'cancelled') then null
       else coalesce((
         select case when g.closed_until is null then q.run_at
                     else greatest(q.run_at, least(g.closed_until, q.retry_limit_at)) end
         from send_job q left join account_gate g on g.account_id = q.account_id and g.closed_until > now()
         where q.id = s.id and q.state = 0), a.next_at) end`;

const ATTEMPTS = `
  select a.attempt, a.started_at as "startedAt", a.ended_at as "endedAt", a.outcome, a.route, a.phase, a.code, a.detail,
    ${NEXT_AT} as "nextAt", a.rule
  from job_attempt a join job_status s on s.id = a.job_id where a.job_id = $1 order by a.id`;

// A sent message was accepted by every recipient that did not refuse it, so ordinary messages
// store no list of their own.
const RECIPIENTS = `
  select m.refused,
    case when s.status = 'successful' then array(
      select r from jsonb_array_elements_text(m.envelope -> 'recipients') with ordinality x(r, n)
      where lower(r) not in (select lower(f ->> 'email') from jsonb_array_elements(m.refused) f) order by n)
    else m.accepted end as accepted
  from outbox_message m join job_status s using (id) where m.id = $1`;

/** Reads job statuses. Only `jobs.ts` writes them. */
@Injectable()
export class JobStatusesRepository {
  constructor(private readonly database: Database) {}

  async find(accountId: string, id: string): Promise<JobRow | undefined> {
    const [row] = await this.database.query<JobRow>(FIND, [id, accountId]);
    return row;
  }

  /**
   * Newest first.
   * @param actions only jobs with these actions; `null` = all
   */
  list(
    accountId: string,
    query: PageOfView,
    actions: readonly JobAction[] | null,
  ): Promise<Listing<JobRow>> {
    const conditions = new Conditions();
    conditions.add(`s.account_id = ${conditions.value(accountId)}`);
    if (actions) conditions.add(`s.action = any(${conditions.value(actions)}::text[])`);
    return runListing<JobRow>(this.database, {
      columns: COLUMNS,
      from: 'job_status s',
      id: 's.id',
      // The MIME text is about as long as the content, and PostgreSQL knows its length without
      // reading it.
      bytes: '(select octet_length(m.mime) from outbox_message m where m.id = s.id)',
      orderBy: 's.id desc',
      conditions,
      page: query,
      view: query.view,
    });
  }

  /** The timeline of a job status that `find` returned. */
  attempts(jobId: string): Promise<AttemptRow[]> {
    return this.database.query<AttemptRow>(ATTEMPTS, [jobId]);
  }

  /**
   * The recipients of a job status that `find` returned; `undefined` if it is not about an outbox
   * message.
   */
  async recipients(jobId: string): Promise<RecipientsRow | undefined> {
    const [row] = await this.database.query<RecipientsRow>(RECIPIENTS, [jobId]);
    return row;
  }
}
