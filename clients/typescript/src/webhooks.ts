import type { Schemas } from './types.ts';

/** A delivery as it was received. */
export interface ReceivedWebhook {
  /** The body exactly as it was sent: text or bytes, before any parsing. */
  body: string | Uint8Array;
  /** The value of the header `webhook-signature`. */
  signature: string | null | undefined;
  /** The value of the header `webhook-id`. */
  id: string | null | undefined;
  /** The value of the header `webhook-timestamp`. */
  timestamp: string | null | undefined;
}

/** Names of the schemas of deliveries, such as `JobSuccessfulWebhook`. */
type DeliveryName = Extract<keyof Schemas, `${string}Webhook`>;

/**
 * One change that a delivery reports. Its `type`, such as `job.successful`, decides what
 * `object_data.attributes` and `object_data.metadata` are.
 */
export type WebhookDelta = {
  [Name in DeliveryName]: Schemas[Name] extends { deltas: (infer Delta)[] } ? Delta : never;
}[DeliveryName];

/**
 * Checks that a delivery comes from the server, and is no older copy of one.
 * @param secret client secret of the application
 * @param toleranceSeconds how old a delivery may be; default 300
 * @returns the changes, or `undefined` if the delivery must be refused
 */
export async function verifyWebhook(
  { body, signature, id, timestamp }: ReceivedWebhook,
  secret: string,
  toleranceSeconds = 300,
): Promise<WebhookDelta[] | undefined> {
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!signature || !id || !(age <= toleranceSeconds)) return undefined;
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey(
    'raw',
    encoder.encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  );
  const signed = encoder.encode(`${id}.${timestamp}.${text}`);
  for (const one of signature.split(' ')) {
    const given = one.startsWith('v1,') ? bytes(one.slice(3)) : undefined;
    // Compares in constant time.
    if (given && (await crypto.subtle.verify('HMAC', key, given, signed)))
      return (JSON.parse(text) as { deltas: WebhookDelta[] }).deltas;
  }
  return undefined;
}

function bytes(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
