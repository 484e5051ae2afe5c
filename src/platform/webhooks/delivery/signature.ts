import { createHmac } from 'node:crypto';
import { toUnixSeconds } from '../../base/time/unix-seconds.ts';

export interface SignedDelivery {
  eventId: string;
  /** The exact bytes to send. */
  body: Buffer;
  /** Time of this attempt. */
  at: Date;
  /** The application's client secret. */
  secret: string;
}

/**
 * Headers of one delivery attempt. `X-Nylas-Signature` is the lower-case hex HMAC-SHA256 of the
 * body, the same on every attempt. `webhook-signature` also covers id and time, so that receivers
 * can refuse replays.
 */
export function deliveryHeaders({
  eventId,
  body,
  at,
  secret,
}: SignedDelivery): Record<string, string> {
  const timestamp = String(toUnixSeconds(at));
  const hmac = () => createHmac('sha256', secret);
  return {
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${hmac().update(`${eventId}.${timestamp}.`).update(body).digest('base64')}`,
    'x-nylas-signature': hmac().update(body).digest('hex'),
  };
}
