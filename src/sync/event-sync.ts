import { Injectable } from '@nestjs/common';
import { isId, newId } from '../platform/base/ids/ids.ts';
import { Clock } from '../platform/base/time/clock.ts';
import { Database, idsOf, type Sql } from '../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../platform/changes/change-log.ts';
import type { ChangeVerb } from '../platform/changes/object-change.ts';
import { eventChange } from '../calendar/event-store/event-changes.ts';
import { adoptMailed } from '../calendar/event-store/adopt-mailed.ts';
import type { ConnectedAccount } from '../accounts/grants/provider-accounts.ts';
import { EventRestorer } from '../calendar/events/event-restorer.ts';
import { asStoredAt } from '../calendar/event-store/as-stored.ts';
import { ReminderPlanner } from '../calendar/notifications/reminder-planner.ts';
import type { CalendarPort, EventChanges, RemoteEvent } from '../providers/port/connector.ts';
import * as mirror from '../calendar/event-store/event-mirror.ts';
import type { MirrorEvent, NewMirrorEvent } from '../calendar/event-store/event-mirror.ts';
import {
  calendarsAtProvider,
  type MirrorCalendar,
  lockCalendarForShare,
  storeEventCursor,
} from '../calendar/calendars/calendar-mirror.ts';
import {
  changeOf,
  fieldsOf,
  groupOf,
  rowFinder,
  storableContent,
} from '../calendar/event-store/event-plan.ts';
import type { ProviderFields } from '../calendar/event-store/event-columns.ts';
import { type MirrorClaim, MirrorRepository } from './mirror.repository.ts';

/** Events stored in one transaction. */
const PAGE = 100;
/** Pages of one calendar in one sync pass; the next pass continues from there. */
const MOST_PAGES = 50;

/** A page of remote events and what is needed to store it. */
interface Batch {
  account: ConnectedAccount;
  calendar: MirrorCalendar;
  port: CalendarPort;
  changes: Pick<EventChanges, 'events' | 'removed' | 'present'>;
  /**
   * When the page was requested. An event that changed here later is skipped: the page may show its
   * earlier state.
   */
  requestedAt: Date;
  at: Date;
}

/** Copies the events of a calendar from the provider into the mirror. */
@Injectable()
export class EventSync {
  constructor(
    private readonly database: Database,
    private readonly claims: MirrorRepository,
    private readonly planner: ReminderPlanner,
    private readonly restorer: EventRestorer,
    private readonly clock: Clock,
  ) {}

  /** Calendars of an account that exist at its provider, the primary calendar first. */
  calendars(accountId: string): Promise<MirrorCalendar[]> {
    return calendarsAtProvider(this.database, accountId);
  }

  /**
   * Runs one sync pass over a calendar. The changes of the first complete read are history: they go
   * into the change log, but send no webhooks. An event with an open provider write is skipped. The
   * cursor then stays, so that the next sync pass reads the event again.
   * @throws {ProviderError} `not-found` if the provider has deleted the calendar
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    port: CalendarPort,
    calendar: MirrorCalendar,
    claim: MirrorClaim,
  ) {
    if (!port.listEventChanges) return;
    let cursor = calendar.eventCursor;
    let complete = false;
    let mayStore = true;
    for (let page = 0; page < MOST_PAGES && !complete; page++) {
      const requestedAt = this.clock.now();
      const changes = await port.listEventChanges(account, calendar.providerId, cursor, PAGE);
      const at = this.clock.now();
      complete = !changes.more;
      await this.claims.withClaim(claim, null, async (sql) => {
        const result = await this.#apply(sql, {
          account,
          calendar,
          port,
          changes,
          requestedAt,
          at,
        });
        // If part of a page was skipped, the cursor stays: that page and all later ones are read
        // again.
        mayStore &&= result.whole;
        if (mayStore)
          await storeEventCursor(sql, calendar.id, changes.cursor, complete ? at : null);
      });
      cursor = changes.cursor;
    }
    await this.claims.withClaim(claim, null, (sql) =>
      this.#restoreDiverged(sql, account, calendar),
    );
  }

  async #apply(sql: Sql, batch: Batch): Promise<{ whole: boolean }> {
    const { account, calendar, changes, requestedAt } = batch;
    const locked = await lockCalendarForShare(sql, account.accountId, calendar.id);
    // The calendar was deleted. The provider may refuse that, so nothing is skipped.
    if (!locked) return { whole: false };
    const adopted = await adoptMailed(sql, batch, changes.events);
    const zone = locked.timezone ?? 'UTC';
    const present = changes.present && new Set(changes.present);
    const groups = new Set([...changes.events.map(groupOf), ...changes.removed]);
    const rows = await mirror.lockGroups(sql, calendar.id, [...groups], present !== null);
    const rowOf = rowFinder(rows);
    const busy = (row: MirrorEvent) => row.writing || row.touchedAt > requestedAt;
    const coming = await mirror.eventsBeingCreated(
      sql,
      calendar.id,
      changes.events.map(({ icalUid }) => icalUid).filter(isId),
    );
    const fresh = changes.events.filter((remote) => !rowOf(remote));
    const waiting = fresh.filter(({ icalUid }) => coming.has(icalUid));
    const known = changes.events.flatMap((remote) => {
      const row = rowOf(remote);
      return row ? [{ row, remote }] : [];
    });
    const matched = new Set(known.map(({ row }) => row));
    const gone = rows.filter((row) => {
      const group = groupOf(row);
      return groups.has(group) ? !matched.has(row) : present !== null && !present.has(group);
    });
    const alive = gone.filter(({ status }) => status !== 'cancelled');
    const log: ChangeRecord[] = [
      ...adopted,
      ...(await this.#add(
        sql,
        batch,
        fresh.filter((one) => !waiting.includes(one)),
        zone,
      )),
      ...(await this.#change(
        sql,
        batch,
        known.filter(({ row }) => !busy(row)),
        zone,
      )),
      ...(await this.#cancel(
        sql,
        batch,
        alive.filter((row) => !busy(row)),
      )),
    ];
    // The provider no longer lists a changed instance: its series applies to that date again. This
    // waits while an event of the series has an open provider write.
    const pending = new Set(rows.filter(busy).map(groupOf));
    const over = gone.filter((row) => !pending.has(groupOf(row)));
    await mirror.releaseInstances(sql, idsOf(over));
    const tied = await mirror.tieInstances(sql, calendar.id, [...groups]);
    const logged = new Set(log.map(({ objectId }) => objectId));
    for (const id of tied) {
      if (logged.has(id)) continue;
      // The event itself has not changed, only the series that it belongs to: log the change, but
      // send no webhook.
      log.push(
        eventChange({ ...account, at: batch.at }, { id, calendarId: calendar.id }, 'updated', null),
      );
    }
    const whole = waiting.length === 0 && !known.some(({ row }) => busy(row)) && !alive.some(busy);
    await recordChanges(sql, log);
    return { whole };
  }

  async #add(
    sql: Sql,
    batch: Batch,
    events: readonly RemoteEvent[],
    zone: string,
  ): Promise<ChangeRecord[]> {
    const rows: NewMirrorEvent[] = events.map((remote) => {
      const content = storableContent(remote.content);
      return { id: newId(), remote: { ...remote, content }, fields: fieldsOf(content, zone) };
    });
    const { account, calendar, at } = batch;
    const added = await mirror.insertMirrored(sql, account.accountId, calendar.id, rows, at);
    return [...added].map((id) => this.#record(batch, id, 'created', null));
  }

  async #change(
    sql: Sql,
    batch: Batch,
    events: readonly { row: MirrorEvent; remote: RemoteEvent }[],
    zone: string,
  ): Promise<ChangeRecord[]> {
    const { account, port, at } = batch;
    const asStored = asStoredAt(port, account);
    const changed: { row: MirrorEvent; id: string; fields: ProviderFields }[] = [];
    const seen = events.map(({ row, remote }) => {
      const content = storableContent(remote.content);
      const fields = changeOf(row, content, asStored, zone);
      if (fields) changed.push({ row, id: row.id, fields });
      return { id: row.id, remote: { ...remote, content } };
    });
    await mirror.updateMirrored(sql, changed, at);
    await mirror.storeSeenEvents(sql, seen, at);
    for (const { row, fields } of changed) await this.#plan(sql, row, fields, at);
    return changed.map(({ row }) => this.#record(batch, row.id, 'updated', row.metadata));
  }

  async #cancel(sql: Sql, batch: Batch, rows: readonly MirrorEvent[]): Promise<ChangeRecord[]> {
    const { account, at } = batch;
    await mirror.cancelMirrored(sql, idsOf(rows), at);
    const reminding = rows
      .filter(({ notifications }) => notifications.length > 0)
      .map(({ id }) => id);
    if (reminding.length > 0)
      await this.planner.cancelEvents(
        sql,
        account.accountId,
        reminding,
        'the event was deleted',
        at,
      );
    return rows.map((row) => this.#record(batch, row.id, 'deleted', row.metadata));
  }

  /** Restores the provider's content of events whose provider writes have failed. */
  async #restoreDiverged(sql: Sql, account: ConnectedAccount, calendar: MirrorCalendar) {
    const locked = await lockCalendarForShare(sql, account.accountId, calendar.id);
    if (!locked) return;
    const rows = await mirror.lockDiverged(sql, calendar.id);
    const at = this.clock.now();
    const zone = locked.timezone ?? 'UTC';
    const wanted = rows.map((row) => ({ row }));
    const restored = await this.restorer.restore(sql, account, wanted, zone, at);
    const batch = { account, calendar, at };
    await recordChanges(
      sql,
      restored.map((row) => this.#record(batch, row.id, 'updated', row.metadata)),
    );
  }

  async #plan(sql: Sql, row: MirrorEvent, fields: ProviderFields, at: Date): Promise<void> {
    if (row.notifications.length === 0) return;
    const event = { ...row, ...fields, eventId: row.id, cancelled: fields.status === 'cancelled' };
    await this.planner.plan(sql, event, at);
  }

  #record(
    { account, calendar, at }: Pick<Batch, 'account' | 'calendar' | 'at'>,
    id: string,
    verb: ChangeVerb,
    metadata: Record<string, string> | null,
  ): ChangeRecord {
    const dedupe = calendar.eventsSince ? `event:${id}:${verb}:${newId()}` : null;
    return eventChange({ ...account, at }, { id, calendarId: calendar.id, metadata }, verb, dedupe);
  }
}
