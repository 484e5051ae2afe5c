import { createHash } from 'node:crypto';
import type ICAL from 'ical.js';
import { pictureOf } from '../../../port/contact-picture.ts';
import type { ContactPicture } from '../../../port/connector.ts';

/** Larger pictures are ignored. Characters of base64: about 6 MB of image. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
const DATA_ADDRESS = /^data:[^,]{0,200};base64,/i;

/**
 * The base64 of the picture embedded in the card, or `null`. Pictures at other URLs are not
 * fetched.
 */
function embedded(card: ICAL.Component): string | null {
  for (const property of card.getAllProperties('photo')) {
    // The raw value is used, because the library throws if a value does not match its type.
    const value = property.jCal[3];
    const text = typeof value === 'string' ? value : '';
    const isData = DATA_ADDRESS.test(text);
    // Version 4 has no bare base64, but some programs write it.
    if (!isData && property.type !== 'binary' && property.getParameter('encoding') === undefined)
      continue;
    if (text.length > 0 && text.length <= MOST_CHARACTERS) return text.replace(DATA_ADDRESS, '');
  }
  return null;
}

/**
 * Identifies the picture of a card: it changes whenever the picture changes. `null` if the card has
 * none that can be shown.
 */
export function pictureTag(card: ICAL.Component): string | null {
  const base64 = embedded(card);
  if (base64 === null || !pictureOf(Buffer.from(base64.slice(0, 64), 'base64'))) return null;
  return createHash('sha256').update(base64).digest('base64url').slice(0, 22);
}

/**
 * The picture of a card (RFC 2426 section 3.1.4, RFC 6350 section 6.2.4). `null` if the card has
 * none that can be shown.
 */
export function readPicture(card: ICAL.Component): ContactPicture | null {
  const base64 = embedded(card);
  return base64 === null ? null : pictureOf(Buffer.from(base64, 'base64'));
}
