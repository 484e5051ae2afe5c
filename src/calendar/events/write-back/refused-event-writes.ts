import { Injectable } from '@nestjs/common';
import { newId } from '../../../platform/base/ids/ids.ts';
import { type ChangeRecord, recordChanges } from '../../../platform/changes/change-log.ts';
import type { ChangeVerb } from '../../../platform/changes/object-change.ts';
import type { Sql } from '../../../platform/database/sql.ts';
import { handOnReplaced, replacedValues } from '../../../accounts/provider-writes/open-writes.ts';
import type { FailedWrite } from '../../../accounts/provider-writes/provider-writes.ts';
import { endInstances } from '../instances/changed-instances.ts';
import { releaseInstance } from './event-at-provider.ts';
import { type ChangedEvent, eventChange } from '../event-changes.ts';
import {
  lockEndedInstances,
  lockMirrorEvent,
  type MirrorEvent,
  withdrawEvent,
} from '../mirror/event-mirror.ts';
import { EventReminders } from '../ports/event-reminders.ts';
import { EventRestorer, type RestoringAccount } from './event-restorer.ts';
import type { Grant } from '../../../accounts/grants/grant.entity.ts';
import type { Calendar } from '../../calendars/calendar.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

const OWNER = `
  select g.id as "accountId", g.application_id as "applicationId", g.provider, g.email, g.name,
    coalesce(c.timezone, 'UTC') as zone, c.deleting
  from calendar c join "grant" g on g.id = c.account_id where c.id = $1`;

interface Owner
  extends RestoringAccount, RowOf<Grant, 'applicationId'>, RowOf<Calendar, 'deleting'> {
  zone: string;
}

/** A refused write of an event, with the locked event. */
interface Refusal {
  sql: Sql;
  write: FailedWrite;
  row: MirrorEvent;
  owner: Owner;
  at: Date;
}

/**
 * Takes back changes of events that the provider has refused for good (ADR 0071), in the
 * transaction that ends their provider writes.
 */
@Injectable()
export class RefusedEventWrites {
  constructor(
    private readonly reminders: EventReminders,
    private readonly restorer: EventRestorer,
  ) {}

  /**
   * Takes back a creation or a change. An event that the provider does not have is cancelled, with
   * its reminders. Any other event gets the state that the provider has. Nothing changes if a later
   * write of the event is open, because that write carries the whole event.
   */
  readonly written = async (sql: Sql, write: FailedWrite, at: Date): Promise<void> => {
    const refusal = await this.#lock(sql, write, at);
    if (!refusal) return;
    const replaced = replacedValues(write.payload);
    if (
      await handOnReplaced(sql, write, ['create_event', 'update_event', 'delete_event'], replaced)
    )
      return;
    if (refusal.row.status === 'cancelled') return;
    if (isAtProvider(refusal)) await this.#restore(refusal, 'updated');
    else await this.#withdraw(refusal);
  };

  /**
   * Takes back a deletion: the event takes place again, with its reminders. Nothing changes if
   * another deletion of the event is open.
   */
  readonly deleted = async (sql: Sql, write: FailedWrite, at: Date): Promise<void> => {
    const refusal = await this.#lock(sql, write, at);
    if (!refusal) return;
    if (await handOnReplaced(sql, write, ['delete_event'], replacedValues(write.payload))) return;
    const { row } = refusal;
    if (row.status !== 'cancelled' || row.released) return;
    if (row.providerId !== null) return this.#restore(refusal, 'created');
    // The provider has no separate copy of the instance, so the rules of its series decide again.
    await releaseInstance(sql, row.accountId, row.id);
    await recordChanges(sql, seriesChange(refusal));
  };

  /** @returns `undefined` if the event was deleted, or its calendar is being deleted */
  async #lock(sql: Sql, write: FailedWrite, at: Date): Promise<Refusal | undefined> {
    const row = await lockMirrorEvent(sql, write.accountId, write.objectId);
    if (!row) return undefined;
    // Read after the lock: a change of the calendar's zone moves the event afterwards.
    const [owner] = await sql.query<Owner>(OWNER, [row.calendarId]);
    return owner && !owner.deleting ? { sql, write, row, owner, at } : undefined;
  }

  async #withdraw(refusal: Refusal): Promise<void> {
    const { sql, row, write, at } = refusal;
    const { accountId, id } = row;
    await withdrawEvent(sql, id, at);
    const ended = row.recurrence ? await endInstances(sql, { accountId, id }, at) : [];
    const reason = `the provider refused the event: ${write.reason}`;
    await this.reminders.cancelEvents(sql, accountId, [id], reason, at);
    await recordChanges(sql, [
      ...ended.map((one) => change(refusal, { ...one, calendarId: row.calendarId }, 'deleted')),
      change(refusal, row, 'deleted'),
      ...seriesChange(refusal),
    ]);
  }

  async #restore(refusal: Refusal, verb: ChangeVerb): Promise<void> {
    const { sql, row, write, owner, at } = refusal;
    const event = { row, replaced: replacedValues(write.payload) };
    const ended = await lockEndedInstances(sql, row.accountId, row.id);
    const wanted = [event, ...ended.map((instance) => ({ row: instance }))];
    const restored = await this.restorer.restore(sql, owner, wanted, owner.zone, at);
    const changes = restored.map((one) =>
      change(refusal, one, one.id === row.id ? verb : 'created'),
    );
    await recordChanges(sql, changes);
  }
}

/**
 * An instance in conflict is at the provider, although its id is not known: another program has
 * changed or deleted it. The next sync pass says which.
 */
const isAtProvider = ({ row, write }: Refusal): boolean =>
  row.providerId !== null || (write.code === 'conflict' && row.providerContent !== null);

function change(
  { owner, at, write }: Refusal,
  event: ChangedEvent,
  verb: ChangeVerb,
): ChangeRecord {
  const dedupe = `refused:${write.jobId}:${event.id}:${newId()}`;
  return eventChange({ ...owner, at }, event, verb, dedupe);
}

/** For an instance: its series has changed too, because it describes the instance again. */
function seriesChange({ owner, at, row: { masterEventId, calendarId } }: Refusal): ChangeRecord[] {
  if (masterEventId === null) return [];
  return [eventChange({ ...owner, at }, { id: masterEventId, calendarId }, 'updated', null)];
}
