import { z } from 'zod';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import {
  emailAddress,
  inOrder,
  integerLike,
  metadataInput,
  metadataQuery,
  queryBoolean,
  queryText,
  filterTime,
} from '../../platform/wire/wire.schema.ts';
import { listByView } from '../../platform/wire/response-shapes.ts';
import {
  clearableText,
  conferencingInput,
  conferencingView,
  notificationsInput,
  notificationView,
  optional,
  participantsInput,
  participantView,
  recurrenceInput,
  recurrenceView,
  reminderMethodInput,
  reminderMinutesInput,
  remindersInput,
  remindersView,
  text,
} from './event-parts.schema.ts';
import { EVENT_STATUSES } from './event-values.ts';
import { whenInput, whenView } from './when/when.schema.ts';

const trueOrFalse = optional(z.boolean({ error: 'must be true or false' }));

const fields = {
  title: optional(text(1024)),
  description: optional(text(65_536)),
  location: optional(text(1024)),
  busy: trueOrFalse.describe('Default true'),
  read_only: trueOrFalse.describe(
    'Tells readers that the event is not theirs to change. The account itself can change it. Default false',
  ),
  participants: optional(participantsInput),
  recurrence: optional(recurrenceInput),
  conferencing: optional(conferencingInput),
  notifications: optional(notificationsInput).describe('An empty array removes all notifications'),
  reminder_minutes: reminderMinutesInput,
  reminder_method: reminderMethodInput,
  reminders: optional(remindersInput),
  metadata: optional(metadataInput),
  visibility: optional(
    z.union([z.literal(''), z.enum(['public', 'private'])], { error: 'must be public or private' }),
  ).transform((value) => (value === '' ? null : value)),
  hide_participants: trueOrFalse,
  capacity: optional(integerLike({ min: -1, max: 1_000_000 })).describe('-1: no limit'),
  event_collection_id: clearableText(255),
  round_robin_order: optional(z.array(emailAddress().toLowerCase()).max(500)),
  customer_event_id: clearableText(255),
};

/** Body of POST /events. */
export const createEvent = z
  .object({
    calendar_id: z.string(),
    when: whenInput,
    ...fields,
  })
  .meta({
    id: 'CreateEvent',
    example: {
      calendar_id: '019aa1b2-0000-7000-8000-000000000002',
      title: 'Review',
      location: 'Room 1',
      when: { start_time: '1900000000', end_time: '1900003600' },
      participants: [{ name: 'Bo', email: 'bo@example.test', phone_number: '+15550100' }],
      conferencing: {
        provider: 'Zoom Meeting',
        details: {
          meeting_code: '123456',
          password: 'secret',
          url: 'https://zoom.example.test/j/123456',
        },
      },
      notifications: [
        {
          type: 'email',
          minutes_before_event: '600',
          subject: 'Review',
          body: '<b>See you soon</b>',
        },
        {
          type: 'webhook',
          minutes_before_event: 30,
          url: 'https://hooks.example.test/',
          payload: '{"go":true}',
        },
      ],
      metadata: { team: 'sales' },
    },
  });
export type CreateEvent = z.infer<typeof createEvent>;

/**
 * Body of PUT, PATCH and POST /events/{id}. Fields that are absent or null stay as they are, also
 * all of them.
 */
export const updateEvent = z
  .object({ calendar_id: optional(z.string()), when: optional(whenInput), ...fields })
  .meta({ id: 'UpdateEvent', example: { title: 'Review, moved', notifications: [] } });
export type UpdateEvent = z.infer<typeof updateEvent>;

export const writeEventQuery = z.object({
  notify_participants: queryBoolean()
    .optional()
    .describe(
      'Whether participants are notified by mail from the account: invitations, updates, cancellations. Needs `email.send` or `email`, unless the provider mails participants itself. Default: false; true at a provider that always mails, where false is refused',
    ),
});
export type WriteEventQuery = z.infer<typeof writeEventQuery>;

export const listEventsQuery = inOrder(
  z.object({
    calendar_id: queryText().optional(),
    event_id: queryText()
      .optional()
      .describe('Id of an event, or of an instance: `<id of the series>_<original start>`'),
    title: queryText().optional().describe('Part of the title; case is ignored'),
    description: queryText().optional().describe('Part of the description; case is ignored'),
    location: queryText().optional().describe('Part of the location; case is ignored'),
    participants: queryText()
      .optional()
      .describe('Name, email, status or phone number of a participant'),
    busy: queryBoolean().optional(),
    starts_before: filterTime().optional(),
    starts_after: filterTime().optional(),
    ends_before: filterTime().optional(),
    ends_after: filterTime().optional(),
    updated_at_before: filterTime().optional(),
    updated_at_after: filterTime().optional(),
    show_cancelled: queryBoolean().optional().describe('Default false'),
    expand_recurring: queryBoolean()
      .optional()
      .describe(
        'true: list instances instead of recurring events. Without starts_before or ends_before, the list reaches one year ahead',
      ),
    customer_event_id: queryText().optional(),
    ...metadataQuery,
    view: viewQuery(['ids', 'count', 'expanded']).describe(
      '`expanded` adds `warnings` to each event',
    ),
    ...pageQuery,
  }),
  ['starts_after', 'starts_before'],
  ['ends_after', 'ends_before'],
  ['starts_after', 'ends_before'],
  ['updated_at_after', 'updated_at_before'],
);

/** Query of GET /events/{id}. */
export const readEventQuery = z.object({
  view: viewQuery(['expanded']).describe('`expanded` adds `warnings`'),
});

export type ListEventsQuery = z.infer<typeof listEventsQuery>;

/** An event as the API shows it. */
export const eventView = z
  .object({
    id: z.string(),
    object: z.literal('event'),
    account_id: z.string(),
    calendar_id: z.string(),
    message_id: z.string().nullable(),
    ical_uid: z.string().nullable().describe('Null until the event exists at the provider'),
    title: z.string(),
    description: z.string(),
    location: z.string(),
    owner: z.string().describe('`Name <email>`'),
    organizer_email: z.string().nullable(),
    organizer_name: z.string().nullable(),
    participants: z.array(participantView),
    read_only: z.boolean(),
    when: whenView,
    busy: z.boolean(),
    status: z.enum(EVENT_STATUSES),
    visibility: z.string().nullable(),
    hide_participants: z.boolean(),
    recurrence: recurrenceView.optional().describe('Only for series'),
    master_event_id: z.string().optional(),
    original_start_time: z.number().int().optional(),
    conferencing: conferencingView.nullable(),
    reminders: remindersView.nullable(),
    notifications: z
      .array(notificationView)
      .describe('The notifications of participants, each with the outcome of its reminder'),
    metadata: z.record(z.string(), z.string()),
    event_collection_id: z.string().nullable(),
    capacity: z.number().int().nullable(),
    round_robin_order: z.array(z.string()),
    customer_event_id: z.string().nullable(),
    updated_at: z.number().int(),
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        'Only with view=expanded: what could not be read of the calendar file and is left out here, in plain words',
      )
      .meta({
        example: [
          'The line "RRULE:FREQ=WEEKLY;BYDAY=MON" cannot be read and is left out: invalid BYDAY value "MON"',
        ],
      }),
    job_status_id: z
      .string()
      .optional()
      .describe('Only in responses to writes; `successful` at once if nothing has changed'),
  })
  .meta({ id: 'Event' });
export type EventView = z.infer<typeof eventView>;

/** Response of GET /events, by `view`. */
export const eventList = listByView(eventView);
