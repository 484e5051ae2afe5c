import { randomBytes, scrypt, type ScryptOptions, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** 32 MB and about a tenth of a second for each check, as OWASP recommends for scrypt. */
const COST = 2 ** 15;
const BLOCK = 8;
const PARALLEL = 3;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const MOST_MEMORY = 128 * COST * BLOCK * 2;

/** Form: `scrypt$<cost>$<block size>$<parallelization>$<salt>$<key>`, the last two in base64url. */
const FORM = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/;

/** The text to store for a password: its scrypt key, with a new salt and the parameters. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await keyOf(password, salt, COST, BLOCK, PARALLEL);
  return ['scrypt', COST, BLOCK, PARALLEL, salt.toString('base64url'), key.toString('base64url')] //
    .join('$');
}

/**
 * Whether a password belongs to a stored text of `hashPassword`. Takes equally long if there is no
 * stored text, so that the time does not show whether an operator exists.
 */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [, cost, block, parallel, salt = '', key = ''] = FORM.exec(stored ?? '') ?? [];
  const found = await keyOf(
    password,
    Buffer.from(salt, 'base64url'),
    Number(cost ?? COST),
    Number(block ?? BLOCK),
    Number(parallel ?? PARALLEL),
  );
  const wanted = Buffer.from(key, 'base64url');
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

function keyOf(password: string, salt: Buffer, cost: number, block: number, parallel: number) {
  // The same characters may be typed in several ways (RFC 8265).
  return derive(password.normalize('NFC'), salt, KEY_BYTES, {
    N: cost,
    r: block,
    p: parallel,
    maxmem: MOST_MEMORY,
  });
}
