import type { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { newId } from '../../platform/base/ids/ids.ts';
import { sqlOf } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import type { ChangeVerb } from '../../platform/changes/object-change.ts';
import { eventChange } from '../event-store/event-changes.ts';
import { Invitations } from '../invitations/invitations.service.ts';
import { openProviderJob } from '../../accounts/provider-writes/provider-jobs.ts';
import type { PlannedReminder } from '../notifications/reminder-plan.ts';
import { ReminderPlanner } from '../notifications/reminder-planner.ts';
import type { EndedInstance } from '../event-store/changed-instances.ts';
import { type EventFields, type EventRecord, eventRecord } from '../event-store/event-record.ts';
import type { Event } from '../event-store/event.entity.ts';

/** An event after a write, with what the write brings about. */
export interface FollowedUpEvent {
  event: EventRecord;
  jobId: string;
  planned: PlannedReminder[];
}

/** One change of an event, with what decides what follows from it. */
export interface ChangeToFollowUp {
  /** Of the job. */
  action: 'create_event' | 'update_event' | 'delete_event';
  /** Null: nothing has changed. */
  change: ChangeVerb | null;
  /** Only readers of the change log are told, no subscribers. */
  quiet?: boolean;
  /** Instances of the event that end with it. */
  ended?: readonly EndedInstance[];
  /** Reminders may be there although the event has no notifications any more. */
  reminding?: boolean;
  /** The event as it was; absent: it is new. */
  before?: EventFields;
  /** Whether participants are told. */
  notify?: boolean | undefined;
}

/** What follows from every change of an event, in the transaction of the change. */
@Injectable()
export class EventFollowUp {
  constructor(
    private readonly planner: ReminderPlanner,
    private readonly invitations: Invitations,
  ) {}

  /** Plans the reminders, opens the job, and tells subscribers and participants of the change. */
  async run(
    em: EntityManager,
    account: AccountPrincipal,
    entity: Event,
    {
      action,
      change,
      quiet = false,
      ended = [],
      reminding = false,
      before,
      notify = false,
    }: ChangeToFollowUp,
    at: Date,
  ): Promise<FollowedUpEvent> {
    const { accountId, applicationId } = account;
    const sql = sqlOf(em);
    const event = eventRecord(entity);
    const planned =
      reminding || event.notifications.length > 0
        ? await this.planner.plan(
            sql,
            { ...event, accountId, eventId: event.id, cancelled: event.status === 'cancelled' },
            at,
          )
        : [];
    const jobId = newId();
    await openProviderJob(sql, {
      id: jobId,
      accountId,
      action,
      object: 'event',
      objectId: event.id,
      at,
    });
    const { calendarId } = event;
    const owner = { applicationId, accountId, at };
    const changes = ended.map((one) =>
      eventChange(owner, { ...one, calendarId }, 'deleted', `${action}:${jobId}:${one.id}`),
    );
    if (change)
      changes.push(eventChange(owner, event, change, quiet ? null : `${action}:${jobId}`));
    if (changes.length > 0) await recordChanges(sql, changes);
    const inviting = { before: before ?? null, notify, writeId: jobId, at };
    if (change) await this.invitations.follow(em, account, entity, inviting);
    return { event, jobId, planned };
  }
}
