import { z } from 'zod';
import { pageQuery, viewQuery } from '../../platform/wire/pagination.schema.ts';
import {
  addressView,
  countView,
  idsView,
  queryBoolean,
  queryList,
  queryText,
  unixSeconds,
} from '../../platform/wire/wire.schema.ts';
import { emails, folderOfMessage, labelIds, messageView } from '../messages/messages.schema.ts';

/** Query of GET /threads (api facts 5.2); the filters all have to match. */
export const listThreadsQuery = z.object({
  ...pageQuery,
  view: viewQuery(['ids', 'count', 'expanded']),
  subject: queryText().optional().describe('The exact subject'),
  from: queryText().optional().describe('An exact address; of one of its messages'),
  to: queryText().optional().describe('An exact address; of one of its messages'),
  cc: queryText().optional().describe('An exact address; of one of its messages'),
  bcc: queryText().optional().describe('An exact address; of one of its messages'),
  any_email: emails
    .optional()
    .describe(
      'Up to 25 addresses, comma separated or repeated; one of them is in from, to, cc or bcc',
    ),
  in: queryList()
    .optional()
    .describe('Name, display name or id of a folder or label; one of its messages is there'),
  not_in: queryList()
    .optional()
    .describe('Name, display name or id of a folder or label; none of its messages is there'),
  unread: queryBoolean().optional().describe('`true`: one of its messages is; `false`: none'),
  starred: queryBoolean().optional().describe('`true`: one of its messages is; `false`: none'),
  filename: queryText().optional().describe('The exact name of an attachment'),
  thread_id: queryText().optional(),
  started_before: unixSeconds().optional().describe('Before: its first message'),
  started_after: unixSeconds().optional().describe('After: its first message'),
  last_message_before: unixSeconds().optional().describe('Before: its last message'),
  last_message_after: unixSeconds().optional().describe('After: its last message'),
  last_updated_before: unixSeconds()
    .optional()
    .describe('Before: the last change of it, whichever'),
  last_updated_after: unixSeconds().optional().describe('After: the last change of it, whichever'),
  last_updated_timestamp: unixSeconds().optional().describe('The second of the last change of it'),
});
export type ListThreadsQuery = z.infer<typeof listThreadsQuery>;

export const threadQuery = z.object({ view: viewQuery(['expanded']) });

const ids = (words: string) => z.array(z.string()).optional().describe(words);

/** A message in a thread with view=expanded: all but its body. */
export const messageOfThread = messageView
  .omit({ body: true, events: true })
  .extend({ object: z.enum(['message', 'draft']), version: z.number().int().optional() })
  .meta({ id: 'MessageOfThread', example: undefined });

/** A thread (api facts 5.2). Exactly one of `folders` and `labels` is there, by the account's `organization_unit`. */
export const threadView = z
  .object({
    id: z.string(),
    object: z.literal('thread'),
    account_id: z.string(),
    subject: z.string().describe('That of its first message'),
    participants: z
      .array(addressView)
      .describe('Everybody in from, to, cc and bcc of its messages'),
    first_message_timestamp: z.number().int(),
    last_message_timestamp: z.number().int(),
    last_message_received_timestamp: z.number().int().nullable(),
    last_message_sent_timestamp: z.number().int().nullable(),
    snippet: z.string().describe('Of its newest message'),
    unread: z.boolean().describe('Whether one of its messages is'),
    starred: z.boolean().describe('Whether one of its messages is'),
    has_attachments: z.boolean(),
    version: z.number().int().describe('Grows with each change'),
    folders: z
      .array(folderOfMessage)
      .optional()
      .describe('Accounts with folders: all its messages are in'),
    labels: z
      .array(folderOfMessage)
      .optional()
      .describe('Accounts with labels: all its messages have'),
    message_ids: ids('Oldest first; not with view=expanded'),
    draft_ids: ids('Oldest first; not with view=expanded'),
    messages: z.array(messageOfThread).optional().describe('Oldest first; with view=expanded'),
    drafts: z.array(messageOfThread).optional().describe('Oldest first; with view=expanded'),
    job_status_id: z
      .string()
      .optional()
      .describe('After a change: the job that carries it to the provider for the newest message'),
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

/** What a token that may change a thread but not read it gets to see of it: `parse` leaves out the rest. */
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
    description: 'Answer to a token whose scopes do not let it read the thread',
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

/** Answer to a change: the thread, as far as the token may read it. */
export const changedThreadView = z.union([threadView, threadStateView]);

/** Answer of GET /threads, by `view`. */
export const threadList = z.union([z.array(threadView), idsView, countView]);

/** Body of PUT /threads/{id} (api facts 5.2); what is absent stays. Any other key is refused. */
export const updateThread = z
  .strictObject({
    unread: z.boolean().optional(),
    starred: z.boolean().optional(),
    folder_id: z
      .string()
      .max(255)
      .optional()
      .describe('Accounts with folders: where to move its messages; drafts and sent mail stay'),
    label_ids: labelIds.describe(
      'Accounts with labels: what it is to have; only differences count',
    ),
  })
  .meta({ id: 'UpdateThread', example: { unread: false, starred: true } });
export type UpdateThread = z.infer<typeof updateThread>;
