import { z } from 'zod';
import { timeZoneName, unixSeconds } from '../../../platform/wire/wire.schema.ts';
import { isDate, readWhen } from './when.ts';

const zone = z
  .union([z.literal(''), timeZoneName()], {
    error: 'must be the name of an IANA time zone, such as Europe/Berlin',
  })
  .nullish()
  .transform((value) => value || undefined);
const instant = unixSeconds()
  .nullish()
  .transform((value) => value ?? undefined);
const date = z
  .string()
  .refine(isDate, 'must be an existing date, as YYYY-MM-DD')
  .nullish()
  .transform((value) => value ?? undefined);

/**
 * `when` as a client sends it. Its keys decide the form; `object` is ignored. Numeric strings are
 * read as numbers, null as absent.
 */
export const whenInput = z
  .looseObject({
    time: instant,
    timezone: zone,
    start_time: instant,
    end_time: instant,
    start_timezone: zone,
    end_timezone: zone,
    date,
    start_date: date,
    end_date: date,
  })
  .transform(({ object: _object, ...fields }, context) => {
    const keys = Object.keys(fields).filter(
      (key) => fields[key] !== undefined && fields[key] !== null,
    );
    const result = readWhen(fields, keys);
    if ('when' in result) return result.when;
    context.addIssue({ code: 'custom', message: result.problem });
    return z.NEVER;
  })
  .meta({
    id: 'WhenInput',
    description:
      'One of: `time` (with `timezone`); `start_time` and `end_time` (with `start_timezone`, `end_timezone`); `date`; `start_date` and `end_date`, both included.',
    example: {
      start_time: 1_900_000_000,
      end_time: 1_900_003_600,
      start_timezone: 'Europe/Berlin',
    },
  });

export const whenView = z
  .discriminatedUnion('object', [
    z.object({
      object: z.literal('time'),
      time: z.number().int(),
      timezone: z.string().optional(),
    }),
    z.object({
      object: z.literal('timespan'),
      start_time: z.number().int(),
      end_time: z.number().int(),
      start_timezone: z.string().optional(),
      end_timezone: z.string().optional(),
    }),
    z.object({ object: z.literal('date'), date: z.string() }),
    z.object({ object: z.literal('datespan'), start_date: z.string(), end_date: z.string() }),
  ])
  .meta({
    id: 'When',
    example: { object: 'timespan', start_time: 1_900_000_000, end_time: 1_900_003_600 },
  });
