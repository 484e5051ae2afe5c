import type { StoredPart } from '../../src/providers/port/connector.ts';

/**
 * A part of a large message as a connector gives it.
 * @param header its header lines
 * @param more what is not as usual: by default it is no multipart, and nothing of it was fetched
 */
export function storedPart(
  section: string,
  header: string,
  more: Partial<StoredPart> = {},
): StoredPart {
  const part = { children: null, size: 0, content: null, isDecoded: false };
  return { section, header: Buffer.from(`${header}\r\n`), ...part, ...more };
}
