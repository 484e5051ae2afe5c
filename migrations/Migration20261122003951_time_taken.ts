import { Migration } from '@mikro-orm/migrations';

export class Migration20261122003951_time_taken extends Migration {
  override name = 'Migration20261122003951_time_taken';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "event_time_taken" on "event" (calendar_id, starts_at) include (ends_at, status) where recurrence is null and busy and status <> 'cancelled' and ends_at > starts_at and ends_at - starts_at <= interval '7 days' and not (participants @> '[{"status":"no"}]' or participants @> '[{"status":"maybe"}]' or coalesce(capacity, 0) > 0);`,
    );
    this.addSql(
      `create index "event_time_taken_perhaps" on "event" (calendar_id, starts_at) where recurrence is null and busy and status <> 'cancelled' and ends_at > starts_at and ends_at - starts_at <= interval '7 days' and (participants @> '[{"status":"no"}]' or participants @> '[{"status":"maybe"}]' or coalesce(capacity, 0) > 0);`,
    );
    this.addSql(
      `create index "event_series_last_day" on "event" (calendar_id, (coalesce(substring(recurrence ->> 'rrule' from '(?i)^(?!.*RRULE:.*RRULE:).*UNTIL=(\\d{8})'), '99999999'))) where recurrence is not null and busy and status <> 'cancelled' and ends_at > starts_at and ends_at - starts_at <= interval '7 days';`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "event_time_taken";`);
    this.addSql(`drop index "event_time_taken_perhaps";`);
    this.addSql(`drop index "event_series_last_day";`);
  }
}
