import { promisify } from 'node:util';
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';

/*
 * How texts are stored in bytea columns: as UTF-8, or as one zstd frame if that is much smaller. The
 * first bytes tell them apart: no UTF-8 text begins with those of a frame (RFC 8878).
 */

const FRAME_MAGIC = 0xfd2fb528;
/** Compressing a shorter text saves less than reading it costs. */
const LEAST_BYTES = 1024;
/** A frame must be smaller than the text by this share. */
const LEAST_SAVING = 1 / 8;
/** Longer texts are processed on the thread pool, so that requests do not wait for them. */
const MOST_BYTES_AT_ONCE = 64 * 1024;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const isFrame = (packed: Buffer): boolean =>
  packed.length >= 4 && packed.readUInt32LE(0) === FRAME_MAGIC;

/** A text as it is stored. */
export interface PackedText {
  packed: Buffer;
  /** Length of the text in UTF-8 bytes. */
  bytes: number;
}

/** Encodes a text for storage. Unpaired surrogates become U+FFFD. */
export async function packText(text: string): Promise<PackedText> {
  const plain = Buffer.from(text, 'utf8');
  const bytes = plain.length;
  if (bytes < LEAST_BYTES) return { packed: plain, bytes };
  const options = {
    params: { [constants.ZSTD_c_compressionLevel]: 3 },
    pledgedSrcSize: bytes,
  };
  const frame =
    bytes > MOST_BYTES_AT_ONCE ? await compress(plain, options) : zstdCompressSync(plain, options);
  return { packed: frame.length <= bytes * (1 - LEAST_SAVING) ? frame : plain, bytes };
}

/**
 * Decodes a stored text: at once if it is short, else on the thread pool.
 * @param bytes the length that was stored with it
 * @throws {RangeError} if the frame contains more than `bytes`
 */
export function unpackText({ packed, bytes }: PackedText): string | Promise<string> {
  if (!isFrame(packed)) return packed.toString('utf8');
  const options = { maxOutputLength: bytes, chunkSize: bytes };
  if (bytes <= MOST_BYTES_AT_ONCE) return zstdDecompressSync(packed, options).toString('utf8');
  return decompress(packed, options).then((plain) => plain.toString('utf8'));
}
