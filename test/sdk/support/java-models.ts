import { z } from 'zod';

// Moshi's rules for the fields of the client's classes (com/nylas/*.java): unknown keys are
// skipped. A String takes numbers, too; an Integer or a Long takes numbers in text, too; a Boolean
// takes only true and false. Null is refused for int, long and boolean, and accepted for the rest.
const text = z.union([z.string(), z.number()]).nullish();
const whole = z.union([z.int(), z.string().regex(/^-?\d+$/)]);
const int = whole.nullish();
const flag = z.boolean().nullish();
const primitiveFlag = z.boolean().optional();
const primitiveInt = whole.optional();
const list = <T extends z.ZodType>(item: T) => z.array(item.nullable()).nullish();
const map = z.record(z.string(), text).nullish();
const anyMap = z.record(z.string(), z.unknown()).nullish();
const object = z.looseObject;

/** RestfulModel, AccountOwnedModel */
const model = { id: text, job_status_id: text };
const owned = { ...model, account_id: text };
const people = list(object({ name: text, email: text }));

const account = object({
  ...owned,
  billing_state: text,
  email: text,
  provider: text,
  sync_state: text,
  authentication_type: text,
  trial: flag,
  metadata: map,
});
const folder = object({ ...owned, name: text, display_name: text });
const file = object({
  ...owned,
  filename: text,
  size: int,
  content_type: text,
  message_ids: list(text),
  content_id: text,
  content_disposition: text,
});

const oneOf = <const K extends string>(key: string, shapes: Record<K, z.ZodRawShape>) =>
  z.union(
    Object.entries<z.ZodRawShape>(shapes).map(([name, shape]) =>
      object({ [key]: z.literal(name), ...shape }),
    ),
  );
/** Event.WHEN_JSON_FACTORY and Event.EVENT_NOTIFICATION_JSON_FACTORY refuse other names. */
const when = oneOf('object', {
  time: { time: whole, timezone: text },
  timespan: { start_time: whole, end_time: whole, start_timezone: text, end_timezone: text },
  date: { date: z.iso.date() },
  datespan: { start_date: z.iso.date(), end_date: z.iso.date() },
});
const minutes = { minutes_before_event: primitiveInt };
const notification = oneOf('type', {
  email: { ...minutes, body: text, subject: text },
  sms: { ...minutes, message: text },
  webhook: { ...minutes, url: text, payload: text },
});
const participant = object({
  name: text,
  email: text,
  phone_number: text,
  status: text,
  comment: text,
});
const conferencing = object({
  provider: text,
  details: object({
    url: text,
    password: text,
    pin: text,
    meeting_code: text,
    phone: list(text),
  }).nullish(),
  autocreate: object({ settings: map }).nullish(),
});
const event = object({
  ...owned,
  calendar_id: text,
  ical_uid: text,
  master_event_id: text,
  customer_event_id: text,
  event_collection_id: text,
  title: text,
  description: text,
  location: text,
  owner: text,
  status: text,
  organizer_email: text,
  organizer_name: text,
  visibility: text,
  capacity: int,
  read_only: flag,
  busy: flag,
  hide_participants: flag,
  original_start_time: int,
  when: when.nullish(),
  conferencing: conferencing.nullish(),
  recurrence: object({ timezone: text, rrule: list(text) }).nullish(),
  reminders: object({ reminder_minutes: int, reminder_method: text }).nullish(),
  round_robin_order: list(text),
  notifications: list(notification),
  participants: list(participant),
  metadata: map,
});

const message = object({
  ...owned,
  thread_id: text,
  subject: text,
  from: people,
  to: people,
  cc: people,
  bcc: people,
  reply_to: people,
  date: int,
  unread: flag,
  starred: flag,
  snippet: text,
  body: text,
  files: list(file),
  events: list(event),
  folder: folder.nullish(),
  labels: list(folder),
  metadata: map,
  headers: anyMap,
});
const tracking = object({
  links: primitiveFlag,
  opens: primitiveFlag,
  thread_replies: primitiveFlag,
  payload: text,
});
const draft = message.extend({
  // `save` reads the ids of the files.
  files: z.array(file).optional(),
  reply_to_message_id: text,
  version: int,
  tracking: tracking.nullish(),
});
const thread = object({
  ...owned,
  subject: text,
  unread: primitiveFlag,
  starred: primitiveFlag,
  last_message_timestamp: int,
  last_message_received_timestamp: int,
  last_message_sent_timestamp: int,
  first_message_timestamp: int,
  participants: people,
  snippet: text,
  version: primitiveInt,
  folders: list(folder),
  labels: list(folder),
  has_attachments: primitiveFlag,
  message_ids: list(text),
  draft_ids: list(text),
  messages: list(message),
  drafts: list(draft),
});

const calendar = object({
  ...owned,
  name: text,
  description: text,
  location: text,
  timezone: text,
  hex_color: text,
  read_only: flag,
  is_primary: flag,
  metadata: map,
});
const timeSlot = object({
  status: text,
  start_time: int,
  end_time: int,
  start: int,
  end: int,
  capacity: object({ event_id: text, current_capacity: int, max_capacity: int }).nullish(),
  emails: list(text),
});

const typed = (name: string) => list(object({ type: text, [name]: text }));
const contact = object({
  ...owned,
  given_name: text,
  middle_name: text,
  surname: text,
  suffix: text,
  nickname: text,
  birthday: text,
  company_name: text,
  job_title: text,
  manager_name: text,
  office_location: text,
  notes: text,
  picture_url: text,
  emails: typed('email'),
  im_addresses: typed('im_address'),
  physical_addresses: typed('street_address'),
  phone_numbers: typed('number'),
  web_pages: typed('url'),
  groups: list(object({ ...owned, name: text, path: text })),
  source: text,
});

/** Delta.ACCOUNT_OWNED_MODEL_JSON_FACTORY refuses objects of other names. */
const attributes = z.union([
  calendar.extend({ object: z.literal('calendar') }),
  contact.extend({ object: z.literal('contact') }),
  file.extend({ object: z.literal('file') }),
  message.extend({ object: z.literal('message') }),
  draft.extend({ object: z.literal('draft') }),
  thread.extend({ object: z.literal('thread') }),
  event.extend({ object: z.literal('event') }),
  folder.extend({ object: z.enum(['folder', 'label']) }),
]);
const delta = object({
  ...model,
  cursor: text,
  event: text,
  object: text,
  attributes: attributes.nullish(),
});

/** A list that is read is used without a check: `contacts.names.get(0)`. */
const notEmpty = <T extends z.ZodType>(item: T) => z.array(item).min(1).nullish();
const signatureContacts = object({
  job_titles: notEmpty(text),
  links: list(object({ description: text, url: text })),
  names: notEmpty(object({ first_name: text, last_name: text })),
  phone_numbers: list(text),
  emails: list(text),
});

/** Grant and Integration are read from `data` if there is one, and their settings are texts. */
const grant = object({
  ...model,
  name: text,
  provider: text,
  state: text,
  email: text,
  ip: text,
  grant_status: text,
  user_agent: text,
  created_at: int,
  updated_at: int,
  expires_in: int,
  scope: list(text),
  settings: map,
  redirect_uris: list(text),
  metadata: anyMap,
});

/** The models of the Java client, by the name of the class. */
export const JAVA_MODELS: Record<string, z.ZodType> = {
  Id: z.string(),
  Count: object({ count: whole }),
  Bytes: z.string().min(1),
  Ics: object({ ics: z.string() }),
  Map: z.record(z.string(), z.unknown()),
  // The client reads only the status of these.
  Nothing: z.unknown(),
  // The client reads the body of every DELETE as an object, and casts the id of the job to text.
  Deleted: object({ job_status_id: z.string().nullish() }).nullable(),
  Error: object({ message: z.string(), type: z.string() }),
  ApiError: object({
    success: z.literal(false),
    error: object({ type: z.string(), message: z.string() }),
  }),
  AccountDetail: object({
    id: text,
    name: text,
    email_address: text,
    provider: text,
    organization_unit: text,
    sync_state: text,
    linked_at: whole,
  }),
  Application: object({
    application_name: text,
    icon_url: text,
    redirect_uris: z.array(z.string()),
  }),
  Addresses: object({ ip_addresses: list(text), updated_at: int }),
  Account: account,
  TokenInfo: object({ created_at: int, updated_at: int, scopes: text, state: text }),
  Code: object({ code: z.string() }),
  AccessToken: object({
    access_token: z.string(),
    account_id: text,
    email_address: text,
    provider: text,
  }),
  DetectedProvider: object({
    auth_name: text,
    email_address: text,
    provider_name: text,
    detected: flag,
    is_imap: flag,
  }),
  Grant: z.union([object({ data: grant }), grant]),
  GrantList: object({ data: z.array(grant) }),
  LoginInfo: object({
    data: object({
      id: text,
      url: z.string(),
      expires_at: int,
      request: object({
        redirect_uri: text,
        provider: text,
        login_hint: text,
        state: text,
        scope: list(text),
        metadata: anyMap,
      }),
    }),
  }),
  Folder: folder,
  File: file,
  Message: message,
  Draft: draft,
  Thread: thread,
  OutboxJobStatus: object({
    ...owned,
    job_status_id: z.string(),
    status: text,
    original_data: draft
      .extend({ send_at: int, retry_limit_datetime: int, original_send_at: int })
      .nullish(),
  }),
  VerifiedStatus: object({
    results: object({ domain_verified: z.boolean(), sender_verified: z.boolean() }),
  }),
  JobStatus: object({
    ...owned,
    job_status_id: z.string(),
    action: z.string(),
    created_at: int,
    object: text,
    status: text,
    metadata: anyMap,
  }),
  Calendar: calendar,
  FreeBusy: object({ email: text, calendar_id: text, time_slots: list(timeSlot) }),
  Availability: object({ time_slots: list(timeSlot), order: list(text) }),
  Consecutive: z.array(z.array(object({ emails: list(text), start_time: whole, end_time: whole }))),
  Event: event,
  Room: object({
    ...owned,
    name: text,
    email: text,
    capacity: text,
    building: text,
    floor_name: text,
    floor_number: text,
  }),
  Group: object({ ...owned, name: text, path: text }),
  Contact: contact,
  Sentiment: object({
    account_id: text,
    sentiment: text,
    sentiment_score: z.number(),
    processed_length: whole,
    text,
  }),
  Signature: message.extend({
    signature: text,
    model_version: text,
    contacts: signatureContacts.nullish(),
  }),
  Ocr: file.extend({ ocr: list(text), processed_pages: whole }),
  Conversation: message.extend({ conversation: text, model_version: text }),
  // NeuralCategorizer.CategorizeCustomAdapter casts every label to text.
  Categorized: message.extend({
    labels: z.array(z.string()).nullish(),
    categorizer: object({
      category: text,
      model_version: text,
      categorized_at: int,
      subcategories: list(text),
    }),
  }),
  Cursor: object({ cursor: z.string() }),
  delta,
  Deltas: object({ cursor_start: text, cursor_end: text, deltas: list(delta) }),
  Webhook: object({
    ...model,
    application_id: text,
    callback_url: text,
    state: text,
    triggers: list(text),
    version: text,
  }),
};
