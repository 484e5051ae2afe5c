import type { MirrorWorld } from './mirror-world.ts';

/** A message as the mailbox has it, in the terms in which the mirror shows it. */
export interface HeldMessage {
  /** Provider ids of its folders or labels, sorted. Those that clients do not see are left out. */
  folders: string[];
  unread: boolean;
  starred: boolean;
  draft: boolean;
  subject: string;
  /** The mark in its text (`mailOf`). */
  mark: string;
  /** The provider's thread. `null`: the provider has none. */
  thread: string | null;
}

/** A folder as the mailbox has it. */
export interface HeldFolder {
  id: string;
  displayName: string;
}

/** A message to put into the mailbox. */
export interface FiledMail {
  mime: string;
  /** When it was received. Default: now. */
  at?: Date;
  /** Provider ids of its folders. Default: the inbox. */
  folders?: readonly string[];
  read?: boolean;
  draft?: boolean;
}

export type StandardName = 'inbox' | 'sent' | 'drafts' | 'trash' | 'spam';

/**
 * A mailbox at a provider as another program changes it, and what it really contains. Nothing here
 * uses the program under test.
 */
export interface MailboxDriver {
  /** Name of the provider in Carillon. */
  readonly provider: string;
  /** Route of its folders: `labels` if a message may be in several. */
  readonly unit: 'folders' | 'labels';
  readonly email: string;
  /** Somebody to whom mail can be sent. */
  readonly correspondent: string;

  /** Connects the account. */
  connect(world: MirrorWorld): Promise<{ id: string; token: string }>;
  messages(): Promise<Map<string, HeldMessage>>;
  /** The folders that clients see. */
  folders(): Promise<HeldFolder[]>;
  standard(name: StandardName): string;
  /** Ids of the folders that the user has made. */
  ownFolders(): Promise<string[]>;

  /** @returns the message's id */
  put(mail: FiledMail): Promise<string>;
  setFlags(id: string, flags: { unread?: boolean; starred?: boolean }): Promise<void>;
  /** Puts the message into this folder only. */
  move(id: string, folderId: string): Promise<void>;
  /** Adds a label or takes it away. Absent if a message is in one folder. */
  label?(id: string, labelId: string, isOn: boolean): Promise<void>;
  /** Deletes a message for good. */
  remove(id: string): Promise<void>;
  /** Writes a draft anew, as a mail program does when its user edits it. */
  editDraft(id: string, mime: string): Promise<void>;
  /** @param path levels separated by `/` @returns its id */
  createFolder(path: string): Promise<string>;
  /** Changes the path of a folder; those below move with it. */
  renameFolder(id: string, path: string): Promise<void>;
  deleteFolder(id: string): Promise<void>;

  /** Stores a message where clients do not see it. Absent if there is no such place. */
  putHidden?(mime: string): Promise<void>;

  /** The provider forgets the changes that it has reported so far. */
  forgetChanges(): void;
  /**
   * The provider fails on every request that names one of these messages. `[]`: on none. Absent if
   * requests do not name messages.
   */
  failOn?(ids: readonly string[]): void;
  /** Requests that were refused because a quota was used up. */
  refusals(): number;
  /** Ends the test: fails if something was requested that the provider does not document. */
  stop(): Promise<void>;
}

/** A message whose text has a mark. */
export function mailOf(
  mark: string,
  {
    to,
    subject = `Subject ${mark}`,
    answers,
    from = 'bo@elsewhere.test',
    id = mark,
  }: {
    to: string;
    subject?: string;
    /** Mark of the message that it answers. */
    answers?: string;
    from?: string;
    /** In its Message-ID. Default: the mark. */
    id?: string;
  },
): string {
  const reply =
    answers === undefined
      ? ''
      : `In-Reply-To: <${answers}@elsewhere.test>\r\nReferences: <${answers}@elsewhere.test>\r\n`;
  return `From: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\nMessage-ID: <${id}@elsewhere.test>\r\n${reply}\r\nMark:${mark}.\r\n`;
}

/** The mark in a text. */
export const markIn = (text: string): string => /Mark:([\w-]+)\./.exec(text)?.[1] ?? '';
