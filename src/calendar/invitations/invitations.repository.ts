import { Injectable } from '@nestjs/common';
import type { Page } from '../../platform/database/listing.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import type { JobState } from '../../job-statuses/job-status.ts';
import { openProviderWrites } from '../../accounts/provider-writes/provider-jobs.ts';
import type { InvitationContent, InvitationRecipient } from './invitation-content.ts';
import type { InvitationKind } from './invitation-plan.ts';
import type { Invitation } from './invitation.entity.ts';
import type { RowOf, OrNull } from '../../platform/database/rows/row-of.ts';
import type { OutboxMessage } from '../../mail/outbox/outbox-message.entity.ts';

/** Messages of one kind to be sent about a change. */
export interface NewInvitation {
  kind: InvitationKind;
  sequence: number;
  recipients: readonly InvitationRecipient[];
}

/** The change that participants are notified of. */
export interface InvitationSource {
  accountId: string;
  eventId: string;
  /** Id of the provider write that carries the change to the provider. */
  writeId: string;
  content: InvitationContent;
  at: Date;
}

/** An invitation whose mails are to be made. */
export interface WaitingInvitation extends RowOf<
  Invitation,
  'id' | 'eventId' | 'kind' | 'sequence' | 'recipients' | 'content' | 'createdAt'
> {
  /** Status of the change's provider write; `null` if its job status was deleted. */
  writeStatus: JobState | null;
  writeReason: string | null;
  /** Recipients who have received no message about the event: the earlier ones were not sent. */
  unnotified: string[];
}

/** Result of one recipient's message. */
export interface InvitationResult
  extends
    RowOf<Invitation, 'id' | 'kind' | 'sequence' | 'createdAt'>,
    OrNull<RowOf<OutboxMessage, 'refused'>> {
  email: string;
  name: string;
  skipped: string | null;
  /** Id of the mail and its job status; `null` if the mail has not been made yet. */
  mailId: string | null;
  mailStatus: JobState | null;
  mailReason: string | null;
  /** Status of the provider write that makes the mails. */
  jobStatus: JobState;
  jobReason: string | null;
}

const INSERT = `
  insert into invitation (id, account_id, event_id, write_id, kind, sequence, recipients, content, created_at)
  select x.id, $2, $3, $4, x.kind, x.sequence, x.recipients, $5::jsonb, $6
  from jsonb_to_recordset($1::jsonb) x(id uuid, kind text, sequence int, recipients jsonb)`;

const FIND = `
  select i.id, i.event_id as "eventId", i.kind, i.sequence, i.recipients, i.content, i.created_at as "createdAt",
    w.status as "writeStatus", w.reason as "writeReason",
    array(
      select r ->> 'email' from jsonb_array_elements(i.recipients) r
      where exists (
        select 1 from invitation b where b.event_id = i.event_id and b.id < i.id
          and b.recipients @> jsonb_build_array(jsonb_build_object('email', r ->> 'email')))
      and not exists (
        select 1 from invitation b where b.event_id = i.event_id and b.id < i.id and b.released_at is not null
          and b.recipients @> jsonb_build_array(jsonb_build_object('email', r ->> 'email')))) as unnotified
  from invitation i left join job_status w on w.id = i.write_id and w.account_id = i.account_id
  where i.id = $1 and i.account_id = $2`;

const RELEASE = `
  update invitation set recipients = $3, content = null, released_at = $4
  where id = $1 and account_id = $2`;

const RAISE_WAITING = `
  update invitation set sequence = sequence + $2 where event_id = $1 and content is not null`;

const LIST = `
  select i.id, r.value ->> 'email' as email, r.value ->> 'name' as name, i.kind, i.sequence,
    r.value ->> 'skipped' as skipped, i.created_at as "createdAt", m.id as "mailId", m.status as "mailStatus",
    m.reason as "mailReason", o.refused, j.status as "jobStatus", j.reason as "jobReason"
  from invitation i
    cross join lateral jsonb_array_elements(i.recipients) with ordinality r(value, n)
    join job_status j on j.id = i.id
    left join job_status m on m.id = (r.value ->> 'mailId')::uuid
    left join outbox_message o on o.id = m.id
  where i.account_id = $1 and i.event_id = $2
  order by i.id desc, r.n limit $3 offset $4`;

/** Reads and writes invitations. Every statement is limited to one account. */
@Injectable()
export class InvitationsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the messages about a change. Each gets a provider write that makes its mails and runs
   * after the write of the change.
   */
  async insert(
    sql: Sql,
    { accountId, eventId, writeId, content, at }: InvitationSource,
    invitations: readonly NewInvitation[],
  ): Promise<void> {
    const rows = invitations.map((invitation) => ({ id: newId(), ...invitation }));
    await sql.query(INSERT, [
      JSON.stringify(rows),
      accountId,
      eventId,
      writeId,
      JSON.stringify(content),
      at,
    ]);
    await openProviderWrites(
      sql,
      rows.map(({ id }) => ({
        id,
        accountId,
        action: 'notify_participants' as const,
        object: 'event' as const,
        objectId: eventId,
        at,
      })),
    );
  }

  async find(accountId: string, id: string): Promise<WaitingInvitation | undefined> {
    return (await this.database.query<WaitingInvitation>(FIND, [id, accountId]))[0];
  }

  /** Marks an invitation as released, in the transaction that adds its mails to the outbox. */
  async release(
    sql: Sql,
    accountId: string,
    id: string,
    recipients: readonly InvitationRecipient[],
    at: Date,
  ): Promise<void> {
    await sql.query(RELEASE, [id, accountId, JSON.stringify(recipients), at]);
  }

  /** Adds `by` to the SEQUENCE of an event's invitations whose mails are not made yet. */
  async raiseWaiting(sql: Sql, eventId: string, by: number): Promise<void> {
    await sql.query(RAISE_WAITING, [eventId, by]);
  }

  /** Latest first. */
  list(accountId: string, eventId: string, { limit, offset }: Page): Promise<InvitationResult[]> {
    return this.database.query<InvitationResult>(LIST, [accountId, eventId, limit, offset]);
  }
}
