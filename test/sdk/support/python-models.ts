import { z } from 'zod';
import type { Answer } from './recorded-client.ts';

// The client copies the attributes of a model from the JSON of an answer
// (nylas/client/restful_models.py). It checks few types, but drops whole objects, and fails where
// it computes with a value.

const text = z.string().nullish();
/** Without it, `create` would compare the type with the name of the class. */
const absent = z.undefined().optional();
const flag = z.boolean().nullish();
const number = z.number().nullish();
/** `datetime_attrs`: a number, or a time in ISO 8601; null and 0 are passed over. */
const time = z.union([z.number(), z.iso.datetime()]).nullish();
/** `date_attrs`: datetime.strptime with `%Y-%m-%d`. */
const date = z.iso.date().nullish();
const people = z.array(z.looseObject({ name: text, email: text }));

/**
 * `RestfulModel.create` returns None for an object of another type.
 * @param types the name of the class in lower case, and the name of the class above
 */
const model = <const T extends string[], F extends z.core.$ZodLooseShape>(types: T, fields: F) =>
  z.looseObject({ object: z.enum(types).optional(), ...fields });

/**
 * `typed_dict_attrs`: an absent list is empty, but null cannot be read, and each entry must have
 * both keys.
 */
const typed = (key: string) =>
  z.array(z.looseObject({ type: z.string().nullable(), [key]: z.string() })).optional();

const id = z.string();
const owned = { id, account_id: text, job_status_id: text };

const folder = model(['folder'], { ...owned, name: text, display_name: text });
const label = model(['label'], { ...owned, name: text, display_name: text });
const fileFields = {
  id,
  account_id: text,
  content_type: text,
  filename: text,
  content_id: text,
  size: number,
  message_ids: z.array(z.string()).optional(),
};
const file = model(['file'], fileFields);
const messageFields = {
  ...owned,
  thread_id: text,
  subject: text,
  snippet: text,
  body: text,
  from: people.optional(),
  to: people.optional(),
  cc: people.optional(),
  bcc: people.optional(),
  reply_to: people.optional(),
  date: time,
  starred: flag,
  unread: flag,
  files: z.array(file).optional(),
  events: z.array(z.unknown()).optional(),
  // `Folder.create(**folder)` and `Label.create(**label)` for each.
  folder: folder.nullish(),
  labels: z.array(label).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  headers: z.looseObject({ 'Message-Id': text, References: z.array(z.string()) }).nullish(),
};
const message = model(['message'], messageFields);
const thread = model(['thread'], {
  ...owned,
  subject: text,
  snippet: text,
  participants: people,
  message_ids: z.array(z.string()).optional(),
  draft_ids: z.array(z.string()).optional(),
  messages: z.array(message).optional(),
  folders: z.array(folder).nullish(),
  labels: z.array(label).nullish(),
  starred: flag,
  unread: flag,
  has_attachments: flag,
  version: number,
  first_message_timestamp: time,
  last_message_timestamp: time,
  last_message_received_timestamp: time,
  last_message_sent_timestamp: time,
});
const calendar = model(['calendar'], {
  ...owned,
  name: text,
  description: text,
  hex_color: text,
  metadata: z.record(z.string(), z.string()).nullish(),
  read_only: flag,
  is_primary: flag,
});
const event = model(['event'], {
  ...owned,
  calendar_id: text,
  title: text,
  description: text,
  location: text,
  owner: text,
  // `as_json` copies `when` and removes `status` from each participant.
  when: z.looseObject({ object: text }),
  participants: z.array(z.looseObject({ email: text })).nullish(),
  recurrence: z.looseObject({ rrule: z.array(z.string()) }).nullish(),
  conferencing: z.looseObject({ provider: text }).nullish(),
  notifications: z.array(z.looseObject({ type: z.string() })).nullish(),
  // `validate` compares it with the number of participants.
  capacity: number,
  round_robin_order: z.array(z.string()).nullish(),
  original_start_time: time,
  busy: flag,
  read_only: flag,
  metadata: z.record(z.string(), z.string()).nullish(),
});
const contact = model(['contact'], {
  ...owned,
  given_name: text,
  surname: text,
  nickname: text,
  notes: text,
  source: text,
  picture_url: text,
  birthday: date,
  emails: typed('email'),
  im_addresses: typed('im_address'),
  physical_addresses: z.array(z.looseObject({ type: z.string().nullable() })).optional(),
  phone_numbers: typed('number'),
  web_pages: typed('url'),
});
/** nylas/client/authentication_models.py: `create` takes what is under `data`. */
const integration = z.looseObject({ provider: z.string(), name: text });
const grant = z.looseObject({
  id,
  provider: z.string(),
  email: text,
  grant_status: text,
  settings: z.record(z.string(), z.unknown()).optional(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  scope: z.array(z.string()).nullish(),
  // `NylasAPIObject` is no type of account.
  object: absent,
});
const entry = <T extends z.ZodType>(data: T) => z.looseObject({ data });
/** nylas/client/outbox_models.py: the class is none of the types that the server names. */
const job = z.looseObject({
  object: absent,
  job_status_id: z.string(),
  account_id: text,
  status: text,
  original_data: z.looseObject({ subject: text, send_at: number, retry_limit_datetime: number }),
});
const jobStatus = z.looseObject({
  job_status_id: z.string(),
  action: text,
  status: text,
  created_at: time,
  original_data: z.looseObject({}).nullish(),
});
const slot = z.looseObject({ start_time: z.number(), end_time: z.number() });

const draft = model(['draft', 'message'], {
  ...messageFields,
  version: z.number(),
  file_ids: z.array(z.string()).optional(),
  reply_to_message_id: text,
  tracking: z.looseObject({ payload: text }).nullish(),
});
/**
 * nylas/client/delta_models.py: `attributes` gives a model of this type, and nothing for calendars.
 */
const deltaOf = <T extends string>(type: T, attributes: z.ZodType) =>
  z.looseObject({
    id,
    object: z.literal(type),
    event: z.string(),
    cursor: z.string(),
    attributes: attributes.optional(),
  });
const delta = z.discriminatedUnion('object', [
  deltaOf('message', message),
  deltaOf('draft', draft),
  deltaOf('thread', thread),
  deltaOf('event', event),
  deltaOf('contact', contact),
  deltaOf('file', file),
  deltaOf('folder', folder),
  deltaOf('label', label),
  deltaOf('calendar', z.unknown()),
]);

/** The models of the Python client. */
export const PYTHON_MODELS = {
  account: z.looseObject({
    id,
    email_address: text,
    organization_unit: text,
    provider: text,
    sync_state: text,
    linked_at: time,
  }),
  applicationAccount: z.looseObject({
    id,
    account_id: z.string(),
    email: text,
    billing_state: text,
    provider: text,
    sync_state: text,
    authentication_type: text,
    trial: flag,
    metadata: z.record(z.string(), z.string()).nullish(),
  }),
  application: z.looseObject({ application_name: text, redirect_uris: z.array(z.string()) }),
  ipAddresses: z.looseObject({ ip_addresses: z.array(z.string()), updated_at: z.number() }),
  tokenInfo: z.looseObject({ state: z.string(), scopes: z.string() }),
  success: z.looseObject({ success: z.unknown().refine(Boolean) }),
  token: z.looseObject({ access_token: z.string(), account_id: z.string() }),
  nothing: z.unknown(),
  deleted: z.unknown(),
  grant,
  integrationAnswer: entry(integration),
  integrationPage: entry(z.array(integration)),
  grantAnswer: entry(grant),
  grantPage: entry(z.array(grant)),
  login: entry(z.looseObject({ url: z.url() })),
  message,
  /** `Draft` is a kind of `Message`; `attach` appends to `file_ids`, which must not be null. */
  draft,
  thread,
  folder,
  label,
  file,
  content: z.string().min(1),
  job,
  jobStatus,
  verified: z.looseObject({
    results: z.looseObject({
      object: absent,
      domain_verified: z.boolean(),
      sender_verified: z.boolean(),
    }),
  }),
  calendar,
  event,
  ics: z.looseObject({ ics: z.string().startsWith('BEGIN:VCALENDAR') }),
  freeBusy: z.looseObject({ email: z.string(), time_slots: z.array(slot) }),
  availability: z.looseObject({ time_slots: z.array(slot) }),
  consecutive: z.array(z.array(slot)),
  room: z.looseObject({ object: z.literal('room_resource'), email: z.string(), name: z.string() }),
  contact,
  webhook: z.looseObject({
    id,
    object: absent,
    callback_url: text,
    state: text,
    triggers: z.array(z.string()),
    application_id: text,
    version: text,
  }),
  cursor: z.looseObject({ cursor: z.string() }),
  delta,
  deltas: z.looseObject({
    object: absent,
    cursor_start: z.string(),
    cursor_end: z.string(),
    deltas: z.array(delta),
  }),
  /** nylas/client/neural_api_models.py: each class names its own type, or the one above. */
  sentiment: z.looseObject({ object: absent, sentiment: text, sentiment_score: number }),
  /** `to_contact_object` takes the first name and the first title without a check. */
  signature: model(['message'], {
    ...messageFields,
    signature: text,
    model_version: text,
    contacts: z
      .looseObject({
        object: absent,
        names: z
          .array(z.looseObject({ first_name: z.string(), last_name: z.string() }))
          .min(1)
          .nullish(),
        job_titles: z.array(z.string()).min(1).nullish(),
        emails: z.array(z.string()).nullish(),
        phone_numbers: z.array(z.string()).nullish(),
        links: z.array(z.looseObject({ description: z.string(), url: z.string() })).nullish(),
      })
      .optional(),
  }),
  ocr: model(['file'], { ...fileFields, ocr: z.array(z.string()), processed_pages: z.number() }),
  categorized: model(['message'], {
    ...messageFields,
    labels: z.unknown().optional(),
    categorizer: z.looseObject({ object: absent, category: text, categorized_at: time }),
  }),
  conversation: model(['message'], { ...messageFields, conversation: z.string() }),
  feedback: z.union([z.looseObject({}), z.array(z.looseObject({}))]),
  /** nylas/client/errors.py reads `message` and `type`, and shows the whole text otherwise. */
  error: z.looseObject({}),
};

/** `response.json()`, whatever the content type; files and raw messages are bytes. */
export function parseAsPython({ body }: Answer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return body.toString('latin1');
  }
}
