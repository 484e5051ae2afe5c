import { storable } from '../../base/text/storable.ts';

/** How much of an answer is kept: of failed deliveries, and of confirmed ones. */
export const KEPT_BYTES = { failed: 1_024, delivered: 128 } as const;

/*
 * Control characters but tab and line feed, characters that change the direction of text, and
 * invisible ones. A terminal or a page must show the text, not obey it.
 */
const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- these are the characters to remove
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/**
 * The beginning of a receiver's answer as plain text that is safe to show. Bytes that are not UTF-8
 * become replacement characters.
 * @param most number of bytes
 * @returns `null` if nothing is left
 */
export function receiverText(body: Buffer, most: number): string | null {
  const text = body.subarray(0, most).toString('utf8');
  // The cut may be within a character.
  const whole = body.length > most ? text.replace(/\ufffd+$/u, '') : text;
  return storable(whole.replace(UNSAFE, '')).trim() || null;
}
