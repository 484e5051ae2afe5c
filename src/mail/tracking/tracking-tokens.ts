import { createHmac, hkdfSync } from 'node:crypto';
import { equalHashes } from '../../platform/base/crypto/token-hash.ts';
import type { EncryptionKey } from '../../platform/base/crypto/secret-box.ts';

export interface TrackedLink {
  /** What the mirrored copy of the message is called. */
  messageId: string;
  /** Its position among the different addresses of the message. */
  index: number;
  /** Where it leads. */
  url: string;
}

const OPENING = 1;
const LINK = 2;
const ID_BYTES = 16;
const INDEX_BYTES = 2;
/** Half of SHA-256, as RFC 2104, section 5 allows. */
const SIGNATURE_BYTES = 16;
/** Longer ones are not ours. */
const LONGEST_TOKEN = 16_384;

/**
 * What stands in the addresses of images and links of tracked messages: which message, and where a link leads, signed. A link
 * works for as long as its key is in `ENCRYPTION_KEYS`, whatever has become of the message, and leads nowhere else.
 */
export class TrackingTokens {
  /** Newest first: that one signs, every one is believed. */
  readonly #keys: readonly Buffer[];

  /** @param ring newest first; signatures have keys of their own, made from these (RFC 5869) */
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

  /** @returns the message an image belongs to; undefined: nobody here has signed that */
  readOpening(token: unknown): string | undefined {
    const content = this.#open(token);
    return content?.[0] === OPENING && content.length === 1 + ID_BYTES ? idOf(content) : undefined;
  }

  /** @returns undefined: nobody here has signed that */
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
