/** A connection or a pool. */
interface Queries {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** Composition of a sample's calendars. */
export interface CalendarsSample {
  /** Single events per account and month. */
  singles: number;
  monthsBefore: number;
  monthsAfter: number;
  /**
   * Series per account that have continued since the first month, and series that ended before
   * today.
   */
  series: number;
  ended: number;
}

/** About 150 events a month: 93 single ones, eight every week, and one on every working day. */
export const USUAL: CalendarsSample = {
  singles: 93,
  monthsBefore: 36,
  monthsAfter: 6,
  series: 9,
  ended: 30,
};

const CALENDARS = `
  insert into calendar (id, account_id, provider_id, name, timezone, is_primary, read_only, metadata, created_at, updated_at)
  select gen_random_uuid(), id, id::text, 'Calendar', 'Europe/Berlin', true, false, '{}', now(), now()
  from unnest($1::uuid[]) id`;

const COLUMNS = `
  id, account_id, calendar_id, title, description, location, when_value, starts_at, ends_at, busy, read_only, status,
  hide_participants, participants, recurrence, notifications, metadata, round_robin_order, created_at, updated_at`;

const VALUES = `
  gen_random_uuid(), c.account_id, c.id, 'A meeting', repeat('What is to be talked about. ', 10), 'Room 1',
  jsonb_build_object('object', 'timespan', 'start_time', date_part('epoch', s.at)::bigint,
    'end_time', date_part('epoch', s.at + s.length)::bigint),
  s.at, s.at + s.length, s.kind > 0.05, false, case when s.kind > 0.95 then 'tentative' else 'confirmed' end,
  false, (
    select jsonb_agg(jsonb_build_object('email', email, 'name', name, 'status', status, 'comment', null,
      'phone_number', null))
    from (values (g.email, 'Ada', case when s.kind < 0.1 then 'no' else 'yes' end), ('bo@example.test', 'Bo', 'yes'),
      ('cy@example.test', 'Cy', 'noreply')) p(email, name, status))`;

/**
 * On working days between 8 and 17 o'clock UTC, from a quarter of an hour to an hour and a half
 * long.
 */
const SINGLES = `
  insert into event (${COLUMNS})
  select ${VALUES}, null, '[]', '{}', '{}', now(), now()
  from calendar c join "grant" g on g.id = c.account_id
  cross join lateral (
    select random() as kind, (1 + floor(random() * 6)) * interval '15 minutes' as length,
      date_trunc('day', now()) + (floor(random() * $4) - $3) * interval '1 day'
        + (32 + floor(random() * 36)) * interval '15 minutes' as at
    from generate_series(1, $2::int) where c.id is not null) s
  where c.account_id = any($1::uuid[])`;

const SERIES = `
  insert into event (${COLUMNS})
  select ${VALUES}, jsonb_build_object('timezone', 'Europe/Berlin', 'rrule', jsonb_build_array(
      'RRULE:FREQ=WEEKLY' || case when s.number = 1 then ';BYDAY=MO,TU,WE,TH,FR' else '' end
        || case when s.number > $2 then ';UNTIL=' || to_char(now() - random() * interval '1 year' - interval '1 month', 'YYYYMMDD')
           else '' end)), '[]', '{}', '{}', now(), now()
  from calendar c join "grant" g on g.id = c.account_id
  cross join lateral (
    select number, 0.2 + random() / 2 as kind, (1 + floor(random() * 3)) * interval '15 minutes' as length,
      date_trunc('day', now()) + (number % 5 - $4) * interval '1 day'
        + (32 + floor(random() * 36)) * interval '15 minutes' as at
    from generate_series(1, $2::int + $3::int) number where c.id is not null) s
  where c.account_id = any($1::uuid[])`;

/** Writes a calendar with events for each account, as the mirror does, without a provider. */
export async function seedCalendars(
  sql: Queries,
  accountIds: readonly string[],
  sample: CalendarsSample = USUAL,
): Promise<void> {
  const days = sample.monthsBefore * 30;
  const months = sample.monthsBefore + sample.monthsAfter;
  await sql.query('select setseed(0.45)', []);
  await sql.query(CALENDARS, [accountIds]);
  await sql.query(SINGLES, [accountIds, sample.singles * months, days, months * 30]);
  await sql.query(SERIES, [accountIds, sample.series, sample.ended, days]);
}
