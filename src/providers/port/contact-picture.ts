import type { ContactPicture } from './connector.ts';

/** First bytes of image formats. `at` is the offset of the signature in the file. */
const SIGNATURES: readonly {
  contentType: ContactPicture['contentType'];
  bytes: string;
  at: number;
}[] = [
  { contentType: 'image/jpeg', bytes: '\xff\xd8\xff', at: 0 },
  { contentType: 'image/png', bytes: '\x89PNG\r\n\x1a\n', at: 0 },
  { contentType: 'image/gif', bytes: 'GIF8', at: 0 },
  { contentType: 'image/webp', bytes: 'WEBP', at: 8 },
];

/**
 * Recognises an image by its first bytes; a declared content type is ignored. Pictures are served
 * only with the type returned here.
 * @returns `null` if the bytes are not JPEG, PNG, GIF or WebP: formats that browsers show and
 *   that carry no scripts
 */
export function pictureOf(bytes: Buffer): ContactPicture | null {
  const found = SIGNATURES.find(
    ({ bytes: start, at }) => bytes.subarray(at, at + start.length).toString('latin1') === start,
  );
  return found ? { contentType: found.contentType, bytes } : null;
}
