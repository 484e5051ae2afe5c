import { z } from 'zod';
import { addressInput, metadataInput, queryBoolean } from '../../platform/wire/wire.schema.ts';

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

const NOTIFICATIONS = {
  opens: 'message.opened when the message is opened for the first time',
  links: 'message.link_clicked at each click',
  thread_replies: 'thread.replied at each reply',
  payload: 'Returned in each of these notifications',
};
const trackingExample = {
  opens: true,
  links: true,
  thread_replies: false,
  payload: 'campaign-7',
};

/** Some clients send booleans as text. */
const booleanLike = () =>
  z
    .union([z.boolean(), queryBoolean()], 'must be true or false')
    .nullish()
    .transform((value) => value ?? undefined);

/** Notifications that the sender wants about a sent message. */
export const trackingInput = z
  .object({
    opens: booleanLike().describe(NOTIFICATIONS.opens),
    links: booleanLike().describe(NOTIFICATIONS.links),
    thread_replies: booleanLike().describe(NOTIFICATIONS.thread_replies),
    payload: z
      .string()
      .max(MOST_PAYLOAD)
      .nullish()
      .transform((payload) => payload ?? undefined)
      .describe(NOTIFICATIONS.payload),
  })
  .partial()
  .meta({ id: 'TrackingInput', example: trackingExample });

/** The same in a response. */
export const trackingView = z
  .object({
    opens: z.boolean().describe(NOTIFICATIONS.opens),
    links: z.boolean().describe(NOTIFICATIONS.links),
    thread_replies: z.boolean().describe(NOTIFICATIONS.thread_replies),
    payload: z.string().describe(NOTIFICATIONS.payload),
  })
  .partial()
  .meta({ id: 'Tracking', example: trackingExample });
