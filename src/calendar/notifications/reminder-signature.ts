import { createHmac } from 'node:crypto';

/**
 * Hex HMAC-SHA256 of what a webhook reminder posts. Its key is derived from the client secret and is not the one of
 * webhook deliveries: whoever holds an access token chooses payload and address of a reminder, and could otherwise have
 * any delivery of the application signed.
 */
export function reminderSignature(clientSecret: string, body: Buffer): string {
  const key = createHmac('sha256', clientSecret).update('reminder').digest();
  return createHmac('sha256', key).update(body).digest('hex');
}
