import { z } from 'zod';
import { queryBoolean } from '../../platform/wire/wire.schema.ts';
import { optional, text } from '../events/event-parts.schema.ts';

const MOST_COMMENT = 2048;

export const sendRsvp = z
  .object({
    event_id: text(255)
      .min(1, 'must not be empty')
      .describe(
        'An event that has a `message_id` or comes from a provider that takes answers, or an instance of such a series',
      ),
    status: z.enum(['yes', 'no', 'maybe'], { error: 'must be one of: yes, no, maybe' }),
    comment: optional(text(MOST_COMMENT)).describe(
      'Comment for the organizer. If absent, the last comment is kept while the status is the same; an empty string clears it',
    ),
    account_id: optional(text(255)).describe('If given, it must be the account of the token'),
  })
  .meta({
    id: 'SendRsvp',
    example: {
      event_id: '019aa1b2-0000-7000-8000-000000000001',
      status: 'yes',
      comment: 'I am looking forward to it',
    },
  });
export type SendRsvp = z.infer<typeof sendRsvp>;

export const sendRsvpQuery = z.object({
  // The client for Ruby sends the name alone for an absent value.
  notify_participants: z
    .union([z.literal('').transform(() => undefined), queryBoolean()])
    .optional()
    .describe(
      'Whether the organizer is notified by mail. Default true, which needs the scope `email.send` or `email`, unless the provider mails the organizer itself. false: the answer is only stored in the event',
    ),
});
