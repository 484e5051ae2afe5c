import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * The key ring of a local installation. It is read from `<dataDir>/encryption-keys`, which is
 * created on first use and readable only by its owner. Without this file the secrets in the
 * database cannot be decrypted.
 * @returns a value for ENCRYPTION_KEYS
 */
export function localKeyRing(dataDir: string): string {
  const file = path.join(dataDir, 'encryption-keys');
  try {
    fs.writeFileSync(file, `local:${randomBytes(32).toString('base64')}\n`, {
      flag: 'wx',
      mode: 0o600,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return fs.readFileSync(file, 'utf8').trim();
}
