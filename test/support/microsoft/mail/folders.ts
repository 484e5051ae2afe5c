import { newContainerId } from '../graph/item-ids.ts';

/** A mail folder. Its id never changes. */
export interface MailFolder {
  id: string;
  parentId: string;
  displayName: string;
  /** Name that requests can use instead of the id; `null` for folders of the user. */
  wellKnownName: string | null;
  isHidden: boolean;
  /** Grows with every change. */
  version: number;
}

/** Name of the folder that contains all others. Lists do not show it. */
export const ROOT = 'msgfolderroot';

const WELL_KNOWN: [name: string, displayName: string, isHidden?: boolean][] = [
  ['archive', 'Archive'],
  ['clutter', 'Clutter', true],
  ['conversationhistory', 'Conversation History'],
  ['deleteditems', 'Deleted Items'],
  ['drafts', 'Drafts'],
  ['inbox', 'Inbox'],
  ['junkemail', 'Junk Email'],
  ['outbox', 'Outbox'],
  ['sentitems', 'Sent Items'],
];

/** The folders of a new mailbox, with the root first. */
export function defaultFolders(): MailFolder[] {
  const root: MailFolder = {
    id: newContainerId(),
    parentId: '',
    displayName: 'Top of Information Store',
    wellKnownName: ROOT,
    isHidden: false,
    version: 1,
  };
  // Not part of any list: Exchange keeps what is permanently deleted there.
  const recoverable: MailFolder = {
    ...root,
    id: newContainerId(),
    displayName: 'Deletions',
    wellKnownName: 'recoverableitemsdeletions',
    isHidden: true,
  };
  const rest = WELL_KNOWN.map(([wellKnownName, displayName, isHidden = false]) => ({
    id: newContainerId(),
    parentId: root.id,
    displayName,
    wellKnownName,
    isHidden,
    version: 1,
  }));
  return [root, recoverable, ...rest];
}
