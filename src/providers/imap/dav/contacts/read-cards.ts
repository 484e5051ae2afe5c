import type { RemoteContact } from '../../../port/connector.ts';
import { warningsOf } from '../../../../formats/ical/kept-lines.ts';
import { pictureTag } from './vcard-picture.ts';
import { isGroupCard, parseCard, readCard, uidOf, UnreadableCardError } from './vcard.ts';

/*
 * Runs in worker threads (`DavContacts`). Node loads this file directly, in tests too, so it may
 * import only files whose types Node itself can strip.
 */

/** Longer paths do not fit the index of the mirror. In characters, all of them ASCII. */
const MOST_PATH = 1_024;

/**
 * The contact of an object as JSON (`RemoteContact`), `null` for the card of a group, or the reason
 * why the card cannot be read.
 */
export type ReadContact = { contact: string | null; problems: string[] } | { unreadable: string };

/** Reads an object of an address book. */
export function readContactObject({ path, text }: { path: string; text: string }): ReadContact {
  if (path.length > MOST_PATH) return { unreadable: 'its path is too long' };
  try {
    const card = parseCard(text);
    const problems = warningsOf(card, card);
    if (isGroupCard(card)) return { contact: null, problems };
    const picture = pictureTag(card);
    const contact: RemoteContact = {
      providerId: path,
      uid: uidOf(card),
      content: readCard(card),
      picture,
      warnings: problems,
    };
    return { contact: JSON.stringify(contact), problems };
  } catch (error) {
    if (!(error instanceof UnreadableCardError)) throw error;
    return { unreadable: error.message };
  }
}
