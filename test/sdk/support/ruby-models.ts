import { z } from 'zod';
import type { Answer } from './recorded-client.ts';

// The client casts each attribute of an answer by its type (lib/nylas/types.rb) and ignores keys
// that the model does not know. Null leaves an attribute as it is.

/** StringType: `to_s`, which makes no sense of objects and lists. */
const string = z.union([z.string(), z.number(), z.boolean()]).nullish();
/** BooleanType raises TypeError for anything else. */
const boolean = z.boolean().nullish();
/** IntegerType and FloatType: `to_i` and `to_f`. */
const number = z.union([z.number(), z.string()]).nullish();
/** UnixTimestampType raises TypeError for anything else. */
const time = z.union([z.number(), z.string().regex(/^\d+$/)]).nullish();
/** DateType: Date.parse. */
const date = z.iso.date().nullish();
/** HashType drops what has no keys. */
const hash = z.record(z.string(), z.unknown()).nullish();
/** ListAttributeDefinition maps over the list. */
const list = <T extends z.ZodType>(item: T) => z.array(item).nullish();
/** ModelType raises TypeError for anything but a hash. */
const model = z.looseObject;

const id = z.string();
const owned = { id, object: string, account_id: string };
const emails = list(model({ name: string, email: string }));
const answered = { job_status_id: string };

/** file.rb */
const file = model({
  ...owned,
  content_id: string,
  message_ids: list(z.string()),
  content_type: string,
  filename: string,
  size: number,
  content_disposition: string,
});
/** folder.rb and label.rb */
const folder = model({ ...owned, name: string, display_name: string, ...answered });
/** participant.rb */
const participant = model({ name: string, email: string, phone_number: string, status: string });
/** event.rb, when.rb, recurrence.rb, event_conferencing.rb, event_notification.rb */
const event = model({
  ...owned,
  ...answered,
  calendar_id: string,
  master_event_id: string,
  message_id: string,
  ical_uid: string,
  event_collection_id: string,
  capacity: number,
  busy: boolean,
  description: string,
  location: string,
  owner: string,
  recurrence: model({ rrule: list(z.string()), timezone: string }).nullish(),
  participants: list(participant),
  read_only: boolean,
  status: string,
  title: string,
  when: model({
    object: z.enum(['time', 'timespan', 'date', 'datespan']),
    date,
    start_date: date,
    end_date: date,
    time,
    timezone: string,
    start_time: time,
    end_time: time,
    start_timezone: string,
    end_timezone: string,
  }),
  metadata: hash,
  conferencing: model({
    provider: string,
    details: model({ phone: list(z.string()), url: string }).nullish(),
    autocreate: model({ settings: hash }).nullish(),
  }).nullish(),
  notifications: list(model({ type: string, minutes_before_event: number, body: string })),
  round_robin_order: list(z.string()),
  original_start_time: time,
  organizer_email: string,
  organizer_name: string,
  reminder_minutes: string,
  reminder_method: string,
  visibility: string,
  updated_at: time,
});
/** message_tracking.rb */
const tracking = model({
  links: boolean,
  opens: boolean,
  thread_replies: boolean,
  payload: string,
});
/** message.rb, with the keys of message_headers.rb */
const messageFields = {
  ...owned,
  ...answered,
  thread_id: string,
  headers: model({
    'In-Reply-To': string,
    'Message-Id': string,
    References: list(z.string()),
  }).nullish(),
  to: emails,
  from: emails,
  cc: emails,
  bcc: emails,
  reply_to: emails,
  date: time,
  received_date: time,
  subject: string,
  snippet: string,
  body: string,
  starred: boolean,
  unread: boolean,
  events: list(event),
  files: list(file),
  folder: folder.nullish(),
  folder_id: string,
  metadata: hash,
  reply_to_message_id: string,
  labels: list(folder),
  label_ids: list(z.string()),
};
const message = model(messageFields);
/** draft.rb */
const draft = model({
  ...messageFields,
  version: z.number(),
  file_ids: list(z.string()),
  tracking: tracking.nullish(),
});
/** thread.rb */
const thread = model({
  ...owned,
  draft_ids: list(z.string()),
  first_message_timestamp: time,
  has_attachments: boolean,
  last_message_timestamp: time,
  last_message_received_timestamp: time,
  last_message_sent_timestamp: time,
  labels: list(folder),
  folders: list(folder),
  message_ids: list(z.string()),
  messages: list(message),
  participants: list(participant),
  snippet: string,
  starred: boolean,
  subject: string,
  unread: boolean,
  version: number,
});
/** job_status.rb */
const jobStatus = model({
  id: string,
  object: string,
  account_id: string,
  job_status_id: z.string(),
  action: string,
  status: string,
  created_at: time,
  reason: string,
  metadata: hash,
});
/** outbox_job_status.rb and outbox_message.rb */
const job = model({
  account_id: string,
  job_status_id: z.string(),
  status: string,
  send_at: time,
  original_send_at: time,
  message_id: string,
  thread_id: string,
  original_data: model({
    to: emails,
    from: emails,
    subject: string,
    body: string,
    tracking: tracking.nullish(),
    send_at: time,
    retry_limit_datetime: time,
  }).nullish(),
});
/** account.rb */
const applicationAccount = model({
  id,
  account_id: string,
  billing_state: string,
  sync_state: string,
  provider: string,
  authentication_type: string,
  email: string,
  trial: boolean,
  metadata: hash,
});
/** contact.rb, contact_group.rb and its parts */
const contactGroup = model({ ...owned, name: string, path: string });
const contact = model({
  ...owned,
  ...answered,
  given_name: string,
  picture_url: string,
  surname: string,
  birthday: string,
  nickname: string,
  notes: string,
  source: string,
  groups: list(contactGroup),
  emails: list(model({ type: string, email: string })),
  im_addresses: list(model({ type: string, im_address: string })),
  physical_addresses: list(model({ type: string, city: string, street_address: string })),
  phone_numbers: list(model({ type: string, number: string })),
  web_pages: list(model({ type: string, url: string })),
});
/** time_slot.rb and time_slot_capacity.rb */
const slots = list(
  model({
    start_time: time,
    end_time: time,
    status: string,
    emails: list(z.string()),
    capacity: model({ current_capacity: number, max_capacity: number }).nullish(),
  }),
);

/** calendar.rb */
const calendar = model({
  ...owned,
  ...answered,
  name: string,
  description: string,
  is_primary: boolean,
  location: string,
  timezone: string,
  read_only: boolean,
  metadata: hash,
  hex_color: string,
});
/** delta.rb: `model` casts the attributes to a model of the type. */
const deltaOf = (type: string, attributes: z.ZodType) =>
  model({
    id,
    object: z.literal(type),
    event: z.string(),
    cursor: z.string(),
    attributes: attributes.nullish(),
  });
const delta = z.union([
  deltaOf('message', message),
  deltaOf('draft', draft),
  deltaOf('thread', thread),
  deltaOf('event', event),
  deltaOf('calendar', calendar),
  deltaOf('contact', contact),
  deltaOf('file', file),
  deltaOf('folder', folder),
  deltaOf('label', folder),
]);

/** The models of the Ruby client. */
export const RUBY_MODELS = {
  /** current_account.rb */
  account: model({
    ...owned,
    email_address: string,
    name: string,
    organization_unit: string,
    provider: string,
    sync_state: string,
    linked_at: time,
  }),
  applicationAccount,
  /** application_details.rb */
  application: model({
    application_name: string,
    icon_url: string,
    redirect_uris: list(z.string()),
  }),
  ipAddresses: model({ updated_at: z.number(), ip_addresses: z.array(z.string()) }),
  /** token_info.rb */
  tokenInfo: model({ scopes: string, state: string, created_at: time, updated_at: time }),
  success: model({ success: z.unknown().refine(Boolean) }),
  code: model({ code: z.string() }),
  token: model({ access_token: z.string() }),
  /** api.rb: `revoke` counts only an empty answer as done. */
  nothing: z.literal(''),
  deleted: z.unknown(),
  message,
  draft,
  thread,
  folder,
  label: folder,
  file,
  content: z.string().min(1),
  job,
  jobStatus: model({ ...jobStatus.shape, ...job.partial().shape, job_status_id: z.string() }),
  /** send_grid_verified_status.rb */
  verified: model({ results: model({ domain_verified: boolean, sender_verified: boolean }) }),
  calendar,
  event,
  ics: model({ ics: z.string().startsWith('BEGIN:VCALENDAR') }),
  /** free_busy.rb */
  freeBusy: model({ email: string, object: string, time_slots: slots }),
  availability: model({ object: string, time_slots: z.array(z.unknown()) }),
  consecutive: z.array(z.array(model({ emails: z.array(z.string()) }))),
  /** room_resource.rb */
  room: model({ object: string, email: string, name: string, capacity: string, building: string }),
  contact,
  contactGroup,
  /** webhook.rb */
  webhook: model({
    id,
    application_id: string,
    callback_url: string,
    state: string,
    version: string,
    triggers: list(z.string()),
  }),
  cursor: model({ cursor: z.string() }),
  delta,
  /** deltas.rb */
  deltas: model({ cursor_start: string, cursor_end: string, deltas: list(delta) }),
  /** neural_sentiment_analysis.rb */
  sentiment: model({
    account_id: string,
    sentiment: string,
    sentiment_score: z.number(),
    processed_length: number,
    text: string,
  }),
  /** neural_signature_extraction.rb and neural_signature_contact.rb, which reads these lists. */
  signature: model({
    ...messageFields,
    signature: string,
    model_version: string,
    contacts: model({
      job_titles: list(z.string()),
      links: z.array(model({ description: z.string(), url: string })),
      phone_numbers: z.array(z.string()),
      emails: z.array(z.string()),
      names: list(model({ first_name: string, last_name: string })),
    }).nullish(),
  }),
  /** neural_ocr.rb */
  ocr: model({ ...file.shape, ocr: list(z.string()), processed_pages: number }),
  /** neural_categorizer.rb reads labels as texts. */
  categorized: model({
    ...messageFields,
    labels: list(z.string()),
    categorizer: model({
      category: string,
      categorized_at: time,
      model_version: string,
      subcategories: list(z.string()),
    }),
  }),
  /** neural_clean_conversation.rb */
  conversation: model({ ...messageFields, conversation: string, model_version: string }),
  feedback: z.unknown(),
  id,
  count: model({ count: z.number() }),
  /** http_client.rb: error_hash_to_exception */
  error: model({ type: z.string(), message: z.string() }),
};

/** http_client.rb parses nothing but this content type; other answers stay texts. */
export function parseAsRuby({ headers, body }: Answer): unknown {
  const text = body.toString();
  return headers['content-type']?.toLowerCase() === 'application/json' ? JSON.parse(text) : text;
}
