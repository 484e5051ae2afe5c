import type { RemoteFolder } from '../../port/connector.ts';
import type { GmailLabel } from './gmail-api.ts';

/**
 * The label of every message that is neither spam nor trash. Gmail shows it as "All Mail", but its
 * API has no such label.
 */
export const ALL_MAIL = 'ALL';

/** Gmail's own labels that clients see, with their standard names. */
const STANDARD: readonly RemoteFolder[] = [
  { providerId: 'INBOX', name: 'inbox', displayName: 'Inbox' },
  { providerId: 'SENT', name: 'sent', displayName: 'Sent' },
  { providerId: 'DRAFT', name: 'drafts', displayName: 'Drafts' },
  { providerId: 'TRASH', name: 'trash', displayName: 'Trash' },
  { providerId: 'SPAM', name: 'spam', displayName: 'Spam' },
  { providerId: ALL_MAIL, name: 'all', displayName: 'All Mail' },
];

/** Labels that Gmail gives to messages by itself. They cannot be renamed or deleted. */
const CATEGORIES: readonly RemoteFolder[] = [
  { providerId: 'CATEGORY_SOCIAL', name: null, displayName: 'Social' },
  { providerId: 'CATEGORY_PROMOTIONS', name: null, displayName: 'Promotions' },
  { providerId: 'CATEGORY_UPDATES', name: null, displayName: 'Updates' },
  { providerId: 'CATEGORY_FORUMS', name: null, displayName: 'Forums' },
];

const SYSTEM = new Map([...STANDARD, ...CATEGORIES].map((folder) => [folder.providerId, folder]));

/** Labels that only Gmail sets: a message cannot be put into them or taken out. */
const FIXED: readonly string[] = ['SENT', 'DRAFT', ALL_MAIL];

export const UNREAD = 'UNREAD';
export const STARRED = 'STARRED';
export const CHAT = 'CHAT';

/**
 * Whether clients see a label. Of Gmail's own labels, whose ids are in capitals, only those in
 * `SYSTEM`: UNREAD and STARRED are flags; IMPORTANT, CHAT, CATEGORY_PERSONAL and the kinds of stars
 * are not shown.
 */
const isShown = (id: string): boolean => SYSTEM.has(id) || !/^[A-Z_]+$/.test(id);

/** All labels that clients see: the standard ones, then the others by name. */
export function foldersOf(labels: readonly GmailLabel[]): RemoteFolder[] {
  const present = new Set(labels.map(({ id }) => id));
  const own = labels
    .filter(({ id }) => isShown(id) && !SYSTEM.has(id))
    .map(({ id, name }) => ({ providerId: id, name: null, displayName: name }))
    .toSorted((a, b) => (a.displayName < b.displayName ? -1 : 1));
  return [...STANDARD, ...CATEGORIES.filter(({ providerId }) => present.has(providerId)), ...own];
}

/** Labels whose messages are listed one label at a time, because a list does not name labels. */
export function listedLabels(folders: readonly RemoteFolder[]): string[] {
  const shown = folders.map(({ providerId }) => providerId).filter((id) => id !== ALL_MAIL);
  return [...shown, UNREAD, STARRED];
}

/** Where a message is, and its flags. */
export interface Placement {
  folderIds: string[];
  unread: boolean;
  starred: boolean;
}

/** @param labelIds all labels of a message, in Gmail's names */
export function placementOf(labelIds: Iterable<string>): Placement {
  const all = new Set(labelIds);
  const isAway = all.has('SPAM') || all.has('TRASH');
  const folderIds = [...all].filter((id) => isShown(id) && id !== ALL_MAIL);
  return {
    folderIds: isAway ? folderIds : [...folderIds, ALL_MAIL],
    unread: all.has(UNREAD),
    starred: all.has(STARRED),
  };
}

/** A change of the labels of a message. */
export interface LabelChange {
  addLabelIds: string[];
  removeLabelIds: string[];
}

/**
 * The change that puts a message into exactly these labels. It leaves alone labels that
 * only Gmail sets, and labels that clients do not see.
 * @param present all labels of the message
 */
export function labelChange(present: readonly string[], folderIds: readonly string[]): LabelChange {
  const isMovable = (id: string) => isShown(id) && !FIXED.includes(id);
  const wanted = folderIds.filter(isMovable);
  return {
    addLabelIds: wanted.filter((id) => !present.includes(id)),
    removeLabelIds: present.filter((id) => isMovable(id) && !wanted.includes(id)),
  };
}
