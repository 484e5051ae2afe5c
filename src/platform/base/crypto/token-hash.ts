import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * SHA-256 of a random secret. Enough for values of 128 bits and more of our own making (access tokens, client
 * secrets, codes): there is no dictionary to slow down.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

/** Compares in constant time; differing lengths are unequal. */
export function equalHashes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
