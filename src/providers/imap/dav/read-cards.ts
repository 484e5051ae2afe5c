import type { RemoteContact } from '../../port/connector.ts';
import { pictureTag } from './vcard-picture.ts';
import { isGroupCard, parseCard, readCard, uidOf, UnreadableCardError } from './vcard.ts';

/*
 * What threads do with objects of address books (`DavContacts`). Node loads this file as it is, in tests too: it may import only
 * what Node itself can strip of types.
 */

/** Longer paths do not fit the index of the mirror; in characters, all of them ASCII. */
const MOST_PATH = 1_024;

/** The contact of an object as JSON (`RemoteContact`), none for the card of a group, or why it cannot be read. */
export type ReadContact = { contact: string | null } | { unreadable: string };

/** Reads an object of an address book. */
export function readContactObject({ path, text }: { path: string; text: string }): ReadContact {
  if (path.length > MOST_PATH) return { unreadable: 'its path is too long' };
  try {
    const card = parseCard(text);
    if (isGroupCard(card)) return { contact: null };
    const picture = pictureTag(card);
    const contact: RemoteContact = {
      providerId: path,
      uid: uidOf(card),
      content: readCard(card),
      picture,
    };
    return { contact: JSON.stringify(contact) };
  } catch (error) {
    if (!(error instanceof UnreadableCardError)) throw error;
    return { unreadable: error.message };
  }
}
