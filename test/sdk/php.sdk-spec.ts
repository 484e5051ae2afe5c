import { z } from 'zod';
import { useClientWorld } from './support/client-world.ts';
import { hostedCodes } from './support/hosted-code.ts';
import { type Answer, describeRecordedClient } from './support/recorded-client.ts';

// The client has no models: methods return the JSON of an answer as an array (Request/Sync.php
// and Request/Async.php), and applications read the keys of the service. An answer of another
// content type becomes an array about the problem, which these models refuse.

const id = z.string();
const text = z.string().nullable();
const owned = { id, account_id: z.string() };
const of = <T extends string>(object: T) => ({ object: z.literal(object), ...owned });
const people = z.array(z.looseObject({ name: z.string(), email: z.string() }));

const file = z.looseObject({ ...of('file'), filename: text, size: z.number() });
const folder = z.looseObject({ ...of('folder'), display_name: z.string(), name: text });
const label = z.looseObject({ ...of('label'), display_name: z.string(), name: text });
const messageFields = {
  ...of('message'),
  thread_id: text,
  subject: z.string(),
  from: people,
  to: people,
  cc: people,
  bcc: people,
  date: z.number(),
  body: z.string(),
  starred: z.boolean(),
  unread: z.boolean(),
};
const message = z.looseObject(messageFields);
const job = z.looseObject({
  job_status_id: z.string(),
  status: z.string(),
  original_data: z.looseObject({ send_at: z.number() }),
});
const slot = z.looseObject({ start_time: z.number(), end_time: z.number() });

/** An answer that is JSON. */
const valid = z.looseObject({ invalidJson: z.undefined().optional() });

const models = {
  account: z.looseObject({ ...owned, email_address: z.string(), provider: z.string() }),
  applicationAccount: z.looseObject({ id, email: z.string(), billing_state: z.string() }),
  application: z.looseObject({ application_name: text, redirect_uris: z.array(z.string()) }),
  ipAddresses: z.looseObject({ ip_addresses: z.array(z.string()), updated_at: z.number() }),
  tokenInfo: z.looseObject({ state: z.string(), scopes: z.string() }),
  success: z.looseObject({ success: z.unknown().refine(Boolean) }),
  code: z.looseObject({ code: z.string() }),
  token: z.looseObject({ access_token: z.string(), account_id: z.string() }),
  provider: z.looseObject({ provider_name: z.string(), detected: z.boolean() }),
  /** `httpStatus` of the array that stands for an answer that is not JSON. */
  nothing: z.looseObject({ httpStatus: z.literal('200') }),
  /** The job of the deletion or `success`; null becomes an empty array. */
  deleted: z.union([z.array(z.unknown()), valid]),
  message,
  thread: z.looseObject({
    ...of('thread'),
    subject: z.string(),
    participants: people,
    message_ids: z.array(z.string()).optional(),
    last_message_timestamp: z.number(),
  }),
  folder,
  label,
  file,
  content: z.looseObject({ contentBody: z.string().min(1) }),
  draft: z.looseObject({
    ...messageFields,
    object: z.literal('draft'),
    version: z.number(),
  }),
  job,
  jobStatus: z.looseObject({
    job_status_id: z.string(),
    object: z.string(),
    action: z.string(),
    status: z.string(),
    created_at: z.number(),
  }),
  calendar: z.looseObject({ ...of('calendar'), name: z.string(), read_only: z.boolean() }),
  event: z.looseObject({
    ...of('event'),
    calendar_id: z.string(),
    title: z.string(),
    when: z.looseObject({ object: z.string() }),
    participants: z.array(z.looseObject({ email: z.string(), status: z.string() })),
    status: z.string(),
  }),
  ics: z.looseObject({ ics: z.string().startsWith('BEGIN:VCALENDAR') }),
  freeBusy: z.looseObject({ email: z.string(), time_slots: z.array(slot) }),
  availability: z.looseObject({ object: z.literal('availability'), time_slots: z.array(slot) }),
  consecutive: z.array(z.array(slot)),
  room: z.looseObject({ email: z.string(), name: z.string() }),
  contact: z.looseObject({
    ...of('contact'),
    emails: z.array(z.looseObject({ email: z.string() })),
    picture_url: text,
  }),
  contactGroup: z.looseObject({ ...of('contact_group'), name: z.string() }),
  webhook: z.looseObject({ id, callback_url: z.string(), triggers: z.array(z.string()) }),
  cursor: z.looseObject({ cursor: z.string() }),
  deltas: z.looseObject({
    cursor_start: z.string(),
    cursor_end: z.string(),
    deltas: z.array(z.looseObject({ id, object: z.string(), event: z.string() })),
  }),
  sentiment: z.looseObject({ sentiment: z.string(), sentiment_score: z.number() }),
  signature: z.looseObject({ ...messageFields, signature: z.string() }),
  ocr: z.looseObject({ id, ocr: z.array(z.string()), processed_pages: z.number() }),
  categorized: z.looseObject({ ...messageFields, categorizer: z.looseObject({}) }),
  conversation: z.looseObject({ ...messageFields, conversation: z.string() }),
  feedback: valid,
  id,
  count: z.looseObject({ count: z.number() }),
  /** Utilities/Errors.php knows the status only. */
  error: z.looseObject({}),
};

/** Request/AbsBase.php: `parseResponse` and `concatForInvalidJsonData` */
function parse({ status, headers, body }: Answer): unknown {
  const type = headers['content-type'];
  if (type === undefined) throw new Error('the client reads the first content type of each answer');
  const data = body.toString();
  const invalid = {
    httpStatus: String(status),
    invalidJson: true,
    contentType: type,
    contentBody: data,
  };
  if (!type.toLowerCase().includes('application/json')) return invalid;
  try {
    return (JSON.parse(data.trim()) as unknown) ?? [];
  } catch {
    return invalid;
  }
}

const prepare = useClientWorld();

describeRecordedClient('php', {
  parse,
  models,
  environment: { NEURAL: 'true', STRICT_REQUESTS: 'true' },
  async prepare(server, values) {
    const more = await prepare(server, values);
    const hosted = await hostedCodes(server, values, 1);
    // The client itself can schedule no message, because it sends no body.
    const scheduled = await fetch(`${server.url}/v2/outbox`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${values['accessToken']}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        to: [{ email: values['otherEmail'] }],
        subject: 'Later',
        body: 'b',
        send_at: Math.floor(Date.now() / 1000) + 3600,
      }),
    });
    const { job_status_id: jobId } = (await scheduled.json()) as { job_status_id: string };
    return { ...more, ...hosted, jobId };
  },
});
