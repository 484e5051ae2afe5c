import { z } from 'zod';
import { integerLike, queryBoolean } from '../../platform/wire/wire.schema.ts';
import { withOtherShapes } from '../../platform/wire/response-shapes.ts';
import { refusesUnknown } from '../../platform/wire/schema-fields.ts';
import { messageStateView, messageView } from '../messages/messages.schema.ts';
import { createOutboxMessage, outboxMessage, outboxPlan } from '../outbox/outbox.schema.ts';
import { messageFields, trackingInput } from '../composing/message-fields.schema.ts';

/** Body of POST /send: a message, or a stored draft. */
export const sendMessage = refusesUnknown(
  z
    .object({
      ...messageFields,
      thread_id: z
        .string()
        .nullish()
        .describe('Conversation of the message; ignored with draft_id'),
      // The composer of the web components sends null.
      send_at: z.null('must be absent: POST /v2/outbox sends a message later').optional().meta({
        description: 'Only null: POST /v2/outbox sends a message later',
        example: null,
      }),
      draft_id: z
        .string()
        .nullish()
        .describe('A stored draft; of the other fields only version and tracking are used'),
      version: integerLike({ min: 0 })
        .nullish()
        .describe('Required with draft_id; 409 if the draft has another version'),
      tracking: trackingInput
        .nullish()
        .describe('With draft_id default: the tracking of the draft'),
    })
    .meta({
      id: 'SendMessage',
      example: {
        to: [{ email: 'bo@example.test', name: 'Bo' }],
        subject: 'Hello',
        body: '<p>Hello Bo</p>',
      },
    }),
  'misspelt',
);
export type SendMessage = z.infer<typeof sendMessage>;

/** Body of POST /v2/send: the body of POST /send or of POST /v2/outbox. */
export const sendNowOrLater = refusesUnknown(
  createOutboxMessage
    .extend(sendMessage.pick({ thread_id: true, draft_id: true, version: true }).shape)
    .meta({
      id: 'SendNowOrLater',
      example: {
        to: [{ email: 'bo@example.test', name: 'Bo' }],
        subject: 'Hello',
        body: '<p>Hello Bo</p>',
      },
    }),
  'misspelt',
);
export type SendNowOrLater = z.infer<typeof sendNowOrLater>;

/** Query of POST /v2/send. */
export const sendQuery = z.object({
  sendnow: queryBoolean()
    .optional()
    .describe('false: like POST /v2/outbox; true or absent: like POST /send'),
  dry_run: queryBoolean()
    .optional()
    .describe('With sendnow=false: like dry_run of POST /v2/outbox'),
});

/** Response of POST /v2/send. */
export const v2SendAnswer = withOtherShapes(messageView, {
  'a token whose scopes do not allow reading mail': messageStateView,
  '`sendnow=false` (status 202)': outboxMessage,
  '`sendnow=false` and `dry_run=true`': outboxPlan,
});
