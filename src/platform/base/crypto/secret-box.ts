import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** One 256-bit key of the ring, under the id that is written next to what it sealed. */
export interface EncryptionKey {
  id: string;
  key: Buffer;
}

/** Thrown when a sealed value cannot be opened: its key is gone, it was changed, or it belongs to another row. */
export class UnsealError extends Error {}

/** Id of the key a value is sealed with; undefined: it is no sealed value. */
export function keyIdOf(sealed: string): string | undefined {
  const [format, keyId] = sealed.split('.', 2);
  return format === 'v1' ? keyId : undefined;
}

/**
 * Seals secrets at rest with AES-256-GCM under a key ring. The newest key (the first) seals, every key of the
 * ring opens: rotation is "put a new key first, run `carillon keys reseal`, drop the old one".
 *
 * Format: `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url. `context` (table, column and row) is
 * authenticated: a sealed value copied into another row does not open.
 */
export class SecretBox {
  readonly #keys: Map<string, Buffer>;
  readonly #current: EncryptionKey;

  /** @param ring newest first; at least one key of exactly 32 bytes */
  constructor(ring: readonly EncryptionKey[]) {
    const current = ring[0];
    if (!current) throw new Error('the key ring is empty');
    for (const { id, key } of ring) {
      if (key.length !== 32) throw new Error(`encryption key "${id}" is not 32 bytes long`);
    }
    this.#current = current;
    this.#keys = new Map(ring.map(({ id, key }) => [id, key]));
  }

  /** Id of the key that seals now. */
  get currentKeyId(): string {
    return this.#current.id;
  }

  /**
   * Every key by its id, as a fingerprint of 64 bits: equal for equal keys, and of no use for opening anything. Newest
   * first.
   */
  get fingerprints(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#keys].map(([id, key]) => [
        id,
        createHmac('sha256', key).update('carillon key fingerprint').digest('hex').slice(0, 16),
      ]),
    );
  }

  seal(plaintext: string, context: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce);
    cipher.setAAD(Buffer.from(context));
    const sealed = Buffer.concat([
      cipher.update(plaintext, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return ['v1', this.#current.id, nonce.toString('base64url'), sealed.toString('base64url')].join(
      '.',
    );
  }

  /** @throws {UnsealError} */
  open(sealed: string, context: string): string {
    const [format, keyId = '', nonce = '', body = ''] = sealed.split('.');
    const key = this.#keys.get(keyId);
    if (format !== 'v1' || !key) {
      throw new UnsealError(`sealed with key "${keyId}", which is not in ENCRYPTION_KEYS`);
    }
    const bytes = Buffer.from(body, 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
        authTagLength: 16,
      });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-16));
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString(
        'utf8',
      );
    } catch (cause) {
      throw new UnsealError(`a sealed value does not open for ${context.split(':')[0]}`, { cause });
    }
  }

  sealJson(value: unknown, context: string): string {
    return this.seal(JSON.stringify(value), context);
  }

  /** @throws {UnsealError} */
  openJson(sealed: string, context: string): unknown {
    return JSON.parse(this.open(sealed, context));
  }
}
