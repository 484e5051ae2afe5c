import { z } from 'zod';

const TWILIO_URL = 'https://api.twilio.com';
/** Headers that Carillon or the HTTP connection sets. */
const RESERVED_HEADERS = [
  'idempotency-key',
  'content-length',
  'host',
  'transfer-encoding',
  'connection',
];
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/i;
// Printable ASCII. The HTTP client would refuse any other value when the first SMS is sent.
const HEADER_VALUE = /^[\x20-\x7e]*$/;

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue };

/**
 * The gateway that delivers SMS, and how to reach it. Its secrets appear in no log and no response.
 */
export type SmsConfig =
  /** Every SMS is refused. */
  | { gateway: 'none' }
  /** SMS are written to the table `sms_message` and not sent. */
  | { gateway: 'recording' }
  | TwilioConfig
  | HttpSmsConfig;

/** Twilio's Messages API (2010-04-01), or a server that implements it. */
export interface TwilioConfig {
  gateway: 'twilio';
  /** Base address, without a trailing slash. */
  url: string;
  /** SID of the Twilio account that sends the messages, `AC…`. */
  accountSid: string;
  /** User name of basic authentication: the SID of the account or of an API key. */
  username: string;
  /** The account's token, or the API key's secret. */
  password: string;
  /**
   * Sender: a number in international format, a sender id, or the SID of a messaging service
   * (`MG…`).
   */
  sender: string;
}

/** Any gateway that accepts an SMS as JSON over HTTP. */
export interface HttpSmsConfig {
  gateway: 'http';
  url: string;
  method: 'POST' | 'PUT';
  /** Header values by header name in lower case. */
  headers: Readonly<Record<string, string>>;
  /** JSON body of the request. `{to}`, `{text}` and `{key}` are replaced in its strings. */
  template: JsonValue;
}

const gatewayUrl = z
  .string()
  .refine(
    (value) => /^https?:\/\//.test(value) && URL.canParse(value),
    'must be an address that starts with http:// or https://',
  )
  .refine(
    (value) => !new URL(value).username && !new URL(value).password,
    'must not contain a user name or password',
  );

const json = z.string().transform((value, context): JsonValue => {
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    context.addIssue({ code: 'custom', message: 'must be JSON' });
    return z.NEVER;
  }
});

const headers = json
  .pipe(z.record(z.string(), z.string(), 'must be a JSON object whose values are strings'))
  .transform((given) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value])),
  )
  .refine(
    (given) =>
      Object.entries(given).every(
        ([name, value]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value),
      ),
    'must have valid header names, and values of printable ASCII',
  )
  .refine(
    (given) => !RESERVED_HEADERS.some((name) => name in given),
    `must not set ${RESERVED_HEADERS.join(', ')}`,
  );

const body = json.refine(
  (template) => ['{to}', '{text}'].every((name) => mentions(template, name)),
  'must contain {to} and {text} in its strings',
);

/** Checks a string against `schema` and returns it unchanged. */
const valid = (schema: z.ZodType<unknown, string>) =>
  z.string().superRefine((value, context) => {
    const { error } = schema.safeParse(value);
    for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
  });

/** The variables of SMS gateways; they are part of `environmentSchema`. */
export const smsVariables = {
  SMS_GATEWAY: z
    .enum(['none', 'recording', 'twilio', 'http'], 'must be none, recording, twilio or http')
    .default('none'),
  TWILIO_ACCOUNT_SID: z
    .string()
    .regex(/^AC[0-9a-z]+$/i, 'must begin with AC')
    .optional(),
  TWILIO_API_KEY_SID: z
    .string()
    .regex(/^SK[0-9a-z]+$/i, 'must begin with SK')
    .optional(),
  TWILIO_AUTH_TOKEN: z.string().optional(),
  TWILIO_FROM: z.string().trim().min(1).optional(),
  TWILIO_URL: gatewayUrl.default(TWILIO_URL),
  SMS_HTTP_URL: gatewayUrl.optional(),
  SMS_HTTP_METHOD: z.enum(['POST', 'PUT'], 'must be POST or PUT').default('POST'),
  SMS_HTTP_HEADERS: valid(headers).default('{}'),
  SMS_HTTP_BODY: valid(body).default('{"to":"{to}","text":"{text}","key":"{key}"}'),
};

function mentions(value: JsonValue, name: string): boolean {
  if (typeof value === 'string') return value.includes(name);
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((part) => mentions(part, name))
  );
}

const schema = z.object(smsVariables);

/**
 * Returns the gateway that the environment selects.
 * @param problems receives the name of each missing variable that the gateway requires
 */
export function smsConfig(env: z.output<typeof schema>, problems: string[]): SmsConfig {
  const need = (
    name: 'TWILIO_ACCOUNT_SID' | 'TWILIO_AUTH_TOKEN' | 'TWILIO_FROM' | 'SMS_HTTP_URL',
  ): string => {
    const value = env[name];
    if (value === undefined)
      problems.push(`${name}: is required by SMS_GATEWAY=${env.SMS_GATEWAY}`);
    return value ?? '';
  };
  switch (env.SMS_GATEWAY) {
    case 'twilio': {
      const accountSid = need('TWILIO_ACCOUNT_SID');
      return {
        gateway: 'twilio',
        url: env.TWILIO_URL.replace(/\/+$/, ''),
        accountSid,
        username: env.TWILIO_API_KEY_SID ?? accountSid,
        password: need('TWILIO_AUTH_TOKEN'),
        sender: need('TWILIO_FROM'),
      };
    }
    case 'http':
      return {
        gateway: 'http',
        url: need('SMS_HTTP_URL'),
        method: env.SMS_HTTP_METHOD,
        headers: headers.parse(env.SMS_HTTP_HEADERS),
        template: body.parse(env.SMS_HTTP_BODY),
      };
    default:
      return { gateway: env.SMS_GATEWAY };
  }
}
