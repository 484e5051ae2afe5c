import { z } from 'zod';
import { type Address, EMAIL_ADDRESS, MOST_EMAIL_LENGTH } from '../base/text/address.ts';
import { secondsOfTimeText } from '../base/time/time-text.ts';
import { isTimeZone } from '../base/time/time-zone.ts';

/*
 * Building blocks of request and response schemas. Numbers are also accepted as numeric strings and
 * always returned as numbers. Ids are opaque strings; times are Unix seconds.
 */

// `993.0`: some clients read every number as a decimal, and send it back as text.
const INTEGER_TEXT = /^\s*[+-]?\d+(?:\.0+)?\s*$/;

/**
 * An integer, also accepted as a numeric string; parsed to a number.
 * @param bounds inclusive; with error texts that replace the usual ones
 */
export function integerLike(
  bounds: {
    min?: number;
    max?: number;
    tooSmall?: string;
    tooLarge?: string;
    notInteger?: string;
  } = {},
) {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds;
  const outside = `must be between ${min} and ${max}`;
  const { tooSmall = outside, tooLarge = outside, notInteger = 'must be an integer' } = bounds;
  return z.union([z.number(), z.string()], { error: notInteger }).transform((value, context) => {
    const number =
      typeof value === 'number' ? value : INTEGER_TEXT.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max && Number.isInteger(number)) return number;
    const isInteger = Number.isInteger(number) || Math.abs(number) === Infinity;
    const message = !isInteger ? notInteger : number < min ? tooSmall : tooLarge;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Latest accepted time: 9999-12-31T23:59:59Z. Later values are mistakes, often milliseconds. */
export const MAX_UNIX_SECONDS = 253_402_300_799;

/**
 * A Unix timestamp in seconds, also accepted as a numeric string; from 0 to the end of the year
 * 9999.
 */
export function unixSeconds() {
  return integerLike({ min: 0, max: MAX_UNIX_SECONDS });
}

/**
 * A time in a filter: Unix seconds as `unixSeconds` accepts them, or a text in ISO 8601, because
 * some clients send each date so. A text without an offset is in UTC. Parsed to Unix seconds.
 */
export function filterTime() {
  const notInteger = 'must be a time in Unix seconds, or in ISO 8601 such as 2027-03-10T12:00:00Z';
  return z
    .union([z.number(), z.string()], { error: notInteger })
    .transform((value) => (typeof value === 'string' ? (secondsOfTimeText(value) ?? value) : value))
    .pipe(integerLike({ min: 0, max: MAX_UNIX_SECONDS, notInteger }));
}

/** `true` or `false` in a query string, in upper or lower case. */
export function queryBoolean() {
  return z
    .string()
    .transform((value, context) => {
      const lower = value.toLowerCase();
      if (lower === 'true' || lower === 'false') return lower === 'true';
      context.addIssue({ code: 'custom', message: 'must be true or false' });
      return z.NEVER;
    })
    .meta({ enum: ['true', 'false'] });
}

/**
 * A query whose times must be in order: a list from one time to an earlier one is always empty, and
 * a mistake. Equal times are allowed.
 * @param spans names of the parameters, as `[from, to]`
 */
export function inOrder<T extends z.ZodObject>(
  query: T,
  ...spans: readonly (readonly [keyof T['shape'] & string, keyof T['shape'] & string])[]
): T {
  return query.superRefine((values: Readonly<Record<string, unknown>>, context) => {
    for (const [from, to] of spans) {
      const [first, last] = [values[from], values[to]];
      if (first === undefined || last === undefined || Number(first) <= Number(last)) continue;
      const message = `must not be earlier than ${from}`;
      context.addIssue({ code: 'custom', path: [to], message });
    }
  });
}

/** A query string value of at most 255 characters. */
export function queryText() {
  return z.string().max(255, 'must not be longer than 255 characters');
}

/** A query parameter that may be repeated; always parsed to an array. */
export function queryList() {
  return z
    .union([queryText(), z.array(queryText()).max(100)])
    .transform((value) => (Array.isArray(value) ? value : [value]));
}

/**
 * An email address from a client: trimmed, at most 320 characters, one `@`, no white space or
 * control characters.
 */
export function emailAddress() {
  return z
    .string()
    .trim()
    .max(MOST_EMAIL_LENGTH, `must not be longer than ${MOST_EMAIL_LENGTH} characters`)
    .regex(EMAIL_ADDRESS, 'must be an email address');
}

/**
 * An absolute http(s) address of at most 2048 characters, without user name, password and fragment.
 */
export function httpUrl() {
  return z
    .string()
    .trim()
    .max(2048, 'must not be longer than 2048 characters')
    .refine((value) => {
      const url = URL.parse(value);
      return (
        url !== null &&
        /^https?:$/.test(url.protocol) &&
        !url.username &&
        !url.password &&
        !value.includes('#')
      );
    }, 'must be an http or https address without credentials and fragment');
}

export function timeZoneName() {
  return z
    .string()
    .refine(isTimeZone, 'must be the name of an IANA time zone, such as Europe/Berlin');
}

/** `{ email, name }` in requests. A missing or null name becomes the empty string. */
export const addressInput = z
  .object({
    email: emailAddress(),
    name: z
      .string()
      .max(998)
      .nullish()
      .transform((name) => name ?? ''),
  })
  .meta({ id: 'AddressInput', example: { email: 'bo@example.test', name: 'Bo' } });

/** `{ email, name }` in responses. */
export const addressView: z.ZodType<Address> = z
  .object({ email: z.string(), name: z.string() })
  .meta({ id: 'Address', example: { email: 'bo@example.test', name: 'Bo' } });

/** An empty map of PHP is an empty list in JSON. */
export const emptyListToMap = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 0 ? {} : value;

/**
 * Metadata: at most 50 pairs, keys of 1 to 40 characters, values of at most 500, no nesting. Grants
 * also accept booleans and numbers; all other objects use this schema.
 */
export const metadataInput = z
  .preprocess(
    emptyListToMap,
    z
      .record(
        z.string().min(1).max(40, 'keys must not be longer than 40 characters'),
        z.string().max(500, 'values must not be longer than 500 characters'),
      )
      .refine((pairs) => Object.keys(pairs).length <= 50, 'must not have more than 50 pairs'),
  )
  .meta({ id: 'MetadataInput', example: { team: 'sales' } });

/** The metadata filters of list endpoints. */
export const metadataQuery = {
  metadata_key: queryList().optional(),
  metadata_value: queryList().optional(),
  metadata_pair: queryList().optional().describe('`key:value`, repeatable'),
  metadata_paire: queryList()
    .optional()
    .describe('The same as metadata_pair, as a client for PHP spells it'),
  metadata_search: z.enum(['any', 'all', 'none']).optional(),
};

/** `{ "job_status_id": … }`: the response to a deletion that creates a job status. */
export const jobReference = z
  .object({ job_status_id: z.string() })
  .meta({ id: 'JobReference', example: { job_status_id: '019aa1b2-0000-7000-8000-000000000001' } });

export const countView = z
  .object({ count: z.number().int() })
  .meta({ id: 'Count', example: { count: 42 } });

/** Array of ids: the response to `view=ids`. */
export const idsView = z.array(z.string()).meta({ id: 'Ids' });

/** `{success: true}`: the response to a deletion. */
export const successView = z
  .object({ success: z.literal(true) })
  .meta({ id: 'Success', example: { success: true } });

/** A response without content. Its type is text, because clients cannot parse it as JSON. */
export const emptyView = z.literal('').describe('Empty');
