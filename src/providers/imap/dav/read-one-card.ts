import { contactFields, mergeContacts } from '../../port/contact-content.ts';
import type { ContactContent, ContactPicture } from '../../port/connector.ts';
import { readPicture } from './vcard-picture.ts';
import {
  cardText, newCard, parseCard, readCard, stampCard, UnreadableCardError, writeCard,
} from './vcard.ts'; // prettier-ignore
import type ICAL from 'ical.js';

/*
 * What threads do with a single card (`DavContacts`): others may have written it. Node loads this file as it is, in tests too: it
 * may import only what Node itself can strip of types.
 */

/** The card is not one. */
export interface UnreadableCard {
  unreadable: string;
}

/** The picture of a card; null: it has none that can be shown. */
export function readCardPicture(text: string): { picture: ContactPicture | null } | UnreadableCard {
  return withCard(text, (card) => ({ picture: readPicture(card) }));
}

export interface CardChange {
  /** The card as it is at the provider. */
  text: string;
  contact: ContactContent;
  /** What the contact was before our change; null: everything is written. */
  base: ContactContent | null;
  /** Revision to put into the card, in milliseconds. */
  at: number;
}

/** `text` is null if the card has the change already; `conflicts` names fields that others have changed, too. */
export type ChangedCard = { text: string | null } | { conflicts: string[] } | UnreadableCard;

/** Writes a change into a card. Three ways: what our change does not concern stays as it is there now. */
export function changeCard({ text, contact, base, at }: CardChange): ChangedCard {
  return withCard(text, (card): ChangedCard => {
    const before = card.toString();
    const { write, conflicts } = changeOf(card, contact, base);
    if (conflicts.length > 0) return { conflicts };
    writeCard(card, write);
    if (card.toString() === before) return { text: null };
    stampCard(card, new Date(at));
    return { text: cardText(card) };
  });
}

/** A contact as it reads once it has been in a card. */
export function throughCard(contact: ContactContent): ContactContent {
  const card = newCard('none');
  writeCard(card, contact);
  return readCard(card);
}

/** The fields that have to be written into a card for it to have our change. */
function changeOf(
  card: ICAL.Component,
  contact: ContactContent,
  base: ContactContent | null,
): { write: ContactContent; conflicts: string[] } {
  if (base === null) return { write: contact, conflicts: [] };
  const [before, ours, theirs] = [throughCard(base), throughCard(contact), readCard(card)].map(
    contactFields,
  );
  if (!before || !ours || !theirs) return { write: contact, conflicts: [] };
  return mergeContacts(before, ours, theirs);
}

function withCard<T>(text: string, work: (card: ICAL.Component) => T): T | UnreadableCard {
  try {
    return work(parseCard(text));
  } catch (error) {
    if (!(error instanceof UnreadableCardError)) throw error;
    return { unreadable: error.message };
  }
}
