import { randomBytes } from 'node:crypto';

/** Standard Webhooks 1.0: the prefix of symmetric secrets, and 24 to 64 random bytes. */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Context that an encrypted secret of a webhook is bound to. */
export const webhookSecretContext = (id: string): string => `webhook.secret:${id}`;

/** @returns a new secret: `whsec_` and the base64 text of 32 random bytes */
export function newEndpointSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** @returns the bytes that sign, from the text of a secret of `newEndpointSecret` */
export function keyOfEndpointSecret(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64');
}
