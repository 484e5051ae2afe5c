import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import type { AccountPrincipal } from '../../../platform/auth/principal.ts';
import { newId } from '../../../platform/base/ids/ids.ts';
import { sqlOf } from '../../../platform/database/orm-transactions.ts';
import { recordChanges } from '../../../platform/changes/change-log.ts';
import type { ChangeVerb } from '../../../platform/changes/object-change.ts';
import { eventChange } from '../event-changes.ts';
import { EventInvitations } from '../ports/event-invitations.ts';
import type { ReplacedValues } from '../../../accounts/provider-writes/open-writes.ts';
import { openProviderWrite } from '../../../accounts/provider-writes/provider-jobs.ts';
import { EventReminders, type PlannedReminder } from '../ports/event-reminders.ts';
import type { EndedInstance } from '../instances/changed-instances.ts';
import { CONTENT_FIELDS, DECIDED_FIELDS, OWN_FIELDS, pickFields } from '../event-columns.ts';
import { type EventFields, type EventRecord, eventRecord } from '../event-record.ts';
import type { Event } from '../event.entity.ts';
import { ASKS_PROVIDER } from '../write-back/event-notices.ts';
import { zoneOf } from './locked-events.ts';

/** An event after a request to change it. */
export interface EventWriteResult {
  event: EventRecord;
  /** The job of the provider write; it is already successful if nothing has changed. */
  jobId: string;
  /** The reminders that the change led to; absent if nothing has changed. */
  planned?: PlannedReminder[];
}

/** A change of an event, with everything that decides about its consequences. */
export interface ChangeToFollowUp {
  /** Action of the provider write. */
  action: 'create_event' | 'update_event' | 'delete_event';
  /** Verb for the change log; `null` if nothing has changed. */
  change: ChangeVerb | null;
  /** True to record the change in the change log without notifying subscribers. */
  quiet?: boolean;
  /** Instances that were cancelled because of the change. */
  ended?: readonly EndedInstance[];
  /**
   * True if the event may have reminders from before, although it no longer has notifications.
   * Those reminders are then cancelled.
   */
  reminding?: boolean;
  /** The event before the change; absent for a new event. */
  before?: EventFields;
  /** `notify_participants` of the request. */
  notify?: boolean | undefined;
}

/**
 * What a change replaced, for the case that the provider refuses it. Empty if only fields have
 * changed that the provider does not store: it cannot refuse those.
 */
function replacedBy(before: EventFields, after: EventRecord): Partial<ReplacedValues> {
  const differs = (field: keyof EventFields) => !isDeepStrictEqual(before[field], after[field]);
  if (!CHANGEABLE_CONTENT.some(differs)) return {};
  const fields = OWN_FIELDS.filter(differs);
  return { before: pickFields(before, fields), after: pickFields(after, fields) };
}

/** Fields of `EventFields` that providers store. */
const CHANGEABLE_CONTENT = DECIDED_FIELDS.filter((field) =>
  (CONTENT_FIELDS as readonly string[]).includes(field),
);

/** Carries out the consequences of a change of an event, in the same transaction. */
@Injectable()
export class EventFollowUp {
  constructor(
    private readonly reminders: EventReminders,
    private readonly invitations: EventInvitations,
  ) {}

  /**
   * Plans the reminders, queues the provider write, and queues the notifications of subscribers and
   * participants.
   */
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
      notify,
    }: ChangeToFollowUp,
    at: Date,
  ): Promise<EventWriteResult> {
    const { accountId, applicationId } = account;
    const sql = sqlOf(em);
    const event = eventRecord(entity);
    const planned =
      reminding || event.notifications.length > 0
        ? await this.reminders.plan(
            sql,
            { ...event, accountId, eventId: event.id, cancelled: event.status === 'cancelled' },
            at,
          )
        : [];
    const jobId = newId();
    await openProviderWrite(sql, {
      id: jobId,
      accountId,
      action,
      object: 'event',
      objectId: event.id,
      payload: {
        ...(action === 'update_event' && before ? replacedBy(before, event) : {}),
        ...(change && this.invitations.asksProvider(account, event, notify) ? ASKS_PROVIDER : {}),
      },
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
    if (change) {
      const zone = zoneOf(entity.calendar.unwrap());
      const write = { before: before ?? null, event, zone, notify, writeId: jobId, at };
      if (this.invitations.raisesSequence(account, write)) entity.sequence += 1;
      // The rows of invitations refer to the row of the event.
      await em.flush();
      await this.invitations.store(sql, account, write, entity.sequence);
    }
    return { event, jobId, planned };
  }
}
