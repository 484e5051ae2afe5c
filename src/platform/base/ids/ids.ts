import { randomBytes, randomFillSync } from 'node:crypto';
import { v7, validate, version } from 'uuid';

// The library asks the operating system for random bytes for each id, and a message needs several
// ids. So bytes are fetched ahead, as Node does for `randomUUID`.
const pool = new Uint8Array(16 * 256);
let used = pool.length;
let lastMs = -Infinity;
let sequence = 0;

function randomSixteen(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.subarray(used - 16, used);
}

/**
 * Creates an id: a UUIDv7 (RFC 9562, with a counter of 32 bits). Ids sort by creation time, so
 * inserts stay local in the index. The ids of one process always grow, even within a millisecond
 * and when the clock is set back.
 */
export function newId(): string {
  const random = randomSixteen();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // The counter starts in the lower half of its range, so that it can grow.
    sequence = new DataView(random.buffer, random.byteOffset, 4).getUint32(0) & 0x7fffffff;
  } else {
    sequence = (sequence + 1) | 0;
    if (sequence === 0) lastMs += 1;
  }
  return v7({ random, msecs: lastMs, seq: sequence });
}

/**
 * Whether `value` can be one of our ids. The API reports every other value as not found, never as a
 * server error.
 */
export function isId(value: string): boolean {
  return validate(value) && version(value) >= 1;
}

/**
 * Returns the lowest id that can have been created at `instant`, for finding rows older than that
 * by their ids.
 */
export function firstIdAt(instant: Date): string {
  const milliseconds = instant.getTime().toString(16).padStart(12, '0');
  return `${milliseconds.slice(0, 8)}-${milliseconds.slice(8)}-7000-8000-000000000000`;
}

const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * Length of client secrets and access tokens: about 206 bits. Some clients send `secret:` in Base64
 * with a line break after 60 characters, which no header may contain. So a secret must not be
 * longer than 44 characters.
 */
export const SECRET_LENGTH = 40;

/**
 * Returns a random lower-case base-36 string from the system's random source, for client ids and
 * secrets, tokens and codes.
 * @param length 25 characters hold about 129 bits, 40 about 206
 */
export function randomBase36(length: number): string {
  let out = '';
  while (out.length < length) {
    // 252 = 7 * 36: larger bytes are discarded, so that every character is equally likely.
    for (const byte of randomBytes(length * 2)) {
      if (byte < 252 && out.length < length) out += BASE36[byte % 36];
    }
  }
  return out;
}
