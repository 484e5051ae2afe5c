import { z } from 'zod';
import {
  emailAddress,
  integerLike,
  timeZoneName,
  filterTime,
} from '../../platform/wire/wire.schema.ts';
import { ROUND_ROBINS } from './round-robin.ts';

/** Longest time span of one request, in days. */
export const MOST_DAYS = 366;
/** Most possible starts in one response. */
const MOST_STARTS = 50_000;
/** Most addresses in one response that names the available people of each slot. */
const MOST_NAMES = 500_000;
const MOST_PEOPLE = 100;
const MOST_MEETINGS = 20;
const MINUTES_OF_A_WEEK = 7 * 24 * 60;

/**
 * Makes a schema optional and treats `null` as `undefined`: the official clients send `null` for
 * fields that are not set.
 */
const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => (value ?? undefined) as z.output<T> | undefined);

const list = <T extends z.ZodType>(item: T, most: number) =>
  z
    .array(item)
    .max(most, `must not have more than ${most} entries`)
    .nullish()
    .transform((items) => (items ?? []) as z.output<T>[]);

const email = emailAddress().toLowerCase();

const calendars = list(
  z.object({
    account_id: z.string().max(100),
    calendar_ids: list(z.string().max(100), 100).describe(
      "Empty: the calendars that are found for the account's address",
    ),
  }),
  MOST_PEOPLE,
).describe('Calendars of accounts of the application');

const times = {
  start_time: filterTime().describe(
    'Unix seconds, also as a numeric string, or a time in ISO 8601',
  ),
  end_time: filterTime().describe(`At most ${MOST_DAYS} days later`),
};

interface Times {
  start_time: number;
  end_time: number;
}

type Issue = [field: string, message: string];

function issueOfTimes({ start_time, end_time }: Times): Issue | undefined {
  if (end_time <= start_time) return ['end_time', 'must be after start_time'];
  if (end_time - start_time > MOST_DAYS * 86_400)
    return ['end_time', `must be at most ${MOST_DAYS} days after start_time`];
  return undefined;
}

/** Adds an issue found in the whole body to its field. */
function addIssue(context: z.RefinementCtx, issue: Issue | undefined): void {
  if (issue) context.addIssue({ code: 'custom', path: [issue[0]], message: issue[1] });
}

interface Asked {
  emails: readonly unknown[];
  calendars: readonly unknown[];
}

const issueOfMissingPeople = ({ emails, calendars: given }: Asked): Issue | undefined =>
  emails.length + given.length === 0
    ? ['emails', 'are required: give addresses, or calendars in their place']
    : undefined;

/** Body of POST /calendars/free-busy. */
export const freeBusyBody = z
  .object({ ...times, emails: list(email, MOST_PEOPLE), calendars })
  .superRefine((body, context) =>
    addIssue(context, issueOfTimes(body) ?? issueOfMissingPeople(body)),
  )
  .meta({
    id: 'FreeBusyRequest',
    example: {
      start_time: '1900000000',
      end_time: '1900086400',
      emails: ['ada@sandbox.test'],
      calendars: [],
    },
  });
export type FreeBusyBody = z.infer<typeof freeBusyBody>;

/** Also in the form `start`, `end`, which the web components use. */
const timeSlot = z
  .object({
    start_time: optional(filterTime()),
    end_time: optional(filterTime()),
    start: optional(filterTime()).describe('The same as start_time'),
    end: optional(filterTime()).describe('The same as end_time'),
  })
  .transform(({ start_time, end_time, start, end }, context) => {
    const [from, to] = [start_time ?? start, end_time ?? end];
    if (from !== undefined && to !== undefined) return { start_time: from, end_time: to };
    const path = [from === undefined ? 'start_time' : 'end_time'];
    context.addIssue({ code: 'custom', path, message: 'is required' });
    return z.NEVER;
  })
  .refine(({ start_time, end_time }) => end_time >= start_time, {
    path: ['end_time'],
    message: 'must not be before start_time',
  });

const freeBusyInput = z.object({ email, time_slots: list(timeSlot, 10_000) });

// `9:0`: Python's client writes the hour and the minute as numbers.
const CLOCK = /^(\d{1,2}):([0-5]?\d)(?::00)?$/;

const minuteOfDay = z
  .string()
  .transform((value, context) => {
    const [, hour = '', minute = ''] = CLOCK.exec(value.trim()) ?? [];
    const minutes = hour === '' ? NaN : Number(hour) * 60 + Number(minute);
    if (minutes <= 1_440) return minutes;
    context.addIssue({
      code: 'custom',
      message: 'must be a time such as 9:00 or 17:30, at most 24:00',
    });
    return z.NEVER;
  })
  .meta({ example: '9:00' });

const openHours = z
  .object({
    // A list in a list: PHP's client writes them like `emails` of meetings in a row.
    emails: z.preprocess(
      (emails) => (Array.isArray(emails) ? emails.flat() : emails),
      list(email, MOST_PEOPLE).refine(
        (emails) => emails.length > 0,
        'must have at least one address',
      ),
    ),
    days: z
      .array(integerLike({ min: 0, max: 6 }))
      .min(1, 'must have at least one day')
      .max(7, 'must not have more than 7 entries')
      .describe('0 is Monday'),
    timezone: timeZoneName(),
    start: minuteOfDay,
    end: minuteOfDay.describe('If not later than the start: a time on the next day'),
  })
  .meta({ id: 'OpenHours' });

const meeting = {
  ...times,
  duration_minutes: integerLike({ min: 1, max: MINUTES_OF_A_WEEK }),
  interval_minutes: integerLike({ min: 1, max: MINUTES_OF_A_WEEK }).describe(
    'From one possible start to the next; the first possible start is start_time',
  ),
  calendars,
  buffer: optional(integerLike({ min: 0, max: 1_440 })).describe(
    'Minutes to keep free before and after busy times',
  ),
  tentative_busy: optional(z.boolean({ error: 'must be true or false' })).describe('Default true'),
  free_busy: list(freeBusyInput, MOST_PEOPLE).describe(
    'Busy times of people without an account on this server',
  ),
  open_hours: list(openHours, 200).describe(
    'When people can be met. People whom no entry names can be met at any time',
  ),
};

interface Meeting extends Times {
  duration_minutes: number;
  interval_minutes: number;
}

/** @param names number of people named with each possible start */
function issueOfStarts(
  { start_time, end_time, interval_minutes }: Meeting,
  names: number,
): Issue | undefined {
  const starts = (end_time - start_time) / (interval_minutes * 60);
  const most = Math.min(MOST_STARTS, Math.floor(MOST_NAMES / Math.max(1, names)));
  return starts > most
    ? [
        'interval_minutes',
        `is too short for this time span and so many people: there would be more than ${most} possible starts`,
      ]
    : undefined;
}

interface Named {
  open_hours: readonly { emails: readonly string[] }[];
  free_busy: readonly { email: string }[];
}

/** Open hours apply only to people given by address, in `emails` or `free_busy`. */
function issueOfOpenHours(
  { open_hours, free_busy }: Named,
  emails: readonly string[],
): Issue | undefined {
  const named = new Set([...emails, ...free_busy.map((one) => one.email)]);
  const unknown = open_hours.flatMap((hours) => hours.emails).find((one) => !named.has(one));
  return unknown === undefined
    ? undefined
    : ['open_hours', `${unknown.slice(0, 100)} is neither in emails nor in free_busy`];
}

/** Body of POST /calendars/availability. */
export const availabilityBody = z
  .object({
    ...meeting,
    emails: list(email, MOST_PEOPLE),
    round_robin: optional(
      z.union([z.literal(''), z.enum(ROUND_ROBINS)], {
        error: `must be one of: ${ROUND_ROBINS.join(', ')}`,
      }),
    )
      .transform((value) => value || undefined)
      .describe('One available person is enough. If absent, all people must be available'),
    event_collection_id: optional(z.string().max(255)).describe(
      'Collection of the meetings that decide the order of the rotation',
    ),
  })
  .superRefine((body, context) => {
    const { emails, round_robin: roundRobin } = body;
    const names = roundRobin ? emails.length + body.calendars.length : 1;
    addIssue(
      context,
      issueOfTimes(body) ??
        issueOfStarts(body, names) ??
        issueOfMissingPeople(body) ??
        issueOfOpenHours(body, emails),
    );
  })
  .meta({
    id: 'AvailabilityRequest',
    example: {
      start_time: 1_900_000_000,
      end_time: 1_900_086_400,
      duration_minutes: 30,
      interval_minutes: 15,
      emails: ['ada@sandbox.test'],
      buffer: 10,
      open_hours: [
        {
          emails: ['ada@sandbox.test'],
          days: [0, 1, 2, 3, 4],
          timezone: 'Europe/Berlin',
          start: '9:00',
          end: '17:00',
        },
      ],
    },
  });
export type AvailabilityBody = z.infer<typeof availabilityBody>;

/** Body of POST /calendars/availability/consecutive: a list of people for each meeting. */
export const consecutiveBody = z
  .object({
    ...meeting,
    emails: list(
      list(email, MOST_PEOPLE).refine(
        (emails) => emails.length > 0,
        'must have at least one address',
      ),
      MOST_MEETINGS,
    ).refine((meetings) => meetings.length > 0, 'must have a list of addresses for each meeting'),
  })
  .superRefine((body, context) => {
    const emails = body.emails.flat();
    const names = emails.length + body.emails.length * body.calendars.length;
    addIssue(
      context,
      issueOfTimes(body) ??
        (new Set(emails).size > MOST_PEOPLE
          ? ['emails', `must not have more than ${MOST_PEOPLE} different addresses`]
          : undefined) ??
        issueOfStarts(body, names) ??
        issueOfOpenHours(body, emails),
    );
  })
  .meta({
    id: 'ConsecutiveAvailabilityRequest',
    example: {
      start_time: 1_900_000_000,
      end_time: 1_900_086_400,
      duration_minutes: 30,
      interval_minutes: 30,
      emails: [['ada@sandbox.test'], ['ada@sandbox.test', 'bo@sandbox.test']],
    },
  });
export type ConsecutiveBody = z.infer<typeof consecutiveBody>;

const slotFields = {
  object: z.literal('time_slot'),
  start_time: z.number().int(),
  end_time: z.number().int(),
};

/** Response of POST /calendars/free-busy. */
export const freeBusyView = z.array(
  z
    .object({
      object: z.literal('free_busy'),
      email: z.string(),
      calendar_id: z.string().optional().describe('Only for people requested by calendar'),
      time_slots: z.array(z.object({ ...slotFields, status: z.literal('busy') })),
    })
    .meta({ id: 'FreeBusy' }),
);
export type FreeBusyView = z.infer<typeof freeBusyView>;

/** Response of POST /calendars/availability. */
export const availabilityView = z
  .object({
    object: z.literal('availability'),
    time_slots: z.array(
      z
        .object({
          ...slotFields,
          start: z.number().int().describe('The same as start_time, for the web components'),
          end: z.number().int().describe('The same as end_time'),
          status: z.literal('free'),
          emails: z
            .array(z.string())
            .optional()
            .describe('Only with round_robin: the available people, in the order of the rotation'),
          capacity: z
            .object({
              event_id: z.string(),
              current_capacity: z.number().int().describe('Current number of participants'),
              max_capacity: z.number().int(),
            })
            .optional()
            .describe('Set if the slot is a group event that can be joined'),
        })
        .meta({ id: 'AvailableTimeSlot' }),
    ),
    order: z
      .array(z.string())
      .optional()
      .describe('Only with round_robin: the order of the rotation'),
  })
  .meta({ id: 'Availability' });
export type AvailabilityView = z.infer<typeof availabilityView>;

/** Response of POST /calendars/availability/consecutive: chains of meetings. */
export const consecutiveView = z.array(
  z.array(
    z
      .object({
        emails: z.array(z.string()),
        start_time: z.number().int(),
        end_time: z.number().int(),
      })
      .meta({ id: 'ConsecutiveTimeSlot' }),
  ),
);
export type ConsecutiveView = z.infer<typeof consecutiveView>;
