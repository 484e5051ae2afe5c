import { z } from 'zod';
import { emailAddress, integerLike, timeZoneName } from '../../platform/wire/wire.schema.ts';
import { REMINDER_STATUSES } from './ports/event-reminders.ts';
import { PARTICIPANT_STATUSES, participantKey } from './event-values.ts';
import { MOST_RULES } from '../../formats/recurrence/recurrence-lines.ts';

/*
 * Schemas for the parts of an event: participants, recurrence, conferencing, notifications, popup
 * reminders. In requests, null means "not given", because the official client sends back null for
 * fields that it has read as null.
 */

/** A text of at most `most` characters. */
export const text = (most: number) =>
  z.string().max(most, `must not be longer than ${most} characters`);

/** The schema with null and absence read as `undefined`. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => (value ?? undefined) as z.output<T> | undefined);

/**
 * A text that an empty string clears. The result is `null` for an empty string, and `undefined` if
 * the text was not given.
 */
export const clearableText = (most: number) =>
  optional(text(most)).transform((value) => (value === '' ? null : value));

const SEPARATORS = /[\s().\-/]/g;

const phoneNumber = text(50)
  .transform((value) => value.replace(SEPARATORS, ''))
  .refine((value) => value === '' || /^\+[1-9]\d{4,14}$/.test(value), {
    message: 'must be in international format, such as +4930123456',
  });

export const participantInput = z
  .object({
    email: optional(
      z.union([z.literal(''), emailAddress().toLowerCase()], { error: 'must be an email address' }),
    )
      .transform((value) => value ?? '')
      .describe('May be absent if phone_number is given: for a participant who only gets texts'),
    name: optional(text(998)),
    phone_number: optional(phoneNumber).describe('International format; empty: none'),
    comment: optional(text(2048)),
    status: optional(
      z.union([z.literal(''), z.enum(PARTICIPANT_STATUSES)], {
        error: 'must be one of: yes, no, maybe, noreply',
      }),
    ).transform((value) => value || undefined),
  })
  .refine(({ email, phone_number: phone }) => email || phone, 'needs an email or a phone_number')
  .meta({
    id: 'ParticipantInput',
    example: { email: 'bo@example.test', name: 'Bo', phone_number: '+15550100' },
  });
export type ParticipantInput = z.infer<typeof participantInput>;

/** Most participants of an event. Providers accept fewer. */
const MOST_PARTICIPANTS = 500;

export const participantsInput = z
  .array(participantInput)
  .max(MOST_PARTICIPANTS, `must not have more than ${MOST_PARTICIPANTS} entries`)
  .superRefine((participants, context) => {
    const seen = new Set<string>();
    for (const { email, phone_number: phone } of participants) {
      const key = participantKey({ email, phone_number: phone ?? null });
      if (seen.has(key)) context.addIssue({ code: 'custom', message: `${key} is given twice` });
      seen.add(key);
    }
  });

export const participantView = z
  .object({
    email: z.string().nullable().describe('Null for a participant who is reached by phone only'),
    name: z.string(),
    status: z.enum(PARTICIPANT_STATUSES),
    comment: z.string().nullable(),
    phone_number: z.string().nullable(),
  })
  .meta({ id: 'Participant' });

/**
 * A recurrence line. Control characters are refused, because a line break would begin another
 * property in a calendar file.
 */
const RULE =
  /^(RRULE:(?=.*\bFREQ=[A-Z]+)[A-Z]+=[^;\p{Cc}]+(;[A-Z]+=[^;\p{Cc}]+)*;?|EXDATE[;:]\P{Cc}+)$/iu;

export const recurrenceInput = z
  .object({
    rrule: optional(
      z
        .array(
          text(2000).regex(
            RULE,
            'must start with RRULE: (with FREQ) or EXDATE:; EXRULE and RDATE are not supported',
          ),
        )
        .min(1, 'must have a rule')
        .max(100, 'must not have more than 100 rules')
        .refine(
          (rules) => rules.filter((rule) => /^RRULE:/i.test(rule)).length <= MOST_RULES,
          `must not have more than ${MOST_RULES} RRULE lines`,
        )
        .refine((rules) => rules.some((rule) => /^RRULE:/i.test(rule)), 'must have an RRULE line'),
    ),
    timezone: optional(
      z.union([z.literal(''), timeZoneName()], {
        error: 'must be the name of an IANA time zone, such as Europe/Berlin',
      }),
    )
      .transform((value) => value || undefined)
      .describe('Default: the zone of the calendar'),
  })
  .transform(({ rrule, timezone }, context) => {
    if (rrule) return { rrule, timezone };
    // The client for Ruby sends an empty object for an event that is not recurring.
    if (timezone === undefined) return undefined;
    context.addIssue({ code: 'custom', path: ['rrule'], message: 'is required' });
    return z.NEVER;
  })
  .meta({
    id: 'RecurrenceInput',
    description: 'An empty object means "not given"',
    example: { rrule: ['RRULE:FREQ=WEEKLY;BYDAY=MO'], timezone: 'Europe/Berlin' },
  });

export const recurrenceView = z
  .object({ rrule: z.array(z.string()), timezone: z.string() })
  .meta({ id: 'Recurrence' });

/** Limit for `autocreate.settings` as JSON, in characters. */
const MOST_SETTINGS = 8_000;

const detail = optional(text(2048)).transform((value) => value || undefined);

export const conferencingInput = z
  .object({
    provider: optional(text(100).trim().min(1, 'must not be empty')).describe(
      'Usually Zoom Meeting, Google Meet, Microsoft Teams, WebEx or GoToMeeting',
    ),
    details: optional(
      z.object({
        meeting_code: detail,
        phone: optional(z.array(text(100)).max(20, 'must not have more than 20 entries')),
        password: detail,
        pin: detail,
        url: detail,
      }),
    ),
    autocreate: optional(
      z.object({
        settings: z
          .record(z.string().max(100), z.unknown())
          .nullish()
          .transform((settings) => settings ?? {})
          .refine((settings) => JSON.stringify(settings).length <= MOST_SETTINGS, {
            message: `must not be longer than ${MOST_SETTINGS} characters`,
          }),
      }),
    ).describe(
      'Creates a meeting with the service that the application has set up for this provider',
    ),
  })
  .transform(({ provider, details, autocreate }, context) => {
    // The client for Ruby sends an empty object for an event without conferencing.
    if (!provider && !details && !autocreate) return undefined;
    if (!provider) context.addIssue({ code: 'custom', path: ['provider'], message: 'is required' });
    else if (details && !autocreate) return { provider, details };
    else if (autocreate && !details) return { provider, autocreate };
    else
      context.addIssue({
        code: 'custom',
        message: details
          ? 'details and autocreate cannot be used together'
          : 'details or autocreate is required',
      });
    return z.NEVER;
  })
  .meta({
    id: 'ConferencingInput',
    description: 'An empty object means "not given"',
    example: {
      provider: 'Zoom Meeting',
      details: {
        meeting_code: '123456',
        password: 'secret',
        url: 'https://zoom.example.test/j/123456',
      },
    },
  });

export const conferencingView = z
  .object({
    provider: z.string(),
    details: z
      .object({
        meeting_code: z.string().optional(),
        phone: z.array(z.string()).optional(),
        password: z.string().optional(),
        pin: z.string().optional(),
        url: z.string().optional(),
      })
      .optional()
      .describe('Absent until the meeting is created'),
    autocreate: z
      .object({ settings: z.record(z.string(), z.unknown()) })
      .optional()
      .describe('Present only until the meeting is created'),
  })
  .meta({ id: 'Conferencing' });

const MINUTES_OF_A_YEAR = 525_600;
const minutes_before_event = integerLike({ min: 0, max: MINUTES_OF_A_YEAR }).describe(
  'Minutes before the start of the event, at most a year (525600); numeric strings are accepted',
);

const httpUrl = text(2048).refine((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && ['http:', 'https:'].includes(url.protocol);
}, 'must be an http or https address');

/** PHP's client knows the field only as `minutes_before_events`. */
function nameMinutes(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('minutes_before_events' in given))
    return given;
  const { minutes_before_events: minutes, ...others } = given;
  return { minutes_before_event: minutes, ...others };
}

/** A reminder as a client sends it. */
export const notificationInput = z
  .preprocess(
    nameMinutes,
    z.discriminatedUnion(
      'type',
      [
        z.object({
          type: z.literal('email'),
          minutes_before_event,
          subject: text(998).describe('Empty: `Reminder: <title>`'),
          body: text(100_000).describe('HTML'),
        }),
        z.object({
          type: z.literal('sms'),
          minutes_before_event,
          message: text(1600).describe('Empty: `Reminder: <title>`'),
        }),
        z.object({
          type: z.literal('webhook'),
          minutes_before_event,
          url: httpUrl,
          payload: text(65_536),
        }),
      ],
      { error: 'must be one of email, sms, webhook' },
    ),
  )
  .meta({
    id: 'EventNotificationInput',
    example: {
      type: 'email',
      minutes_before_event: 60,
      subject: 'Soon',
      body: '<b>In an hour</b>',
    },
  });

const MOST_NOTIFICATIONS = 20;

export const notificationsInput = z
  .array(notificationInput)
  .max(MOST_NOTIFICATIONS, `must not have more than ${MOST_NOTIFICATIONS} entries`);

const plannedFields = {
  id: z.string().describe('The `notification_id` of its reminders'),
  minutes_before_event: z.number().int(),
  status: z
    .enum(REMINDER_STATUSES)
    .describe(
      'Of all recipients together: `scheduled` if one will be reminded, else `sent` if one was, else why none was',
    ),
  reason: z
    .string()
    .nullable()
    .describe('Why no recipient is reminded; null if `scheduled` or `sent`'),
  due_at: z.number().int().describe('When the reminder is due'),
};

export const notificationView = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('email'), subject: z.string(), body: z.string(), ...plannedFields }),
    z.object({ type: z.literal('sms'), message: z.string(), ...plannedFields }),
    z.object({
      type: z.literal('webhook'),
      url: z.string(),
      payload: z.string(),
      ...plannedFields,
    }),
  ])
  .meta({ id: 'EventNotification' });
export type NotificationView = z.infer<typeof notificationView>;

const BRACKETED = /^\[(-?\d{1,6}(,-?\d{1,6}){0,9})?\]$/;

/**
 * A bracketed list such as `"[20]"`. A bare number is read as a list of one number, an empty string
 * as "not given".
 */
const minutesList = optional(z.union([text(100), z.number().int()]))
  .transform((value) => {
    const compact = String(value ?? '').replaceAll(' ', '');
    return /^-?\d+$/.test(compact) ? `[${compact}]` : compact || undefined;
  })
  .refine((value) => value === undefined || BRACKETED.test(value), 'must be of the form "[20]"');

export const reminderMinutesInput = minutesList.describe(
  'Popup reminder of the calendar, as a number, a numeric string or a list such as `"[20]"`. `"[-1]"` means the default of the calendar, `"[]"` means none',
);

export const reminderMethodInput = optional(
  z.union([z.literal(''), z.enum(['email', 'popup', 'display', 'sound'])], {
    error: 'must be one of: email, popup, display, sound',
  }),
).transform((value) => value || undefined);

/** The popup reminder as responses show it, for clients that send it back or change it. */
export const remindersInput = z
  .object({ reminder_minutes: minutesList, reminder_method: reminderMethodInput })
  .meta({
    id: 'EventRemindersInput',
    description:
      'The same as reminder_minutes and reminder_method, in the form of the response. The fields of the event itself have precedence',
    example: { reminder_minutes: 20, reminder_method: 'popup' },
  });

export const remindersView = z
  .object({
    reminder_minutes: z
      .number()
      .int()
      .nullable()
      .describe(
        'Minutes before the start; of several reminders the first. -1: the default of the calendar; null: none',
      ),
    reminder_method: z.string(),
  })
  .meta({ id: 'EventReminders' });
