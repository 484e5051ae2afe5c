import type { ContactPicture } from './connector.ts';

/** What images begin with; `at` bytes later where it is not the beginning. */
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
 * An image by what it is, whatever somebody says it is: nothing else is ever served as a picture.
 * @returns null when it is none of the kinds that browsers show and that carry no scripts
 */
export function pictureOf(bytes: Buffer): ContactPicture | null {
  const found = SIGNATURES.find(
    ({ bytes: start, at }) => bytes.subarray(at, at + start.length).toString('latin1') === start,
  );
  return found ? { contentType: found.contentType, bytes } : null;
}
