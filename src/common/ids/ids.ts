import { randomBytes } from 'node:crypto';
import { v7, validate, version } from 'uuid';

/** A new id: UUIDv7 (RFC 9562), so ids sort by creation time and inserts stay local in the index. */
export function newId(): string {
  return v7();
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
