import { randomBytes, randomFillSync } from 'node:crypto';

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
  return uuid7(lastMs, sequence, random);
}

/** Two hexadecimal digits for each byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUIDv7 (RFC 9562, section 5.7) of a time, a counter of 32 bits after it, and random bits.
 * Written here because the package uuid has 20 files, which every command of `carillon` would load.
 * @param random 16 bytes, of which the last six are used
 */
export function uuid7(milliseconds: number, counter: number, random: Uint8Array): string {
  const high = Math.floor(milliseconds / 0x10000);
  const hex = (byte: number): string => HEX[byte & 0xff] ?? '';
  const any = (index: number): string => HEX[random[index] ?? 0] ?? '';
  return (
    `${hex(high >>> 24)}${hex(high >>> 16)}${hex(high >>> 8)}${hex(high)}-` +
    `${hex(milliseconds / 0x100)}${hex(milliseconds)}-` +
    `${hex(0x70 | ((counter >>> 28) & 0x0f))}${hex(counter >>> 20)}-` +
    `${hex(0x80 | ((counter >>> 14) & 0x3f))}${hex(counter >>> 6)}-` +
    `${hex((counter << 2) | ((random[10] ?? 0) & 0x03))}${any(11)}${any(12)}${any(13)}${any(14)}${any(15)}`
  );
}

/** Every UUID of RFC 9562 but the one of zeros. */
const ID =
  /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|ffffffff-ffff-ffff-ffff-ffffffffffff)$/i;

/**
 * Whether `value` can be one of our ids. The API reports every other value as not found, never as a
 * server error.
 */
export function isId(value: string): boolean {
  return ID.test(value);
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
