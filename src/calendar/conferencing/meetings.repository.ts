import { Injectable } from '@nestjs/common';
import { hasOpenWrite } from '../../accounts/provider-writes/open-writes.ts';
import { newId, randomBase36 } from '../../platform/base/ids/ids.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import type {
  ConferencingKind,
  MeetingContent,
  MeetingDetails,
} from '../../providers/port/conferencing-port.ts';
import type { UsedUp } from '../../platform/quotas/quota.ts';
import { Quotas } from '../../platform/quotas/quotas.ts';
import { forgetWantedMeetings } from '../events/writes/event-conferencing.ts';
import type { KnownMeeting, MeetingEvent } from './wanted-meeting.ts';
import type { Event } from '../events/event.entity.ts';
import type { EventMeeting } from './event-meeting.entity.ts';
import type { Grant } from '../../accounts/grants/grant.entity.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';

/**
 * True if meetings of the kind count for the quota. Meetings of kind `link` do not: they are only
 * addresses, and no service is asked.
 */
export function isCounted(kind: ConferencingKind): boolean {
  return kind !== 'link';
}

/** About 129 bits of randomness. */
const KEY_LENGTH = 25;

export interface StoredMeeting extends KnownMeeting {
  id: string;
  kind: ConferencingKind;
  key: string;
}

/** An event that requests a meeting, together with its current meeting. */
export interface EventState extends MeetingEvent, RowOf<Event, 'version'> {
  eventId: string;
  /** True if the calendar's provider has the current version of the event. */
  atProvider: boolean;
  meeting: StoredMeeting | null;
}

/** A meeting that is due for deletion or update. */
export interface DueMeeting
  extends
    StoredMeeting,
    RowOf<EventMeeting, 'eventId' | 'accountId' | 'released' | 'attempts'>,
    RowOf<Grant, 'applicationId' | 'email'> {}

/** Result of starting to create a meeting. */
export type MeetingStart =
  /**
   * `key` identifies the meeting at the service. `askedBefore` is true if an earlier attempt may
   * have created the meeting.
   */
  { kind: 'ask'; id: string; key: string; askedBefore: boolean } | { kind: 'refused'; by: UsedUp };

const MEETING = `
  m.id, m.provider, m.kind, m.key, m.remote_id as "remoteId", m.details, m.written`;

const IS_PROVEN = `select from "grant" where id = $1 and proof is not null`;

const STATE = `
  select e.id as "eventId", e.title, e.when_value as "when", e.recurrence, e.conferencing, e.autocreate, e.version,
    (e.provider_id is not null and e.provider_version is not distinct from e.version) as "atProvider",
    case when m.id is null then null else jsonb_build_object('id', m.id, 'provider', m.provider, 'kind', m.kind, 'key', m.key,
      'remoteId', m.remote_id, 'details', m.details, 'written', m.written) end as meeting
  from event e left join event_meeting m on m.event_id = e.id and m.account_id = e.account_id and not m.released
  where e.id = $1 and e.account_id = $2 and e.status <> 'cancelled' and e.autocreate is not null`;

// Releases a meeting of another provider, or one that was created already. It is deleted at the
// service that created it.
const RELEASE_OTHER = `
  update event_meeting set released = true, due_at = $3, attempts = 0, updated_at = $3
  where event_id = $1 and not released and (provider <> $2 or remote_id is not null)`;

const BEGUN = `
  select from event_meeting where event_id = $1 and provider = $2 and not released and remote_id is null for update`;

const BEGIN = `
  insert into event_meeting as m (id, account_id, event_id, provider, kind, key, asked_at, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7, $7)
  on conflict (event_id) where not released do update set kind = excluded.kind, updated_at = excluded.updated_at
  returning id, key, id <> $1 as "askedBefore"`;

const STORE_MEETING = `
  update event_meeting set remote_id = $2, details = $3, written = $4, event_version = $5, attempts = 0, due_at = null,
    updated_at = $6
  where id = $1`;

const RELEASE = `
  update event_meeting set released = true, due_at = $2, attempts = 0, updated_at = $2
  where event_id = $1 and not released`;

// Releases meetings whose events were deleted or cancelled, or show another conference. Skips
// events with an open provider write, and events whose calendar is being deleted: the provider may
// refuse that.
const RELEASE_ORPHANS = `
  update event_meeting m set released = true, due_at = $1, attempts = 0, updated_at = $1
  where not m.released
    and not exists (
      select 1 from event e join calendar c on c.id = e.calendar_id
      where e.id = m.event_id and (e.status <> 'cancelled' or c.deleting) and e.autocreate ->> 'provider' = m.provider
        and (m.remote_id is null or e.conferencing -> 'details' ->> 'url' = m.details ->> 'url'))
    and not ${hasOpenWrite('m.event_id')}
  returning m.event_id as "eventId", m.provider`;

const MARK_STALE = `
  update event_meeting m set due_at = $1, attempts = 0 from event e
  where e.id = m.event_id and not m.released and m.due_at is null and m.remote_id is not null
    and e.version <> m.event_version and not ${hasOpenWrite('m.event_id')}`;

const FORGET_PAST = `
  delete from event_meeting m using event e
  where e.id = m.event_id and not m.released and e.recurrence is null and e.ends_at < $1`;

const GIVE_UP = `
  update event_meeting m set due_at = null, attempts = 0,
    event_version = (select e.version from event e where e.id = m.event_id)
  where m.id = $1`;

const CLAIM = `
  update event_meeting m set due_at = $2, attempts = m.attempts + 1 from "grant" g
  where g.id = m.account_id and m.id in (
    select id from event_meeting where due_at <= $1 order by due_at limit $3 for update skip locked)
  returning ${MEETING}, m.event_id as "eventId", m.account_id as "accountId", g.application_id as "applicationId", g.email,
    m.released, m.attempts`;

/** Reads and writes the meetings of events. */
@Injectable()
export class MeetingsRepository {
  constructor(
    private readonly database: Database,
    private readonly quotas: Quotas,
  ) {}

  /** True if the account's mailbox is proven to belong to its address. */
  async isProven(accountId: string): Promise<boolean> {
    return (await this.database.query(IS_PROVEN, [accountId])).length > 0;
  }

  /**
   * The event with its current meeting.
   * @returns `undefined` if the event requests no meeting, or was cancelled or deleted
   */
  async state(accountId: string, eventId: string): Promise<EventState | undefined> {
    return (await this.database.query<EventState>(STATE, [eventId, accountId]))[0];
  }

  /**
   * Records that a service is about to be asked for a meeting. From now on the meeting may exist.
   * The first call for a meeting counts for the quota; if the quota is used up, nothing changes.
   */
  begin(
    { accountId, applicationId }: { accountId: string; applicationId: string },
    eventId: string,
    { provider, kind }: { provider: string; kind: ConferencingKind },
    at: Date,
  ): Promise<MeetingStart> {
    return this.database.transaction(async (sql) => {
      const begun = await sql.query(BEGUN, [eventId, provider]);
      if (begun.length === 0 && isCounted(kind)) {
        const [by] = await this.quotas.take(sql, [
          { accountId, applicationId, quotas: ['meetings'] },
        ]);
        if (by) return { kind: 'refused', by };
      }
      await sql.query(RELEASE_OTHER, [eventId, provider, at]);
      const [row] = await sql.query<RowOf<EventMeeting, 'id' | 'key'> & { askedBefore: boolean }>(
        BEGIN,
        [newId(), accountId, eventId, provider, kind, randomBase36(KEY_LENGTH), at],
      );
      if (!row) throw new Error('a row that was written was not returned');
      return { kind: 'ask', ...row };
    });
  }

  /**
   * Stores the service's data of a meeting.
   * @param written `null` if the meeting was found rather than created, so its content is unknown
   */
  async storeMeeting(
    sql: Sql,
    id: string,
    meeting: { remoteId: string; details: MeetingDetails },
    written: MeetingContent | null,
    eventVersion: number,
    at: Date,
  ): Promise<void> {
    const { remoteId, details } = meeting;
    const json = [JSON.stringify(details), written && JSON.stringify(written)];
    await sql.query(STORE_MEETING, [id, remoteId, ...json, eventVersion, at]);
  }

  /** Marks the meeting of an event for deletion. */
  async release(sql: Sql, eventId: string, at: Date): Promise<void> {
    await sql.query(RELEASE, [eventId, at]);
  }

  /**
   * Marks meetings as due that no event wants any more, or whose events were changed at the
   * provider. Forgets meetings of events that ended before `past`.
   */
  async reconcile(now: Date, past: Date): Promise<void> {
    await this.database.transaction(async (sql) => {
      const orphans = await sql.query<RowOf<EventMeeting, 'eventId' | 'provider'>>(
        RELEASE_ORPHANS,
        [now],
      );
      await forgetWantedMeetings(sql, orphans);
    });
    await this.database.query(MARK_STALE, [now]);
    await this.database.query(FORGET_PAST, [past]);
  }

  /** Claims meetings that are due. No other worker gets them before `until`. */
  claim(now: Date, until: Date, most: number): Promise<DueMeeting[]> {
    return this.database.query<DueMeeting>(CLAIM, [now, until, most]);
  }

  /** Stops retrying: the meeting stays as it is until its event changes. */
  async giveUp(id: string): Promise<void> {
    await this.database.query(GIVE_UP, [id]);
  }

  async postpone(id: string, at: Date): Promise<void> {
    await this.database.query('update event_meeting set due_at = $2 where id = $1', [id, at]);
  }

  /** Marks the meeting as up to date with this version of the event. */
  async settle(id: string, eventVersion: number): Promise<void> {
    await this.database.query(
      'update event_meeting set event_version = $2, due_at = null, attempts = 0 where id = $1',
      [id, eventVersion],
    );
  }

  async forget(id: string): Promise<void> {
    await this.database.query('delete from event_meeting where id = $1', [id]);
  }
}
