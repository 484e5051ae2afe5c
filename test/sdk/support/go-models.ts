import { z } from 'zod';

// The client decodes every answer with encoding/json (client.go), which ignores the content type
// and unknown keys, leaves a field as it is for null, and fails if a value has another type than
// the field.
const text = z.string().nullish();
const int = z.int().nullish();
const flag = z.boolean().nullish();
const list = <T extends z.ZodType>(item: T) => z.array(item).nullish();

/** participant.go */
const participants = list(z.looseObject({ email: text, name: text }));
const owned = { id: z.string(), object: text, account_id: text };
/** calendar.go: the names that time.LoadLocation knows. */
const timeZone = z
  .string()
  .refine((name) => Intl.supportedValuesOf('timeZone').includes(name) || name === 'UTC');

/** account.go */
const account = z.looseObject({
  ...owned,
  name: text,
  email_address: text,
  provider: text,
  organization_unit: text,
  sync_state: text,
  linked_at: int,
  access_token: text,
  billing_state: text,
});
const managementAccount = z.looseObject({
  id: z.string(),
  account_id: text,
  billing_state: text,
  email: text,
  provider: text,
  sync_state: text,
  trial: flag,
});

/** folder.go, label.go */
const folder = z.looseObject({
  id: z.string(),
  object: text,
  account_id: text,
  display_name: text,
  name: text,
});
/** file.go */
const file = z.looseObject({
  ...owned,
  content_type: text,
  content_id: text,
  content_disposition: text,
  filename: text,
  size: int,
});

/** message.go */
const message = z.looseObject({
  ...owned,
  thread_id: text,
  from: participants,
  to: participants,
  cc: participants,
  bcc: participants,
  reply_to: participants,
  headers: z
    .looseObject({ 'In-Reply-To': text, 'Message-Id': text, References: list(z.string()) })
    .nullish(),
  subject: text,
  date: int,
  body: text,
  snippet: text,
  events: list(z.unknown()),
  files: list(file),
  folder: folder.nullish(),
  labels: list(folder),
  starred: flag,
  unread: flag,
});
/** draft.go */
const draft = message.extend({ reply_to_message_id: text, version: int });

/** thread.go */
const thread = z.looseObject({
  ...owned,
  folders: list(folder),
  has_attachments: flag,
  first_message_timestamp: int,
  last_message_received_timestamp: int,
  last_message_sent_timestamp: int,
  last_message_timestamp: int,
  message_ids: list(z.string()),
  draft_ids: list(z.string()),
  messages: list(message),
  drafts: list(message),
  participants,
  labels: list(folder),
  snippet: text,
  starred: flag,
  subject: text,
  unread: flag,
  version: int,
});

/** event.go: the client panics if a time has no zone. */
const when = z.union([
  z.looseObject({ time: z.number(), timezone: timeZone }),
  z.looseObject({
    start_time: z.number(),
    end_time: z.number(),
    start_timezone: timeZone,
    end_timezone: timeZone,
  }),
  z.looseObject({ date: z.iso.date() }),
  z.looseObject({ start_date: z.iso.date(), end_date: z.iso.date() }),
]);
const eventFields = {
  ...owned,
  calendar_id: text,
  title: text,
  description: text,
  ical_uid: text,
  when,
  location: text,
  owner: text,
  participants: list(z.looseObject({ name: text, email: text, status: text, comment: text })),
  status: text,
  read_only: flag,
  busy: flag,
  recurrence: z.looseObject({ rrule: list(z.string()), timezone: timeZone.nullish() }).nullish(),
  master_event_id: text,
};

/** delta.go: `Message()` and `Thread()` read the attributes; those of other types stay bytes. */
const deltaOf = (type: z.ZodType, attributes: z.ZodType) =>
  z.looseObject({ id: text, object: type, event: text, cursor: text, attributes });
const delta = z.union([
  deltaOf(z.literal('message'), message.optional()),
  deltaOf(z.literal('thread'), thread.optional()),
  deltaOf(z.string().regex(/^(?!message$|thread$)/), z.unknown().optional()),
]);
const deltas = z.looseObject({
  cursor_start: z.string(),
  cursor_end: z.string(),
  deltas: z.array(delta),
});

/** The models of the Go client. */
export const GO_MODELS = {
  Account: account,
  ManagementAccount: managementAccount,
  Code: z.looseObject({ code: z.string() }),
  Calendar: z.looseObject({
    ...owned,
    name: text,
    description: text,
    is_primary: flag,
    job_status_id: text,
    read_only: flag,
    timezone: timeZone.nullish(),
  }),
  Event: z.looseObject({ ...eventFields, original_start_time: z.iso.datetime().nullish() }),
  InstanceOfNumber: z.looseObject({ ...eventFields, original_start_time: int }),
  Cursor: z.looseObject({ cursor: z.string() }),
  delta,
  Deltas: deltas,
  File: file,
  Bytes: z.string().min(1),
  Draft: draft,
  Message: message,
  Folder: folder,
  Thread: thread,
  Count: z.looseObject({ count: z.int() }),
  // The client reads only the status of these.
  Nothing: z.unknown(),
  Error: z.looseObject({ message: z.string(), type: z.string(), server_error: text }),
};
