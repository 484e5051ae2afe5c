import { z } from 'zod';
import { useClientWorld } from './support/client-world.ts';
import { describeRecordedClient } from './support/recorded-client.ts';

// The web components send their requests to a service of their own, which adds the access token and
// passes the answers on (commons/src/methods/api.ts). Here are the requests as it passes them on.
// The components read answers without checks, so everything that they use must be present.
const object = z.looseObject;
const people = z.array(object({ email: z.string(), name: z.string().nullish() }));
const folder = object({ id: z.string(), name: z.string().nullable(), display_name: z.string() });
const file = object({
  id: z.string(),
  filename: z.string().nullish(),
  content_type: z.string(),
  content_disposition: z.string().nullish(),
  content_id: z.string().nullish(),
  size: z.number(),
});
const message = object({
  id: z.string(),
  thread_id: z.string(),
  from: people,
  to: people,
  cc: people,
  bcc: people,
  subject: z.string(),
  snippet: z.string(),
  body: z.string().optional(),
  date: z.number(),
  unread: z.boolean(),
  starred: z.boolean(),
  files: z.array(file),
});
const draft = message.extend({ object: z.literal('draft'), version: z.number() });
const slot = object({ status: z.string(), start_time: z.number(), end_time: z.number() });

describeRecordedClient('components', {
  parse: ({ headers, body }) =>
    headers['content-type']?.startsWith('application/json')
      ? (JSON.parse(body.toString()) as unknown)
      : body.toString('base64'),
  models: {
    Count: object({ count: z.number() }),
    Bytes: z.base64().min(1),
    Account: object({
      id: z.string(),
      name: z.string(),
      email_address: z.string(),
      organization_unit: z.enum(['folder', 'label']),
      provider: z.string(),
      sync_state: z.string(),
    }),
    Folder: folder,
    // Lists are in the expanded view, whose messages have no body.
    Thread: object({
      id: z.string(),
      subject: z.string(),
      snippet: z.string(),
      participants: people,
      unread: z.boolean(),
      starred: z.boolean(),
      has_attachments: z.boolean(),
      last_message_timestamp: z.number(),
      messages: z.array(message).optional(),
      drafts: z.array(message).optional(),
      folders: z.array(folder).optional(),
      labels: z.array(folder).optional(),
    }),
    Message: message,
    Draft: draft,
    File: file,
    Conversation: object({ id: z.string(), conversation: z.string() }),
    Calendar: object({ id: z.string(), name: z.string(), timezone: z.string().nullable() }),
    Event: object({
      id: z.string(),
      calendar_id: z.string(),
      title: z.string(),
      description: z.string().nullable(),
      participants: people,
      when: object({ object: z.enum(['time', 'timespan', 'date', 'datespan']) }),
      busy: z.boolean(),
    }),
    FreeBusy: object({
      object: z.literal('free_busy'),
      email: z.string(),
      time_slots: z.array(slot),
    }),
    // fetchAvailability replaces start_time and end_time by start and end.
    Availability: object({
      time_slots: z.array(
        object({
          start: z.number(),
          end: z.number(),
          status: z.string(),
          emails: z.array(z.string()),
        }),
      ),
      order: z.array(z.string()),
    }),
    Consecutive: z
      .array(
        z.array(
          object({ emails: z.array(z.string()), start_time: z.number(), end_time: z.number() }),
        ),
      )
      .min(1),
    Contact: object({
      id: z.string(),
      given_name: z.string().nullable(),
      surname: z.string().nullable(),
      emails: z.array(object({ email: z.string() })),
      picture_url: z.string().nullish(),
    }),
    Error: object({ message: z.string() }),
  },
  environment: { NEURAL: 'true' },
  prepare: useClientWorld(),
});
