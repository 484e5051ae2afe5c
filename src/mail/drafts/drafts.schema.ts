import { z } from 'zod';
import { inOrder, integerLike } from '../../platform/wire/wire.schema.ts';
import { listByView } from '../../platform/wire/response-shapes.ts';
import { messageFilters, SPANS_OF_MESSAGES, messageView } from '../messages/messages.schema.ts';
import { messageFields, trackingInput, trackingView } from '../composing/message-fields.schema.ts';

const fields = {
  ...messageFields,
  thread_id: z.string().nullish(),
  tracking: trackingInput.nullish().describe('Used when the draft is sent'),
};

const version = integerLike({ min: 0 }).describe(
  'The expected version; 409 if the draft has another version',
);

/** Body of POST /drafts. */
export const createDraft = z.object(fields).meta({
  id: 'CreateDraft',
  example: {
    to: [{ email: 'bo@example.test', name: 'Bo' }],
    subject: 'Hello',
    body: '<p>Hello Bo</p>',
  },
});
export type CreateDraft = z.infer<typeof createDraft>;

/** Body of PUT /drafts/{id}; absent fields stay unchanged. */
export const updateDraft = z
  .object({ ...fields, version })
  .meta({ id: 'UpdateDraft', example: { subject: 'Hello again', version: 0 } });
export type UpdateDraft = z.infer<typeof updateDraft>;

/** Body of DELETE /drafts/{id}. */
export const deleteDraft = z
  .object({ version })
  .meta({ id: 'DeleteDraft', example: { version: 0 } });
export type DeleteDraft = z.infer<typeof deleteDraft>;

/** Query of GET /drafts: the filters of messages, without `from`. */
export const listDraftsQuery = inOrder(
  messageFilters.omit({ from: true }).extend({
    started_message_before: messageFilters.shape.started_before.describe(
      'The same as started_before, as a client for PHP spells it',
    ),
    started_message_after: messageFilters.shape.started_after.describe(
      'The same as started_after, as a client for PHP spells it',
    ),
  }),
  ...SPANS_OF_MESSAGES,
  ['started_message_after', 'started_message_before'],
);
export type ListDraftsQuery = z.infer<typeof listDraftsQuery>;

/** A draft: a message that was not sent yet. */
export const draftView = messageView
  .extend({
    object: z.literal('draft'),
    version: z.number().int().describe('0 for a new draft; grows with each change of its content'),
    file_ids: z
      .array(z.string())
      .optional()
      .describe('Ids of its files, as in a request; absent if it has no files'),
    tracking: trackingView.optional().describe('Absent if none was set'),
  })
  .meta({
    id: 'Draft',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000001',
      object: 'draft',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      thread_id: '019aa1b2-0000-7000-8000-000000000003',
      subject: 'Hello',
      snippet: 'Hello Bo',
      body: '<p>Hello Bo</p>',
      date: 1_900_000_000,
      from: [{ email: 'ada@example.test', name: 'Ada' }],
      to: [{ email: 'bo@example.test', name: 'Bo' }],
      cc: [],
      bcc: [],
      reply_to: [],
      unread: false,
      starred: false,
      events: [],
      files: [],
      folder: {
        id: '019aa1b2-0000-7000-8000-000000000008',
        name: 'drafts',
        display_name: 'Drafts',
      },
      reply_to_message_id: null,
      metadata: {},
      version: 0,
      job_status_id: '019aa1b2-0000-7000-8000-000000000004',
    },
  });
export type DraftView = z.infer<typeof draftView>;
export const draftList = listByView(draftView);
