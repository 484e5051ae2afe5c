import { z } from 'zod';
import { addressInput, metadataInput } from '../../platform/wire/wire.schema.ts';

/** More recipients than any provider takes in one message. */
const MOST_RECIPIENTS = 1000;

const addressList = (most = MOST_RECIPIENTS) =>
  z
    .array(addressInput)
    .max(most, `must not have more than ${most} entries`)
    .nullish()
    .transform((list) => list ?? undefined);

/** Fields of a message, in the bodies of drafts, sends and the outbox. */
export const messageFields = {
  to: addressList(),
  from: addressList(1).describe('At most one; default: the account'),
  cc: addressList(),
  bcc: addressList(),
  reply_to: addressList(1),
  subject: z.string().max(2000).nullish(),
  body: z.string().nullish().describe('HTML'),
  reply_to_message_id: z.string().nullish(),
  file_ids: z.array(z.string()).max(100).nullish(),
  metadata: metadataInput.nullish(),
};

/** UTF-16 units. The payload is part of every notification. */
const MOST_PAYLOAD = 5_000;

/** Notifications that the sender wants about a sent message. Drafts do not keep this field. */
export const trackingInput = z
  .object({
    opens: z.boolean().describe('message.opened when the message is opened for the first time'),
    links: z.boolean().describe('message.link_clicked at each click'),
    thread_replies: z.boolean().describe('thread.replied at each reply'),
    payload: z.string().max(MOST_PAYLOAD).describe('Returned in each of these notifications'),
  })
  .partial()
  .meta({
    id: 'Tracking',
    example: { opens: true, links: true, thread_replies: false, payload: 'campaign-7' },
  });
