import { createHmac } from 'node:crypto';
import { toUnixSeconds } from '../../base/time/unix-seconds.ts';

export interface SignedDelivery {
  eventId: string;
  /** The exact bytes to send. */
  body: Buffer;
  /** Time of this attempt. */
  at: Date;
  /** The application's client secret. It signs `X-Nylas-Signature`. */
  secret: string;
  /** Keys that sign `webhook-signature`, in this order. Default: the client secret. */
  keys?: readonly (string | Buffer)[];
}

/**
 * Headers of one delivery attempt. `X-Nylas-Signature` is the lower-case hex HMAC-SHA256 of the
 * body, the same on every attempt. `webhook-signature` also covers id and time, so that receivers
 * can refuse replays. It has one signature for each key, separated by spaces (Standard Webhooks
 * 1.0): a receiver that has one of the keys can check it.
 */
export function deliveryHeaders({
  eventId,
  body,
  at,
  secret,
  keys = [secret],
}: SignedDelivery): Record<string, string> {
  const timestamp = String(toUnixSeconds(at));
  const signedBy = (key: string | Buffer) =>
    createHmac('sha256', key).update(`${eventId}.${timestamp}.`).update(body).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => `v1,${signedBy(key)}`).join(' '),
    'x-nylas-signature': createHmac('sha256', secret).update(body).digest('hex'),
  };
}
