import { createHmac, hkdfSync } from 'node:crypto';
import { equalHashes } from '../../platform/base/crypto/token-hash.ts';
import type { EncryptionKey } from '../../platform/base/crypto/secret-box.ts';

export interface TrackedLink {
  /** Id that the mirrored copy of the message has. */
  messageId: string;
  /** Position among the different addresses of the message. */
  index: number;
  /** Address that the link leads to. */
  url: string;
}

const OPENING = 1;
const LINK = 2;
const ID_BYTES = 16;
const INDEX_BYTES = 2;
/** Half of SHA-256, which RFC 2104, section 5 allows. */
const SIGNATURE_BYTES = 16;
/** Longer tokens are not ours. */
const LONGEST_TOKEN = 16_384;

/**
 * Signed tokens in the addresses of images and links of tracked messages. A token contains the
 * message and, for a link, the address it leads to. A link works as long as its key is in
 * `ENCRYPTION_KEYS`, even if the message was deleted, and leads nowhere else.
 */
export class TrackingTokens {
  /** Newest first. The newest key signs; every key is accepted. */
  readonly #keys: readonly Buffer[];

  /** @param ring newest first; the keys of the signatures are derived from these (RFC 5869) */
  constructor(ring: readonly EncryptionKey[]) {
    this.#keys = ring.map(({ key }) =>
      Buffer.from(hkdfSync('sha256', key, '', 'carillon tracking 1', 32)),
    );
  }

  opening(messageId: string): string {
    return this.#sign(Buffer.concat([Buffer.from([OPENING]), idBytes(messageId)]));
  }

  link({ messageId, index, url }: TrackedLink): string {
    const position = Buffer.alloc(INDEX_BYTES);
    position.writeUInt16BE(index);
    return this.#sign(
      Buffer.concat([Buffer.from([LINK]), idBytes(messageId), position, Buffer.from(url)]),
    );
  }

  /**
   * @returns id of the message that an image belongs to, or `undefined` if the token was not
   *   signed here
   */
  readOpening(token: unknown): string | undefined {
    const content = this.#open(token);
    return content?.[0] === OPENING && content.length === 1 + ID_BYTES ? idOf(content) : undefined;
  }

  /** @returns the link, or `undefined` if the token was not signed here */
  readLink(token: unknown): TrackedLink | undefined {
    const content = this.#open(token);
    const from = 1 + ID_BYTES + INDEX_BYTES;
    if (content?.[0] !== LINK || content.length <= from) return undefined;
    return {
      messageId: idOf(content),
      index: content.readUInt16BE(1 + ID_BYTES),
      url: content.subarray(from).toString(),
    };
  }

  #sign(content: Buffer): string {
    const [key] = this.#keys;
    if (!key) throw new Error('the key ring is empty');
    return Buffer.concat([signatureOf(key, content), content]).toString('base64url');
  }

  #open(token: unknown): Buffer | undefined {
    if (typeof token !== 'string' || token.length > LONGEST_TOKEN || !/^[\w-]+$/.test(token))
      return undefined;
    const bytes = Buffer.from(token, 'base64url');
    const [signature, content] = [
      bytes.subarray(0, SIGNATURE_BYTES),
      bytes.subarray(SIGNATURE_BYTES),
    ];
    return this.#keys.some((key) => equalHashes(signature, signatureOf(key, content)))
      ? content
      : undefined;
  }
}

function signatureOf(key: Buffer, content: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest().subarray(0, SIGNATURE_BYTES);
}

function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function idOf(content: Buffer): string {
  const hex = content.toString('hex', 1, 1 + ID_BYTES);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
