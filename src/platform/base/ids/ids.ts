import { randomBytes, randomFillSync } from 'node:crypto';
import { v7, validate, version } from 'uuid';

// The library asks the system for each id; a message needs several. Fetched ahead, as Node does for `randomUUID`.
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
 * A new id: UUIDv7 (RFC 9562, with a counter of 32 bits), so ids sort by creation time and inserts stay local in the index.
 * Ids of one process grow, also within a millisecond and when the clock is set back.
 */
export function newId(): string {
  const random = randomSixteen();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // Begins in the lower half: room to count.
    sequence = new DataView(random.buffer, random.byteOffset, 4).getUint32(0) & 0x7fffffff;
  } else {
    sequence = (sequence + 1) | 0;
    if (sequence === 0) lastMs += 1;
  }
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** Whether `value` can be an id of ours. Everything else is answered as "not found", never as a server error. */
export function isId(value: string): boolean {
  return validate(value) && version(value) >= 1;
}

/** The lowest id that can have been made at `instant`: rows with ids of ours are cut off by age with it. */
export function firstIdAt(instant: Date): string {
  const milliseconds = instant.getTime().toString(16).padStart(12, '0');
  return `${milliseconds.slice(0, 8)}-${milliseconds.slice(8)}-7000-8000-000000000000`;
}

const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * A random lower-case base-36 string from the system's random source: client ids and secrets, tokens, codes.
 * @param length 25 characters hold about 129 bits, 50 about 258
 */
export function randomBase36(length: number): string {
  let out = '';
  while (out.length < length) {
    // 252 = 7 * 36: larger bytes are thrown away so that every character is equally likely.
    for (const byte of randomBytes(length * 2)) {
      if (byte < 252 && out.length < length) out += BASE36[byte % 36];
    }
  }
  return out;
}
