import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * The key ring of a local installation: read from `<dataDir>/encryption-keys`, made on first use, readable by its
 * owner only. Without it nothing sealed in the database can be opened again.
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
