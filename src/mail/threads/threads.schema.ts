import { z } from 'zod';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import {
  addressView,
  inOrder,
  queryBoolean,
  queryList,
  queryText,
  filterTime,
} from '../../platform/wire/wire.schema.ts';
import { listByView, withOtherShapes } from '../../platform/wire/response-shapes.ts';
import { refusesUnknown } from '../../platform/wire/schema-fields.ts';
import {
  emails,
  folderOfMessage,
  folderQuery,
  messageView,
  stateFields,
} from '../messages/messages.schema.ts';

/** Query of `GET /threads`. All filters must match. */
export const listThreadsQuery = inOrder(
  z.object({
    ...pageQuery,
    view: viewQuery(['ids', 'count', 'expanded']),
    subject: queryText().optional().describe('The exact subject'),
    from: queryText().optional().describe('An exact address in one of its messages'),
    to: queryText().optional().describe('An exact address in one of its messages'),
    cc: queryText().optional().describe('An exact address in one of its messages'),
    bcc: queryText().optional().describe('An exact address in one of its messages'),
    any_email: emails
      .optional()
      .describe(
        'Up to 25 addresses, comma separated or repeated; at least one of them must be in from, to, cc or bcc',
      ),
    in: queryList()
      .optional()
      .describe(
        'Name, display name or id of a folder or label that contains at least one of its messages',
      ),
    ...folderQuery,
    not_in: queryList()
      .optional()
      .describe('Name, display name or id of a folder or label that contains none of its messages'),
    unread: queryBoolean()
      .optional()
      .describe('`true`: at least one of its messages is unread; `false`: none is'),
    starred: queryBoolean()
      .optional()
      .describe('`true`: at least one of its messages is starred; `false`: none is'),
    filename: queryText().optional().describe('The exact name of an attachment'),
    thread_id: queryText().optional(),
    started_before: filterTime().optional().describe('Its first message is before this time'),
    started_after: filterTime().optional().describe('Its first message is after this time'),
    last_message_before: filterTime().optional().describe('Its last message is before this time'),
    last_message_after: filterTime().optional().describe('Its last message is after this time'),
    last_updated_before: filterTime()
      .optional()
      .describe('Its last change of any kind is before this time'),
    last_updated_after: filterTime()
      .optional()
      .describe('Its last change of any kind is after this time'),
    last_updated_timestamp: filterTime().optional().describe('Its last change is in this second'),
  }),
  ['started_after', 'started_before'],
  ['last_message_after', 'last_message_before'],
  ['last_updated_after', 'last_updated_before'],
);
export type ListThreadsQuery = z.infer<typeof listThreadsQuery>;

export const threadQuery = z.object({ view: viewQuery(['expanded']) });

const ids = (words: string) => z.array(z.string()).optional().describe(words);

/** A message in a thread with `view=expanded`: without its body. */
export const messageOfThread = messageView
  .omit({ body: true })
  .extend({ object: z.enum(['message', 'draft']), version: z.number().int().optional() })
  .meta({ id: 'MessageOfThread', example: undefined });

/**
 * A thread in a response. It has either `folders` or `labels`, depending on the account's
 * `organization_unit`.
 */
export const threadView = z
  .object({
    id: z.string(),
    object: z.literal('thread'),
    account_id: z.string(),
    subject: z.string().describe('Subject of its first message'),
    participants: z
      .array(addressView)
      .describe('All people in from, to, cc and bcc of its messages'),
    first_message_timestamp: z.number().int(),
    last_message_timestamp: z.number().int(),
    last_message_received_timestamp: z.number().int().nullable(),
    last_message_sent_timestamp: z.number().int().nullable(),
    snippet: z.string().describe('Snippet of its newest message'),
    unread: z.boolean().describe('True if at least one of its messages is unread'),
    starred: z.boolean().describe('True if at least one of its messages is starred'),
    has_attachments: z.boolean(),
    version: z.number().int().describe('Grows with each change'),
    folders: z
      .array(folderOfMessage)
      .optional()
      .describe('Only for accounts with folders: the folders of all its messages'),
    labels: z
      .array(folderOfMessage)
      .optional()
      .describe('Only for accounts with labels: the labels of all its messages'),
    message_ids: ids('Oldest first; absent with view=expanded'),
    draft_ids: ids('Oldest first; absent with view=expanded'),
    messages: z.array(messageOfThread).optional().describe('Oldest first; only with view=expanded'),
    drafts: z.array(messageOfThread).optional().describe('Oldest first; only with view=expanded'),
    job_status_id: z
      .string()
      .optional()
      .describe(
        'Only after a change: id of the job that carries the change of the newest message to the provider',
      ),
  })
  .meta({
    id: 'Thread',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000003',
      object: 'thread',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      subject: 'Lunch on Thursday?',
      participants: [
        { email: 'bo@example.test', name: 'Bo' },
        { email: 'ada@example.test', name: 'Ada' },
      ],
      first_message_timestamp: 1_900_000_000,
      last_message_timestamp: 1_900_003_600,
      last_message_received_timestamp: 1_900_000_000,
      last_message_sent_timestamp: 1_900_003_600,
      snippet: 'Thursday is fine',
      unread: false,
      starred: false,
      has_attachments: false,
      version: 3,
      folders: [
        { id: '019aa1b2-0000-7000-8000-000000000008', name: 'inbox', display_name: 'Inbox' },
      ],
      message_ids: ['019aa1b2-0000-7000-8000-000000000001'],
      draft_ids: [],
    },
  });
export type ThreadView = z.infer<typeof threadView>;

/**
 * The part of a thread for tokens that may change it but not read it. `parse` leaves out all other
 * fields.
 */
export const threadStateView = threadView
  .pick({
    id: true,
    object: true,
    account_id: true,
    unread: true,
    starred: true,
    version: true,
    folders: true,
    labels: true,
    job_status_id: true,
  })
  .meta({
    id: 'ThreadState',
    description: 'Response to a token whose scopes do not allow reading the thread',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000003',
      object: 'thread',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      unread: false,
      starred: false,
      version: 3,
      folders: [
        { id: '019aa1b2-0000-7000-8000-000000000008', name: 'inbox', display_name: 'Inbox' },
      ],
    },
  });

/** Response to a change: the whole thread, or only its state if the token must not read it. */
export const changedThreadView = withOtherShapes(threadView, {
  'a token whose scopes do not allow reading mail': threadStateView,
});

/** Response of `GET /threads`, by `view`. */
export const threadList = listByView(threadView);

/**
 * Body of `PUT /threads/{id}`: the same fields as for a message. Attributes that clients send back
 * as they have read them (`CLIENT_FIELDS`) have no effect. All other fields are refused.
 */
export const updateThread = refusesUnknown(
  z.object(stateFields).meta({
    id: 'UpdateThread',
    description: 'Read-only attributes of the thread may be sent back; they are ignored.',
    example: { unread: false, starred: true },
  }),
  'all',
);
export type UpdateThread = z.infer<typeof updateThread>;
