import { Injectable } from '@nestjs/common';
import { storable } from '../platform/base/text/storable.ts';
import { newId } from '../platform/base/ids/ids.ts';
import type { Sql } from '../platform/database/sql.ts';
import type { RemoteCalendar } from '../providers/port/connector.ts';
import type { MirrorClaim } from './mirror.repository.ts';

// What was asked for while it is under way is not lost: the next look at the mailbox is soon.
const BEGIN = `
  update sync_job j set calendars_at = $4 from sync_job before
  where j.id = $1 and j.fence = $2 and j.state = 1 and (j.calendars_at is null or j.calendars_at <= $3)
    and before.id = j.id
  returning before.calendars_at is null as first`;

const POSTPONE = `update sync_job set calendars_at = $3 where id = $1 and fence = $2 and state = 1`;

// A calendar of ours without a provider's id is being created there right now, and may be one of those listed.
const ADOPT = `
  insert into calendar (id, account_id, provider_id, name, description, location, timezone, is_primary, read_only,
    metadata, created_at, updated_at)
  select x.id, $1, x.provider_id, x.name, x.description, x.location, x.timezone, x.is_primary, x.read_only,
    '{}', $3, $3
  from jsonb_to_recordset($2::jsonb) x(id uuid, provider_id text, name text, description text, location text,
    timezone text, is_primary boolean, read_only boolean)
  where x.is_primary
     or not exists (select 1 from calendar c where c.account_id = $1 and c.provider_id is null and not c.is_emailed)
  on conflict (account_id, provider_id) do nothing
  returning id, metadata`;

// Null is what a provider says that does not keep a field: then ours stays. One that is being written is left alone.
const REFRESH = `
  with held as (
    select c.id, c.timezone as before, x.name, coalesce(x.description, c.description) as description,
      coalesce(x.location, c.location) as location, coalesce(x.timezone, c.timezone) as timezone, x.is_primary,
      x.read_only
    from jsonb_to_recordset($2::jsonb) x(provider_id text, name text, description text, location text, timezone text,
      is_primary boolean, read_only boolean)
    join calendar c on c.account_id = $1 and c.provider_id = x.provider_id
    where c.updated_at <= $3 and not exists (select 1 from provider_job j where j.object_id = c.id)
    order by c.id for update of c)
  update calendar c set name = h.name, description = h.description, location = h.location, timezone = h.timezone,
    is_primary = h.is_primary, read_only = h.read_only, updated_at = $3
  from held h
  where c.id = h.id and (c.name, c.description, c.location, c.timezone, c.is_primary, c.read_only) is distinct from
    (h.name, h.description, h.location, h.timezone, h.is_primary, h.read_only)
  returning c.id, c.metadata, h.before, c.timezone`;

const MISSING = `
  select id, provider_id as "providerId" from calendar c
  where account_id = $1 and provider_id is not null and provider_id <> all($2::text[])
    and not exists (select 1 from provider_job j where j.object_id = c.id)`;

const HOLD = `select id, metadata from calendar where id = $1 and account_id = $2 for update`;

const EVENTS = `
  select id, notifications <> '[]'::jsonb as reminding from event
  where calendar_id = $1 and status <> 'cancelled' order by id for update`;

const REMOVE = `delete from calendar where id = $1`;

/** A calendar that was written. */
export interface WrittenCalendar {
  id: string;
  metadata: Record<string, string>;
}

/** A calendar that was brought up to date. */
export interface RefreshedCalendar extends WrittenCalendar {
  /** Its time zone until now. */
  before: string | null;
  timezone: string | null;
}

/** SQL of the mirror of calendars. */
@Injectable()
export class CalendarMirrorRepository {
  /**
   * Begins a look, when it is time.
   * @param next when the one after it may begin
   * @returns whether it is the account's first; undefined: it is not time
   */
  async begin(
    sql: Sql,
    { id, fence }: MirrorClaim,
    now: Date,
    next: Date,
  ): Promise<{ first: boolean } | undefined> {
    const [look] = await sql.query<{ first: boolean }>(BEGIN, [id, fence, now, next]);
    return look;
  }

  /** @param until null: the first look has not been made yet */
  async postpone(sql: Sql, { id, fence }: MirrorClaim, until: Date | null): Promise<void> {
    await sql.query(POSTPONE, [id, fence, until]);
  }

  /** Adds the calendars that are new, and brings the others up to date. */
  async write(
    sql: Sql,
    accountId: string,
    calendars: readonly RemoteCalendar[],
    at: Date,
  ): Promise<{ added: WrittenCalendar[]; changed: RefreshedCalendar[] }> {
    const text = (value: string | null) => (value === null ? null : storable(value, 10_000));
    const rows = calendars.map((one) => ({
      id: newId(),
      provider_id: one.providerId,
      name: text(one.name),
      description: text(one.description),
      location: text(one.location),
      timezone: one.timezone,
      is_primary: one.isPrimary,
      read_only: one.readOnly,
    }));
    const json = JSON.stringify(rows);
    const changed = await sql.query<RefreshedCalendar>(REFRESH, [accountId, json, at]);
    return { added: await sql.query<WrittenCalendar>(ADOPT, [accountId, json, at]), changed };
  }

  /** Calendars that should be at the provider and are not listed; those that are being written apart. */
  missing(
    sql: Sql,
    accountId: string,
    listed: readonly string[],
  ): Promise<{ id: string; providerId: string }[]> {
    return sql.query(MISSING, [accountId, listed]);
  }

  /** Removes a calendar with its events. @returns what was there; undefined when it was gone already */
  async remove(
    sql: Sql,
    accountId: string,
    calendarId: string,
  ): Promise<(WrittenCalendar & { events: { id: string; reminding: boolean }[] }) | undefined> {
    const [calendar] = await sql.query<WrittenCalendar>(HOLD, [calendarId, accountId]);
    if (!calendar) return undefined;
    const events = await sql.query<{ id: string; reminding: boolean }>(EVENTS, [calendarId]);
    await sql.query(REMOVE, [calendarId]);
    return { ...calendar, events };
  }
}
