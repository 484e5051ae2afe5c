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

/** What a message says, in bodies of drafts, sends and the outbox (api facts 6.1). */
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

/** UTF-16 units: it is in every notification. */
const MOST_PAYLOAD = 5_000;

/** What is to be told of a message after it was sent (api facts 6.2); of drafts it is not kept. */
export const trackingInput = z
  .object({
    opens: z.boolean().describe('message.opened at the first opening'),
    links: z.boolean().describe('message.link_clicked at each click'),
    thread_replies: z.boolean().describe('thread.replied at each answer'),
    payload: z.string().max(MOST_PAYLOAD).describe('Given back in each of these notifications'),
  })
  .partial()
  .meta({
    id: 'Tracking',
    example: { opens: true, links: true, thread_replies: false, payload: 'campaign-7' },
  });
