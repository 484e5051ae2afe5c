import type { CalendarRecord } from './calendars.repository.ts';
import type { CalendarView } from './calendars.schema.ts';

/**
 * A calendar as the API shows it.
 * @param jobStatusId after a write: the job that carries the change to the provider
 */
export function toCalendarView(calendar: CalendarRecord, jobStatusId?: string): CalendarView {
  return {
    id: calendar.id,
    account_id: calendar.accountId,
    object: 'calendar',
    name: calendar.name,
    description: calendar.description,
    location: calendar.location,
    timezone: calendar.timezone,
    is_primary: calendar.isPrimary,
    read_only: calendar.readOnly,
    hex_color: calendar.hexColor,
    metadata: calendar.metadata,
    ...(jobStatusId === undefined ? {} : { job_status_id: jobStatusId }),
  };
}
