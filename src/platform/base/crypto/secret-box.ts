import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { DomainError } from '../errors/domain-error.ts';

/** One 256-bit key of the key ring. Its id is written next to each value that it encrypts. */
export interface EncryptionKey {
  id: string;
  key: Buffer;
}

/**
 * Thrown if an encrypted value cannot be decrypted: its key is missing, the value was changed, or
 * it belongs to another row.
 */
export class UnsealError extends Error {}

/**
 * The keys of this process do not fit its database, so a request that needs a stored secret gets a
 * 503. `/health/ready` names the keys.
 */
export class KeysUnusableError extends DomainError {
  constructor(cause?: unknown) {
    super(
      'keys.unusable',
      'unavailable',
      'This server cannot read or store secrets now, because its encryption keys do not fit its database. Its operator has to correct them; then try again.',
      { cause },
    );
  }
}

/**
 * Returns the id of the key that encrypted a value, or `undefined` if the value is not encrypted.
 */
export function keyIdOf(encrypted: string): string | undefined {
  const [format, keyId] = encrypted.split('.', 2);
  return format === 'v1' ? keyId : undefined;
}

/**
 * Encrypts stored secrets with AES-256-GCM and a key ring. The first key, which is the newest,
 * encrypts; every key decrypts. To rotate keys, put a new key first, run `carillon keys reseal`,
 * and remove the old key.
 *
 * Format: `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url. `context` (table, column and row)
 * is authenticated, so an encrypted value that was copied into another row cannot be decrypted.
 */
export class SecretBox {
  readonly #keys: Map<string, Buffer>;
  readonly #current: EncryptionKey;
  #problem: () => string | null = () => null;

  /** @param ring newest key first; at least one key, each of exactly 32 bytes */
  constructor(ring: readonly EncryptionKey[]) {
    const current = ring[0];
    if (!current) throw new Error('the key ring is empty');
    for (const { id, key } of ring) {
      if (key.length !== 32) throw new Error(`encryption key "${id}" is not 32 bytes long`);
    }
    this.#current = current;
    this.#keys = new Map(ring.map(({ id, key }) => [id, key]));
  }

  /**
   * Makes the box refuse to encrypt while the keys do not fit the database. A value that was
   * encrypted with wrong keys stays unreadable after the keys are corrected.
   * @param problem called for each use; returns what is wrong with the keys, or `null`
   */
  refuseWhile(problem: () => string | null): void {
    this.#problem = problem;
  }

  /** Id of the key that encrypts now. */
  get currentKeyId(): string {
    return this.#current.id;
  }

  /**
   * A fingerprint of 64 bits for every key, by key id, newest first. Equal keys have equal
   * fingerprints. A fingerprint does not help to decrypt anything.
   */
  get fingerprints(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#keys].map(([id, key]) => [
        id,
        createHmac('sha256', key).update('carillon key fingerprint').digest('hex').slice(0, 16),
      ]),
    );
  }

  /**
   * @param context table, column and row that the value belongs to
   * @throws {KeysUnusableError} while the keys do not fit the database (`refuseWhile`)
   */
  seal(plaintext: string, context: string): string {
    if (this.#problem() !== null) throw new KeysUnusableError();
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce);
    cipher.setAAD(Buffer.from(context));
    const encrypted = Buffer.concat([
      cipher.update(plaintext, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return [
      'v1',
      this.#current.id,
      nonce.toString('base64url'),
      encrypted.toString('base64url'),
    ].join('.');
  }

  /**
   * @param context as it was given to `seal`
   * @throws {UnsealError}
   * @throws {KeysUnusableError} instead, while the keys do not fit the database (`refuseWhile`)
   */
  open(encrypted: string, context: string): string {
    try {
      return this.#decrypt(encrypted, context);
    } catch (error) {
      throw this.#problem() === null ? error : new KeysUnusableError(error);
    }
  }

  #decrypt(encrypted: string, context: string): string {
    const [format, keyId = '', nonce = '', body = ''] = encrypted.split('.');
    const key = this.#keys.get(keyId);
    if (format !== 'v1' || !key) {
      throw new UnsealError(`encrypted with key "${keyId}", which is not in ENCRYPTION_KEYS`);
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
      throw new UnsealError(`an encrypted value of ${context.split(':')[0]} cannot be decrypted`, {
        cause,
      });
    }
  }

  /** @throws {KeysUnusableError} as `seal` does */
  sealJson(value: unknown, context: string): string {
    return this.seal(JSON.stringify(value), context);
  }

  /** @throws {UnsealError} and the other errors of `open` */
  openJson(encrypted: string, context: string): unknown {
    return JSON.parse(this.open(encrypted, context));
  }
}
