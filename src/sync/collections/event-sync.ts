import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { isId, newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, idsOf, type Sql } from '../../platform/database/sql.ts';
import { type ChangeRecord, recordChanges } from '../../platform/changes/change-log.ts';
import type { ChangeVerb } from '../../platform/changes/object-change.ts';
import { eventChange } from '../../calendar/events/event-changes.ts';
import { adoptMailed } from '../../calendar/events/mailed/adopt-mailed.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { EventRestorer } from '../../calendar/events/write-back/event-restorer.ts';
import { asStoredAt } from '../../calendar/events/write-back/as-stored.ts';
import { ReminderPlanner } from '../../calendar/notifications/plan/reminder-planner.ts';
import type { CalendarPort, EventChanges, RemoteEvent } from '../../providers/port/connector.ts';
import { absentEvents } from '../../calendar/events/mirror/absent-events.ts';
import * as mirror from '../../calendar/events/mirror/event-mirror.ts';
import type { MirrorEvent, NewMirrorEvent } from '../../calendar/events/mirror/event-mirror.ts';
import {
  calendarsAtProvider,
  type MirrorCalendar,
  lockCalendarForSync,
  storeEventCursor,
} from '../../calendar/calendars/calendar-mirror.ts';
import {
  changeOf,
  fieldsOf,
  groupOf,
  storableContent,
} from '../../calendar/events/mirror/event-plan.ts';
import type { ProviderFields } from '../../calendar/events/event-columns.ts';
import { endInstancesOutside } from '../../calendar/events/instances/changed-instances.ts';
import {
  fillExcluded,
  insertExcluded,
  moveToCalendar,
  storeExcluded,
} from '../../calendar/events/instances/remote-instances.ts';
import {
  busyRule,
  comparePage,
  type ComparedPage,
  type EventPage,
  groupsOf,
  idsReported,
  isEmpty,
} from './event-page.ts';
import type { ObjectDifferences } from '../../accounts/sync-schedule/mirror-audit.entity.ts';
import { requestCollections } from '../../accounts/sync-schedule/mirror-audits.ts';
import { differencesIn } from '../audit/audit-differences.ts';
import { type MirrorClaim, MirrorRepository } from '../mirror.repository.ts';
import { recordUnread } from '../failures/sync-failures.ts';

/** Events stored in one transaction. */
const PAGE = 100;
/** Pages of one calendar in one sync pass; the next pass continues from there. */
const MOST_PAGES = 50;

/** A page of remote events and what is needed to store it. */
interface Batch {
  account: ConnectedAccount;
  calendar: MirrorCalendar;
  port: CalendarPort;
  changes: EventPage;
  /**
   * When the page was requested. An event that changed here later is skipped: the page may show its
   * earlier state.
   */
  requestedAt: Date;
  at: Date;
}

/** A row that takes over fields from the provider. */
interface ChangedRow {
  row: MirrorEvent;
  id: string;
  fields: ProviderFields;
}

const isAlive = ({ status }: MirrorEvent): boolean => status !== 'cancelled';

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
   * @returns true if the mirror was changed
   * @throws {ProviderError} `not-found` if the provider has deleted the calendar
   * @throws {ClaimLostError}
   */
  async run(
    account: ConnectedAccount,
    port: CalendarPort,
    calendar: MirrorCalendar,
    claim: MirrorClaim,
  ): Promise<boolean> {
    if (!port.listEventChanges) return false;
    let cursor = calendar.eventCursor;
    let complete = false;
    let mayStore = true;
    let changed = false;
    for (let page = 0; page < MOST_PAGES && !complete; page++) {
      const requestedAt = this.clock.now();
      const changes = await port.listEventChanges(account, calendar.providerId, cursor, PAGE);
      const at = this.clock.now();
      complete = !changes.more;
      if (complete && calendar.eventsSince && isEmpty(changes) && changes.cursor === cursor) break;
      const batch: Batch = { account, calendar, port, changes, requestedAt, at };
      await this.claims.withClaim(claim, null, async (sql) => {
        const result = await this.#apply(sql, batch);
        changed ||= result.log.length > 0;
        // A skipped part keeps the cursor: this page and all later ones are read again.
        mayStore &&= result.whole;
        const since = complete ? at : null;
        if (mayStore) await storeEventCursor(sql, calendar.id, changes.cursor, since);
        await this.#compareIds(sql, batch, changes);
      });
      cursor = changes.cursor;
    }
    if (!(await mirror.hasDiverged(this.database, calendar.id))) return changed;
    await this.claims.withClaim(claim, null, (sql) =>
      this.#restoreDiverged(sql, account, calendar),
    );
    return true;
  }

  /** One list removes nothing: an audit lists events again that this one lacks (ADR 0124). */
  async #compareIds(
    sql: Sql,
    { account, calendar, requestedAt: beganAt, at }: Batch,
    { present, partial = false }: EventChanges,
  ): Promise<void> {
    if (present === null) return;
    const [absent] = await absentEvents(sql, calendar.id, { present, partial, beganAt }, 1);
    if (absent !== undefined) await requestCollections(sql, account.accountId, at);
  }

  /**
   * Stores a page as a sync pass does, but keeps the cursor: for audits.
   * @param onStored called in the same transaction with the numbers of events that differed
   * @throws {ClaimLostError}
   */
  repair<T>(
    claim: MirrorClaim,
    batch: Omit<Batch, 'at'>,
    onStored: (sql: Sql, differences: ObjectDifferences) => Promise<T>,
  ): Promise<T> {
    const at = this.clock.now();
    return this.claims.withClaim(claim, null, async (sql) =>
      onStored(sql, differencesIn((await this.#apply(sql, { ...batch, at })).log)),
    );
  }

  async #apply(sql: Sql, batch: Batch): Promise<{ whole: boolean; log: readonly ChangeRecord[] }> {
    const { account, calendar, changes } = batch;
    const locked = await lockCalendarForSync(sql, account.accountId, calendar.id);
    // The calendar was deleted. The provider may refuse that, so nothing is skipped.
    if (!locked) return { whole: false, log: [] };
    const zone = locked.timezone ?? 'UTC';
    const adopted = await adoptMailed(sql, batch, changes.events);
    const ids = idsReported(changes);
    const moved = await moveToCalendar(sql, account.accountId, calendar.id, ids);
    const groups = groupsOf(changes);
    const rows = await mirror.lockGroups(sql, calendar.id, [...groups, ...ids]);
    const page = comparePage(changes, rows);
    const isBusy = busyRule(rows, batch);
    const waiting = await this.#beingCreated(sql, calendar, page.fresh);
    const fresh = page.fresh.filter((one) => !waiting.has(one));
    const log = [
      ...adopted,
      ...(await this.#add(sql, batch, fresh, zone)),
      ...(await this.#change(sql, batch, page, isBusy, zone)),
      ...(await this.#exclude(sql, batch, page, isBusy)),
      ...(await this.#remove(sql, batch, page, rows, isBusy)),
    ];
    log.push(...(await this.#tie(sql, batch, groups, moved, log)));
    await fillExcluded(sql, calendar.id, groups, zone);
    const { read = [], unread = [], removed } = changes;
    await recordUnread(sql, account.accountId, { read: [...read, ...removed], unread }, batch.at);
    await recordChanges(sql, log);
    const reported = [...page.known, ...page.knownExcluded].map(({ row }) => row);
    const skipped = [...reported, ...page.gone.filter(isAlive)].some(isBusy);
    return { whole: waiting.size === 0 && !skipped, log };
  }

  /** The events that we are creating at the provider: their rows have no provider id yet. */
  async #beingCreated(
    sql: Sql,
    calendar: MirrorCalendar,
    fresh: readonly RemoteEvent[],
  ): Promise<Set<RemoteEvent>> {
    const keyOf = ({ key, icalUid }: RemoteEvent) => (key === undefined ? icalUid : key) ?? '';
    const keys = fresh.map(keyOf).filter(isId);
    const coming = await mirror.eventsBeingCreated(sql, calendar.id, keys);
    return new Set(fresh.filter((remote) => coming.has(keyOf(remote))));
  }

  /**
   * Cancels the events that the provider no longer has. If it no longer lists an instance, the
   * series applies to that start again. This waits while an event of the series has an open
   * provider write.
   */
  async #remove(
    sql: Sql,
    batch: Batch,
    { gone }: ComparedPage,
    rows: readonly MirrorEvent[],
    isBusy: (row: MirrorEvent) => boolean,
  ): Promise<ChangeRecord[]> {
    const over = gone.filter((row) => isAlive(row) && !isBusy(row));
    const log = await this.#cancel(sql, batch, over);
    const pending = new Set(rows.filter(isBusy).map(groupOf));
    const released = gone.filter((row) => !pending.has(groupOf(row)));
    await mirror.releaseInstances(sql, idsOf(released));
    return log;
  }

  /** Stores starts at which a series does not take place. */
  async #exclude(
    sql: Sql,
    batch: Batch,
    { knownExcluded, freshExcluded }: ComparedPage,
    isBusy: (row: MirrorEvent) => boolean,
  ): Promise<ChangeRecord[]> {
    const { account, calendar, at } = batch;
    const known = knownExcluded.filter(({ row }) => !isBusy(row));
    const cancelled = known.map(({ row }) => row).filter(isAlive);
    const log = await this.#cancel(sql, batch, cancelled);
    const seen = known.map(({ row, excluded }) => ({
      id: row.id,
      providerId: excluded.providerId,
    }));
    await storeExcluded(sql, seen, at);
    const added = await insertExcluded(sql, account.accountId, calendar.id, freshExcluded, at);
    return [...log, ...added.map((id) => this.#record(batch, id, 'deleted', null))];
  }

  /** Links instances to their series, and reports events that were moved to this calendar. */
  async #tie(
    sql: Sql,
    batch: Batch,
    groups: readonly string[],
    moved: readonly string[],
    log: readonly ChangeRecord[],
  ): Promise<ChangeRecord[]> {
    const { account, calendar, at } = batch;
    const tied = await mirror.tieInstances(sql, calendar.id, groups);
    const logged = new Set(log.map(({ objectId }) => objectId));
    const arrived = moved.filter((id) => !logged.has(id));
    const quiet = tied.filter((id) => !logged.has(id) && !arrived.includes(id));
    return [
      ...arrived.map((id) => this.#record(batch, id, 'updated', null)),
      // The event itself has not changed, only the series that it belongs to: log the change, but
      // send no webhook.
      ...quiet.map((id) =>
        eventChange({ ...account, at }, { id, calendarId: calendar.id }, 'updated', null),
      ),
    ];
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
    { known }: ComparedPage,
    isBusy: (row: MirrorEvent) => boolean,
    zone: string,
  ): Promise<ChangeRecord[]> {
    const { account, port, at } = batch;
    const asStored = asStoredAt(port, account);
    const changed: ChangedRow[] = [];
    const events = known.filter(({ row }) => !isBusy(row));
    const seen = events.map(({ row, remote }) => {
      const content = storableContent(remote.content);
      const fields = changeOf(row, content, asStored, zone);
      if (fields) changed.push({ row, id: row.id, fields });
      return { id: row.id, remote: { ...remote, content } };
    });
    await mirror.updateMirrored(sql, changed, at);
    await mirror.storeSeenEvents(sql, seen, at);
    for (const { row, fields } of changed) await this.#plan(sql, row, fields, at);
    const reported = new Set(known.map(({ row }) => row.id));
    return [
      ...changed.map(({ row }) => this.#record(batch, row.id, 'updated', row.metadata)),
      ...(await this.#endInstances(sql, batch, changed, reported)),
    ];
  }

  /** Ends instances whose series was shortened or moved by a provider that reports parts. */
  async #endInstances(
    sql: Sql,
    batch: Batch,
    changed: readonly ChangedRow[],
    reported: ReadonlySet<string>,
  ): Promise<ChangeRecord[]> {
    if (!batch.changes.partial) return [];
    const log: ChangeRecord[] = [];
    for (const { row, fields: after } of changed) {
      const same = isDeepStrictEqual([row.when, row.recurrence], [after.when, after.recurrence]);
      if (!row.recurrence || same) continue;
      const rules = { before: row, after };
      const ended = await endInstancesOutside(sql, row, rules, reported, batch.at);
      await mirror.releaseInstances(sql, idsOf(ended));
      log.push(...ended.map(({ id, metadata }) => this.#record(batch, id, 'deleted', metadata)));
    }
    return log;
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
    const locked = await lockCalendarForSync(sql, account.accountId, calendar.id);
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
