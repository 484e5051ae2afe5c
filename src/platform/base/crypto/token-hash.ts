import { hash, timingSafeEqual } from 'node:crypto';

/**
 * SHA-256 of a random secret. That is enough for our own random values of at least 128 bits (access
 * tokens, client secrets, codes): no dictionary can guess them, so a slow hash is not needed.
 */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Compares two hashes in constant time. Hashes of different length are unequal. */
export function equalHashes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
