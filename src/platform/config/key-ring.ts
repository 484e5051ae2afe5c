import type { EncryptionKey } from '../base/crypto/secret-box.ts';

/**
 * Reads `ENCRYPTION_KEYS`.
 * @param problems gets a line for each entry that is wrong
 * @returns the keys in the order of the variable, newest first
 */
export function parseKeyRing(value: string, problems: string[]): EncryptionKey[] {
  return value.split(',').map((entry, index) => {
    const [id, encoded, ...rest] = entry.trim().split(':');
    const key = Buffer.from(encoded ?? '', 'base64');
    if (!id || !/^[A-Za-z0-9_-]+$/.test(id) || rest.length > 0 || key.length !== 32) {
      problems.push(
        `ENCRYPTION_KEYS: entry ${index + 1} must be "<id>:<base64 of 32 bytes>", where the id has only letters, digits, _ and -`,
      );
    }
    return { id: id ?? '', key };
  });
}
