import { z } from 'zod';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import {
  addressView,
  inOrder,
  metadataInput,
  metadataQuery,
  queryBoolean,
  queryList,
  queryText,
  filterTime,
} from '../../platform/wire/wire.schema.ts';
import { listByView, withOtherShapes } from '../../platform/wire/response-shapes.ts';

const MOST_EMAILS = 25;
const csv = z.string().max(MOST_EMAILS * 322, 'is too long');

/** Addresses, separated by commas or in repeated parameters; at most 25. */
export const emails = z
  .union([csv, z.array(csv)])
  .transform((value) => [value].flat().flatMap((part) => part.split(',')))
  .transform((list) => list.map((email) => email.trim()).filter(Boolean))
  .refine(
    (list) => list.length <= MOST_EMAILS,
    `Too many emails. The current limit is ${MOST_EMAILS}`,
  );

/** Other names of `in`, with which clients list the messages of a folder or label. */
export const folderQuery = {
  folder_id: queryList().optional().describe('The same as in; only one of them is allowed'),
  label_id: queryList().optional().describe('The same as in; only one of them is allowed'),
};

/** Filters of `GET /messages` and `GET /drafts`. */
export const messageFilters = z.object({
  ...pageQuery,
  view: viewQuery(['ids', 'count', 'expanded']),
  subject: queryText().optional().describe('The exact subject'),
  from: queryText().optional().describe('An exact address'),
  to: queryText().optional().describe('An exact address'),
  cc: queryText().optional().describe('An exact address'),
  bcc: queryText().optional().describe('An exact address'),
  any_email: emails
    .optional()
    .describe(
      'Up to 25 addresses, comma separated or repeated; at least one of them must be in from, to, cc or bcc',
    ),
  in: queryList()
    .optional()
    .describe('Name, display name or id of a folder or label; only `in=drafts` lists drafts'),
  ...folderQuery,
  not_in: queryList().optional().describe('Name, display name or id of a folder or label'),
  unread: queryBoolean().optional(),
  starred: queryBoolean().optional(),
  filename: queryText().optional().describe('The exact name of an attachment'),
  has_attachment: queryBoolean().optional(),
  thread_id: queryText().optional(),
  received_before: filterTime().optional().describe('At or before this time'),
  received_after: filterTime().optional().describe('Later than this time'),
  started_before: filterTime()
    .optional()
    .describe("The thread's first message is before this time"),
  started_after: filterTime().optional().describe("The thread's first message is after this time"),
  last_message_before: filterTime()
    .optional()
    .describe("The thread's last message is before this time"),
  last_message_after: filterTime()
    .optional()
    .describe("The thread's last message is after this time"),
  ...metadataQuery,
});

/** The order of times in `messageFilters`. */
export const SPANS_OF_MESSAGES = [
  ['received_after', 'received_before'],
  ['started_after', 'started_before'],
  ['last_message_after', 'last_message_before'],
] as const;

/** Query of `GET /messages`. All filters must match. */
export const listMessagesQuery = inOrder(messageFilters, ...SPANS_OF_MESSAGES);
export type ListMessagesQuery = z.infer<typeof listMessagesQuery>;

export const messageQuery = z.object({ view: viewQuery(['expanded']) });
export type MessageQuery = z.infer<typeof messageQuery>;

const file = z
  .object({
    id: z.string(),
    filename: z.string(),
    content_type: z.string(),
    content_disposition: z.string(),
    content_id: z.string().optional(),
    size: z.number().int().describe('Bytes'),
  })
  .meta({
    id: 'MessageFile',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000009',
      filename: 'menu.txt',
      content_type: 'text/plain',
      content_disposition: 'attachment',
      size: 61,
    },
  });

/** A folder or label as messages and threads show it. */
export const folderOfMessage = z
  .object({ id: z.string(), name: z.string().nullable(), display_name: z.string() })
  .meta({
    id: 'MessageFolder',
    example: { id: '019aa1b2-0000-7000-8000-000000000008', name: 'inbox', display_name: 'Inbox' },
  });

const headers = z
  .object({
    'Message-Id': z.string().nullable(),
    'In-Reply-To': z.string().nullable(),
    References: z.array(z.string()),
  })
  .meta({ id: 'MessageHeaders' });

/**
 * A message in a response. It has either `folder` or `labels`, depending on the account's
 * `organization_unit`.
 */
export const messageView = z
  .object({
    id: z.string(),
    object: z.literal('message'),
    account_id: z.string(),
    thread_id: z.string(),
    subject: z.string(),
    snippet: z.string().describe('The beginning of the text, at most 191 characters'),
    body: z.string().describe('HTML'),
    date: z.number().int().describe('Time of receipt; for sent mail the time of sending'),
    from: z.array(addressView),
    to: z.array(addressView),
    cc: z.array(addressView),
    bcc: z.array(addressView),
    reply_to: z.array(addressView),
    unread: z.boolean(),
    starred: z.boolean(),
    events: z
      .array(z.record(z.string(), z.unknown()))
      .describe(
        'Events that came with the message, as `GET /events/{id}` returns them; empty without a scope that reads events',
      ),
    files: z.array(file),
    folder: folderOfMessage.nullable().optional().describe('Only for accounts with folders'),
    labels: z.array(folderOfMessage).optional().describe('Only for accounts with labels'),
    reply_to_message_id: z
      .string()
      .nullable()
      .describe('The message it replies to; null if it is no reply or that message is not here'),
    metadata: z.record(z.string(), z.string()),
    content_pending: z
      .literal(true)
      .optional()
      .describe(
        'Only while the content of an old message has not been fetched from the provider yet. What is not known yet is empty: always the body and the files, and with some providers also subject and people',
      ),
    job_status_id: z
      .string()
      .optional()
      .describe('Only after a change: id of the job that carries it to the provider'),
    headers: headers.optional().describe('Only with view=expanded'),
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        'What of the message could not be read and is missing, or was read in the likeliest way, in plain words; empty if nothing. Only with view=expanded',
      ),
  })
  .meta({
    id: 'Message',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      object: 'message',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      thread_id: '019aa1b2-0000-7000-8000-000000000003',
      subject: 'Lunch on Thursday?',
      snippet: 'Hi, shall we have lunch on Thursday',
      body: '<p>Hi,</p><p>shall we have lunch on <b>Thursday</b>',
      date: 1_900_000_000,
      from: [{ email: 'bo@example.test', name: 'Bo' }],
      to: [{ email: 'ada@example.test', name: 'Ada' }],
      cc: [],
      bcc: [],
      reply_to: [],
      unread: true,
      starred: false,
      events: [],
      files: [],
      folder: { id: '019aa1b2-0000-7000-8000-000000000008', name: 'inbox', display_name: 'Inbox' },
      reply_to_message_id: null,
      metadata: {},
    },
  });
export type MessageView = z.infer<typeof messageView>;

/**
 * The part of a message for tokens that may change it but not read it. `parse` leaves out all other
 * fields.
 */
export const messageStateView = messageView
  .pick({
    id: true,
    object: true,
    account_id: true,
    thread_id: true,
    unread: true,
    starred: true,
    folder: true,
    labels: true,
    job_status_id: true,
  })
  .meta({
    id: 'MessageState',
    description: 'Response to a token whose scopes do not allow reading the message',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      object: 'message',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      thread_id: '019aa1b2-0000-7000-8000-000000000003',
      unread: true,
      starred: false,
      folder: { id: '019aa1b2-0000-7000-8000-000000000008', name: 'inbox', display_name: 'Inbox' },
    },
  });
export type MessageStateView = z.infer<typeof messageStateView>;

/**
 * Response to a change or a send: the whole message, or only its state if the token must not read
 * it.
 */
export const changedMessageView = withOtherShapes(messageView, {
  'a token whose scopes do not allow reading mail': messageStateView,
});

/** Response of `GET /messages`, by `view`. */
export const messageList = listByView(messageView);

/** Response of `GET /messages/{id}`: one message, or an array if the path names several ids. */
export const messageOrMessages = withOtherShapes(messageView, {
  'several ids, separated by commas': z.array(messageView),
});

const MOST_LABELS = 200;
const id = z.string().max(255);
const tooManyLabels = `must not have more than ${MOST_LABELS} entries`;

/** A folder or label in a body: its id, or the object that a client has read. */
const named = z.union([id, z.object({ id })], 'must be an id, or an object with an id');
// Clients that send every attribute send an empty object if they have read no folder.
const namedOrEmpty = z.union(
  [named, z.record(z.string(), z.null())],
  'must be an id, an object with an id, or empty',
);

/**
 * The fields of a body that change a message, or all messages of a thread. Absent fields keep their
 * values; so does a folder or a list of labels that is null.
 */
export const stateFields = {
  unread: z.boolean().optional(),
  starred: z.boolean().optional(),
  folder_id: id
    .nullish()
    .describe('Accounts with folders: id of the folder to move to. Null: no change'),
  folder: namedOrEmpty
    .nullish()
    .describe('The same as folder_id, which takes precedence. Empty: no change'),
  label_ids: z
    .array(id)
    .max(MOST_LABELS, tooManyLabels)
    .nullish()
    .describe('Accounts with labels: the complete list of labels. Null: no change'),
  labels: z
    .array(named)
    .max(MOST_LABELS, tooManyLabels)
    .nullish()
    .describe('The same as label_ids, which takes precedence'),
};
export type StateFields = z.infer<z.ZodObject<typeof stateFields>>;

/** Body of `PUT /messages/{id}`. Other attributes of a message are ignored. */
export const updateMessage = z
  .object({
    ...stateFields,
    metadata: metadataInput.optional().describe('Replaces all metadata'),
  })
  .meta({ id: 'UpdateMessage', example: { unread: false, starred: true } });
export type UpdateMessage = z.infer<typeof updateMessage>;
