import { createHmac } from 'node:crypto';

/**
 * Hex HMAC-SHA256 of the body of a webhook reminder. Its key is derived from the client secret and
 * differs from the key of webhook deliveries. Otherwise a holder of an access token could have a
 * forged delivery signed, because the token is enough to choose the payload and URL of a reminder.
 */
export function reminderSignature(clientSecret: string, body: Buffer): string {
  const key = createHmac('sha256', clientSecret).update('reminder').digest();
  return createHmac('sha256', key).update(body).digest('hex');
}
