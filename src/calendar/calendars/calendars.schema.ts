import { z } from 'zod';
import { pageQuery, listViewQuery } from '../../platform/wire/pagination.schema.ts';
import { metadataInput, metadataQuery, timeZoneName } from '../../platform/wire/wire.schema.ts';
import { listByView } from '../../platform/wire/response-shapes.ts';

const text = (most: number) => z.string().max(most, `must not be longer than ${most} characters`);

/**
 * A text that an empty string or null clears. The result is `undefined` if the text was not given.
 */
const clearableText = (most: number) =>
  text(most)
    .nullish()
    .transform((value) => (value === undefined ? undefined : value || null));

const name = text(1024).trim().min(1, 'must not be empty');

const fields = {
  description: clearableText(8192).describe('Empty or null clears the description'),
  location: clearableText(1024).describe('Empty or null clears the location'),
  timezone: z
    .union([z.literal(''), timeZoneName()], {
      error: 'must be the name of an IANA time zone, such as Europe/Berlin',
    })
    .nullish()
    .transform((value) => (value === undefined ? undefined : value || null))
    .describe('IANA name; empty or null clears the time zone'),
  metadata: metadataInput.nullish().transform((value) => value ?? undefined),
};

/** Body of POST /calendars. */
export const createCalendar = z.object({ name, ...fields }).meta({
  id: 'CreateCalendar',
  example: {
    name: 'Team',
    description: 'What the team does together',
    location: 'Berlin',
    timezone: 'Europe/Berlin',
    metadata: { team: 'sales' },
  },
});
export type CreateCalendar = z.infer<typeof createCalendar>;

/**
 * Body of PUT and PATCH /calendars/{id}. Each field is optional; metadata is replaced as a whole.
 */
export const updateCalendar = z
  .object({ name: name.nullish().transform((value) => value ?? undefined), ...fields })
  .meta({ id: 'UpdateCalendar', example: { description: 'Everything the team does together' } });
export type UpdateCalendar = z.infer<typeof updateCalendar>;

export const listCalendarsQuery = z.object({
  ...pageQuery,
  view: listViewQuery(),
  ...metadataQuery,
});

/** A calendar as the API shows it. */
export const calendarView = z
  .object({
    id: z.string(),
    account_id: z.string(),
    object: z.literal('calendar'),
    name: z.string(),
    description: z.string().nullable(),
    location: z.string().nullable(),
    timezone: z.string().nullable().describe('IANA name'),
    is_primary: z.boolean(),
    read_only: z.boolean(),
    hex_color: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    job_status_id: z
      .string()
      .optional()
      .describe('Only in responses to writes; `successful` at once if nothing has changed'),
  })
  .meta({
    id: 'Calendar',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000002',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      object: 'calendar',
      name: 'Team',
      description: 'What the team does together',
      location: 'Berlin',
      timezone: 'Europe/Berlin',
      is_primary: false,
      read_only: false,
      hex_color: null,
      metadata: { team: 'sales' },
      job_status_id: '019aa1b2-0000-7000-8000-000000000003',
    },
  });
export type CalendarView = z.infer<typeof calendarView>;

/** Response of GET /calendars, by `view`. */
export const calendarList = listByView(calendarView);
