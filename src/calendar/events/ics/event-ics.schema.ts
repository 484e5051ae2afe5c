import { z } from 'zod';
import { optional, text } from '../event-parts.schema.ts';
import { createEvent } from '../events.schema.ts';
import { whenInput } from '../when/when.schema.ts';

/** Methods of RFC 5546 that the file of an event may have. */
export const ICS_METHODS = ['request', 'publish', 'reply', 'add', 'cancel', 'refresh'] as const;

/** Options of a calendar file. */
export const icsOptions = z.object({
  ical_uid: optional(text(255)).describe('UID; default: the UID of the event'),
  prodid: optional(text(255)).describe('PRODID: the program that created the file'),
  method: optional(
    z
      .string()
      .toLowerCase()
      .pipe(z.enum(ICS_METHODS, { error: `must be one of: ${ICS_METHODS.join(', ')}` })),
  ).describe('Default: `request` if the event has participants, else `publish`'),
});

/** Body of POST /events/to-ics: the id of a stored event, or the fields of a new one. */
export const eventToIcs = createEvent
  .partial()
  .extend({
    event_id: optional(z.string()).describe(
      'A stored event; if given, the other fields are ignored',
    ),
    calendar_id: optional(z.string()),
    when: optional(whenInput),
    ics_options: optional(icsOptions),
  })
  .superRefine(({ event_id, calendar_id, when }, context) => {
    if (event_id !== undefined) return;
    for (const [name, value] of [
      ['calendar_id', calendar_id],
      ['when', when],
    ] as const)
      if (value === undefined)
        context.addIssue({ code: 'custom', path: [name], message: 'is required without event_id' });
  })
  .meta({
    id: 'EventToIcs',
    example: {
      event_id: '019aa1b2-0000-7000-8000-000000000003',
      ics_options: { method: 'request' },
    },
  });
export type EventToIcs = z.infer<typeof eventToIcs>;

/** Response of POST /events/to-ics. */
export const icsView = z
  .object({ ics: z.string().describe('iCalendar (RFC 5545); lines end with CRLF') })
  .meta({ id: 'Ics' });
