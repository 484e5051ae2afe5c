import { contactFields, mergeContacts } from '../../../port/contact-content.ts';
import type { ContactContent, ContactPicture } from '../../../port/connector.ts';
import { readPicture } from './vcard-picture.ts';
import {
  cardText,
  newCard,
  parseCard,
  readCard,
  stampCard,
  UnreadableCardError,
  writeCard,
} from './vcard.ts';
import type ICAL from 'ical.js';

/*
 * Runs in worker threads (`DavContacts`), because cards are untrusted input. Node loads this file
 * directly, in tests too, so it may import only files whose types Node itself can strip.
 */

/** The text is not a readable card. */
export interface UnreadableCard {
  unreadable: string;
}

/** The picture of a card, or `null` if the card has none that can be shown. */
export function readCardPicture(text: string): { picture: ContactPicture | null } | UnreadableCard {
  return withCard(text, (card) => ({ picture: readPicture(card) }));
}

export interface CardChange {
  /** The current card at the provider. */
  text: string;
  contact: ContactContent;
  /** The contact before the change. `null`: all fields are written. */
  base: ContactContent | null;
  /** Revision time to write into the card, in Unix milliseconds. */
  at: number;
}

/**
 * `text` is `null` if the card already contains the change. `conflicts` names fields that other
 * clients have changed as well.
 */
export type ChangedCard = { text: string | null } | { conflicts: string[] } | UnreadableCard;

/**
 * Writes a change into a card. Three-way merge: fields that the change does not concern keep their
 * current value.
 */
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

/** A contact as it reads after it was stored in a card. */
export function throughCard(contact: ContactContent): ContactContent {
  const card = newCard('none');
  writeCard(card, contact);
  return readCard(card);
}

/** The fields to write so that the card contains the change. */
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
